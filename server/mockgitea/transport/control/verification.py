"""Control routes that judge what went over the runner's ports: query, wait, expect, export, audit."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import orjson
from fastapi import APIRouter, Query, Response

from mockgitea import __version__
from mockgitea.core.audit_rules import HEARTBEAT_S_DEFAULT
from mockgitea.core.call_checks import CallChecks, UnexpectedCalls
from mockgitea.core.call_match import CallMatcher, shown
from mockgitea.core.call_record import CallRecord
from mockgitea.core.call_report import nearest
from mockgitea.core.errors import InvalidInput
from mockgitea.transport.control import verification_models as models
from mockgitea.transport.control.models import NAME_LENGTH_MAX
from mockgitea.transport.journal_view import view
from mockgitea.verify.har import har
from mockgitea.verify.live import LiveJournal

if TYPE_CHECKING:
    from mockgitea.app import App

PerRunner = Annotated[
    list[Annotated[str, Query(max_length=NAME_LENGTH_MAX + 20)]],
    Query(max_length=1000, description="`RUNNER=NUMBER`, repeatable; a runner is a name or UUID."),
]
HeartbeatS = Annotated[
    float, Query(gt=0, le=366 * 24 * 3600.0, description="Longest silence about a running task, in real seconds.")
]

_EXPORTED: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"application/jsonl": {"schema": {"type": "string"}}, "application/json": {}}}
}


class VerificationRoutes:
    """Judgements over the journal.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app
        self._live = LiveJournal(app)

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/journal/query", self.query, methods=["POST"], response_model=models.QueryAnswer)
        add("/journal/wait", self.wait, methods=["POST"], response_model=models.VerdictAnswer)
        add("/journal/expect", self.expect, methods=["POST"], response_model=models.VerdictAnswer)
        add("/journal/export", self.export, methods=["GET"], response_class=Response, responses=_EXPORTED)
        add("/audit", self.audit, methods=["GET"], response_model=models.AuditAnswer)

    async def query(self, body: models.Query) -> dict[str, Any]:
        """Show the recorded calls that match, or, when none does, what came closest."""
        matcher = matcher_of(body.match)
        calls = self._live.records()
        found = [call for call in calls if matcher.matches(call)]
        by_number = {entry.number: entry for entry in self._app.journal}
        return {
            "entries": [view(by_number[call.number]) for call in found[-body.limit :] if call.number in by_number],
            "matched": len(found),
            "recorded": len(calls),
            "evicted_total": self._app.journal.evicted_total,
            "mark": self._live.mark(),
            "nearest_misses": [] if found else _misses(matcher, calls),
        }

    async def wait(self, body: models.Wait) -> dict[str, Any]:
        """Wait until so many calls match, and tell whether they came in time."""
        try:
            found = await self._live.wait_for(matcher_of(body.match), count=body.n, within_s=body.within_s)
        except UnexpectedCalls as unexpected:
            return {"is_met": False, "entries": [], "explanation": str(unexpected)}
        return {"is_met": True, "entries": [call.number for call in found], "explanation": ""}

    async def expect(self, body: models.Expectation) -> dict[str, Any]:
        """Check expectations over the calls recorded so far."""
        if not (body.requests or body.order or body.rate or body.no_gap):
            raise InvalidInput("requests: give at least one of requests, order, rate and no_gap", field="requests")
        try:
            found = _checked(self._live.checks(), body)
        except UnexpectedCalls as unexpected:
            return {"is_met": False, "entries": [], "explanation": str(unexpected)}
        return {"is_met": True, "entries": sorted({call.number for call in found}), "explanation": ""}

    async def export(
        self,
        form: Annotated[
            Literal["jsonl", "har"], Query(alias="format", description="JSON lines or HTTP Archive.")
        ] = "jsonl",
    ) -> Response:
        """Export the recorded session; tokens and secrets are masked."""
        session = self._live.session()
        if form == "jsonl":
            return Response("".join(session.lines()), media_type="application/jsonl")
        archive = har(session, base_url=self._app.runner_url, version=__version__)
        return Response(orjson.dumps(archive), media_type="application/json")

    async def audit(
        self,
        capacity: PerRunner = [],  # noqa: B006 - a default of the framework, which copies it
        stopped: PerRunner = [],  # noqa: B006 - the same
        heartbeat_s: HeartbeatS = HEARTBEAT_S_DEFAULT,
    ) -> dict[str, Any]:
        """Check the recorded calls against the built-in rules.

        `capacity` says how many tasks a runner may hold at once, `stopped` the number of the last call that had begun
        when it was told to stop.
        """
        told = {"capacity": per_runner(capacity, "capacity"), "stopped": per_runner(stopped, "stopped")}
        return self._live.audit(**told, heartbeat_s=heartbeat_s).as_json()


def matcher_of(match: models.Match) -> CallMatcher:
    """Return the matcher that a body describes."""
    fields: dict[str, Any] = match.model_dump(mode="json", exclude_none=True)
    fields |= {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return CallMatcher(**fields)


def per_runner(texts: Sequence[str], field: str) -> dict[str, int]:
    """Read `RUNNER=NUMBER` texts.

    Raises:
        InvalidInput: one is written differently.
    """
    found = {}
    for text in texts:
        runner, _, number = text.rpartition("=")
        if not runner or not number.isdecimal():
            raise InvalidInput(f"{field}: write RUNNER=NUMBER, got {text!r}", field=field)
        found[runner] = int(number)
    return found


def _checked(checks: CallChecks, body: models.Expectation) -> list[CallRecord]:
    found: list[CallRecord] = []
    if body.requests is not None:
        numbers = body.requests.model_dump(exclude={"match"})
        found += checks.requests(matcher_of(body.requests.match), **numbers)
    if body.order:
        found += checks.order(*map(matcher_of, body.order))
    if body.rate is not None:
        found += checks.rate(matcher_of(body.rate.match), at_most=body.rate.at_most, per_s=body.rate.per_s)
    if body.no_gap is not None:
        found += checks.no_gap(matcher_of(body.no_gap.match), longest_s=body.no_gap.longest_s)
    return found


def _misses(matcher: CallMatcher, calls: Sequence[CallRecord]) -> list[dict[str, Any]]:
    return [
        {
            "number": call.number,
            "differences": [
                {"field": each.field, "got": _plain(each.got), "wanted": _plain(each.wanted)} for each in differences
            ],
        }
        for call, differences in nearest(matcher, calls)
    ]


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int | float | bool | list | dict) else shown(value)
