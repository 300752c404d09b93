"""Control routes for what goes over the runner's ports: counters, journal and faults."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Response

from mockgitea.core.calls import Method
from mockgitea.core.faults import Fault
from mockgitea.transport.control import answers, models
from mockgitea.transport.journal_view import view

if TYPE_CHECKING:
    from mockgitea.app import App

JOURNAL_PAGE_MAX: Final = 10_000
FaultName = Annotated[str, Path(min_length=1, max_length=models.NAME_LENGTH_MAX)]


class TrafficRoutes:
    """Counters, journal and faults.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/counters", self.get_counters, methods=["GET"], response_model=answers.CountersAnswer)
        add("/journal", self.get_journal, methods=["GET"], response_model=answers.JournalAnswer)
        add("/journal", self.clear_journal, methods=["DELETE"], status_code=204)
        add("/faults", self.list_faults, methods=["GET"], response_model=answers.FaultsAnswer)
        add("/faults", self.add_fault, methods=["POST"], status_code=201, response_model=answers.FaultAnswer)
        add("/faults/{name}", self.remove_fault, methods=["DELETE"], status_code=204)
        add("/faults/{name}/release", self.release_fault, methods=["POST"], status_code=204)

    async def get_counters(self) -> dict[str, Any]:
        """Show how many calls ended how: per method, and per runner."""
        return self._app.counters.snapshot()

    async def get_journal(
        self,
        method: Annotated[Method | None, Query(description="Only calls of this method.")] = None,
        runner: Annotated[
            str, Query(max_length=models.NAME_LENGTH_MAX, description="Only calls of the runner with this UUID.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=JOURNAL_PAGE_MAX, description="Only the newest so many.")] = 100,
    ) -> dict[str, Any]:
        """Show recorded calls, oldest first, refused ones too. Tokens and secrets are masked."""
        journal = self._app.journal
        found = journal.entries(method="" if method is None else method.value, runner_uuid=runner, limit=limit)
        return {
            "entries": [view(entry) for entry in found],
            "opened_total": journal.opened_total,
            "evicted_total": journal.evicted_total,
        }

    async def clear_journal(self) -> Response:
        """Drop the recorded calls; counters stay."""
        self._app.journal.clear()
        return Response(status_code=204)

    async def list_faults(self) -> dict[str, Any]:
        """List fault rules in the order in which they are asked."""
        return {"faults": [_shown(*rule) for rule in self._app.faults.list()]}

    async def add_fault(self, body: models.NewFault) -> dict[str, Any]:
        """Add a fault rule: refuse, delay or hold calls, before the server does its work or after."""
        fault = Fault(**body.model_dump())
        self._app.faults.add(fault)
        return _shown(fault, 0, fault.times)

    async def remove_fault(self, name: FaultName) -> Response:
        """Remove a fault rule; calls that it holds go on."""
        self._app.faults.remove(name)
        return Response(status_code=204)

    async def release_fault(self, name: FaultName) -> Response:
        """Let go of the calls that a hold has caught; the rule stays."""
        self._app.faults.release(name)
        return Response(status_code=204)


def _shown(fault: Fault, hits: int, left: int | None) -> dict[str, Any]:
    return {
        "name": fault.name,
        "kind": fault.kind,
        "method": fault.method,
        "stage": fault.stage,
        "times": fault.times,
        "delay_s": fault.delay_s,
        "code": fault.code,
        "hits": hits,
        "left": left,
    }
