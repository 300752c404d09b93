"""What has been said about the runners' versions, what their code can do, and what the laboratory measured.

Each claim finds its figures in the documents of the presets and judges them; where they are missing it says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Documents = Mapping[str, Mapping[str, Any]]
"""By scenario name."""

HEADLINE_RUNNERS: Final = 200
NOT_MEASURED: Final = "not measured"
CONFIRMED: Final = "confirmed"
NOT_AS_CODED: Final = "not as coded"
DIFFERS: Final = "differs"


class _MissingFigure(LookupError):
    """A document or a strategy is not there."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One statement. ``judge`` returns what was measured and the verdict."""

    said: str
    code: str
    judge: Callable[[Documents], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Judged:
    """One row of the table."""

    said: str
    code: str
    measured: str
    verdict: str


def judged(documents: Documents) -> list[Judged]:
    """Return every claim with what was measured."""
    rows = []
    for claim in CLAIMS:
        try:
            measured, verdict = claim.judge(documents)
        except _MissingFigure as missing:
            measured, verdict = f"no result: {missing}", NOT_MEASURED
        rows.append(Judged(claim.said, claim.code, measured, verdict))
    return rows


def markdown(rows: list[Judged]) -> str:
    """Return the table of claims in Markdown."""
    lines = ["| said | what the code of that time can do | measured | verdict |", "|---|---|---|---|"]
    lines += [f"| {row.said} | {row.code} | {row.measured} | **{row.verdict}** |" for row in rows]
    return "\n".join(lines) + "\n"


def _result(documents: Documents, scenario: str, strategy: str) -> Mapping[str, Any]:
    for result in documents.get(scenario, {}).get("results", ()):
        if result["strategy"] == strategy:
            return result  # type: ignore[no-any-return]  # a mapping by construction
    raise _MissingFigure(f"{scenario} / {strategy}")


def _rate(documents: Documents, scenario: str, strategy: str, method: str = "total") -> float:
    """Return a rate; of the headline scaled to its 200 runners, since every runner adds the same."""
    result = _result(documents, scenario, strategy)
    factor = HEADLINE_RUNNERS / float(result["setup"]["runners"]) if scenario == "headline" else 1.0
    return float(result["rates"].get(method, 0.0)) * factor


def _verdict(*, holds: bool) -> str:
    return CONFIRMED if holds else DIFFERS


def _thirteen_hundred(documents: Documents) -> tuple[str, str]:
    rate = _rate(documents, "headline", "fixed")
    return f"{rate:,.0f} requests/s", _verdict(holds=abs(rate - 1300) <= 26)


def _hundred_seventy(documents: Documents) -> tuple[str, str]:
    rate, base = _rate(documents, "headline", "single"), _rate(documents, "headline", "fixed")
    return f"{rate:,.0f} requests/s, {1 - rate / base:.1%} less", _verdict(holds=rate <= 170 and rate / base <= 0.131)


def _current_rate(documents: Documents) -> tuple[str, str]:
    rate, base = _rate(documents, "headline", "current"), _rate(documents, "headline", "fixed")
    return f"{rate:,.0f} requests/s, {1 - rate / base:.1%} less", _verdict(holds=rate / base < 0.25)


def _multiplied(documents: Documents) -> tuple[str, str]:
    each, one = (_rate(documents, "capacity-60", name, "FetchTask") for name in ("per-worker", "single"))
    return f"{each * 60:.0f} against {one * 60:.1f} fetches a minute", _verdict(holds=50 <= each / one <= 70)


def _asks_while_full(documents: Documents) -> tuple[str, str]:
    coded = _rate(documents, "capacity-60-full", "per-worker", "FetchTask") * 60
    said = _rate(documents, "capacity-60-full", "per-worker-claimed", "FetchTask") * 60
    verdict = NOT_AS_CODED if coded == 0 and said > 0 else DIFFERS
    return f"{coded:.0f} fetches a minute as coded, {said:.0f} with `poll_while_full`", verdict


def _reaped(documents: Documents) -> tuple[str, str]:
    old, new = (_result(documents, "silent", name)["tasks"] for name in ("single", "current"))
    text = f"single: {old['reaped']} of {old['assigned']} reaped; current: {new['reaped']}"
    return text, _verdict(holds=old["reaped"] == old["assigned"] > 0 and new["reaped"] == 0)


def _herd(documents: Documents) -> tuple[str, str]:
    bare, mixed = (
        max(one["busiest_second"] for one in _result(documents, "outage", name)["recoveries"])
        for name in ("single-no-jitter", "single")
    )
    runners = _result(documents, "outage", "single")["setup"]["runners"]
    text = f"busiest second of {runners} runners: {bare} without jitter, {mixed} with"
    return text, _verdict(holds=bare > 3 * mixed)


def _storm(documents: Documents) -> tuple[str, str]:
    fixed, row, tick = (
        _result(documents, "outage-chatty", name)["recoveries"][0]["tried_during_per_s"]
        for name in ("fixed", "current-every-row", "current")
    )
    text = f"calls/s while down: fixed {fixed:,.0f}, every-row {row:,.0f}, interval {tick:,.0f}"
    return text, _verdict(holds=row > fixed > tick)


CLAIMS: Final[tuple[Claim, ...]] = (
    Claim(
        "200 runners with 3 tasks each make about 1,300 requests/s",
        "a poll every 2 s and two reports a second and task",
        _thirteen_hundred,
    ),
    Claim(
        "back-off and event-driven reports bring that to about 170, 87 % less",
        "`single`: cap of 60 s, nothing is sent while nothing changes",
        _hundred_seventy,
    ),
    Claim(
        "today's runner keeps most of the saving",
        "`current`: cap of 5 s, a heartbeat every 10 s",
        _current_rate,
    ),
    Claim(
        "one loop for each slot multiplies the polls: capacity 60, 60 pollers; a single poller mends it",
        "`per-worker` has a back-off for each slot",
        _multiplied,
    ),
    Claim(
        "the pollers went on asking while every slot was taken",
        "the slot's own loop runs the task, so a full runner cannot ask",
        _asks_while_full,
    ),
    Claim(
        "a silent job is reaped when nothing is sent for ten minutes",
        "`event-driven` has no heartbeat, `current` has",
        _reaped,
    ),
    Claim(
        "without jitter a fleet comes back from an outage as a herd",
        "equal waits keep runners in step that began together",
        _herd,
    ),
    Claim(
        "a runner retries while the server is down, and does harm",
        "once 100 rows are pending, every further row sends them all again",
        _storm,
    ),
)
