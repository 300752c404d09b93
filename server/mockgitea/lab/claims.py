"""What has been said about the runners' versions, what their code can do, and what the laboratory measured.

Each claim finds its figures in the documents of the presets and judges them; where they are missing it says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Documents = Mapping[str, Mapping[str, Any]]
"""By scenario name."""

HEADLINE_RUNNERS: Final = 200
FIXED_CYCLE_S: Final = 2
CAP_CYCLE_S: Final = 60
"""How often a poller asks at its slowest: every two seconds, or at the back-off's cap."""
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


def _scale(documents: Documents) -> str:
    """Say from how many runners a rate of the headline was scaled up; empty when all of them ran."""
    runners = _result(documents, "headline", "fixed")["setup"]["runners"]
    return "" if runners == HEADLINE_RUNNERS else f" ({runners} runners, scaled to {HEADLINE_RUNNERS})"


def _saving(documents: Documents, strategy: str) -> tuple[float, float]:
    """Return a strategy's rate of the headline and which share of the baseline's it saves."""
    rate, base = _rate(documents, "headline", strategy), _rate(documents, "headline", "fixed")
    if not base:
        raise _MissingFigure("headline / fixed: no request")
    return rate, 1 - rate / base


def _per_cycle(documents: Documents, scenario: str, strategy: str, cycle_s: int) -> float:
    """Return the fleet's fetches in the time in which one poller asks once."""
    return _rate(documents, scenario, strategy, "FetchTask") * cycle_s


def _recoveries(documents: Documents, scenario: str, strategy: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = _result(documents, scenario, strategy)["recoveries"]
    if not found:
        raise _MissingFigure(f"{scenario} / {strategy}: no outage within the time measured")
    return found


def _verdict(*, holds: bool) -> str:
    return CONFIRMED if holds else DIFFERS


def _thirteen_hundred(documents: Documents) -> tuple[str, str]:
    rate = _rate(documents, "headline", "fixed")
    return f"{rate:,.0f} requests/s{_scale(documents)}", _verdict(holds=abs(rate - 1300) <= 26)


def _hundred_seventy(documents: Documents) -> tuple[str, str]:
    rate, saved = _saving(documents, "single")
    return f"{rate:,.0f} requests/s{_scale(documents)}, {saved:.1%} less", _verdict(
        holds=rate <= 170 and saved >= 0.869
    )


def _steps_at_once(documents: Documents) -> tuple[str, str]:
    result = _result(documents, "headline", "single")
    stored_s, shown_s = (result[part]["max_s"] for part in ("steps_stored", "steps_visible"))
    if stored_s is None:
        raise _MissingFigure("headline / single: no step began or ended")
    text = f"at most {stored_s:.2f} s to the server, {shown_s:.2f} s to the page"
    return text, _verdict(holds=stored_s <= 1 and shown_s <= 2)


def _current_rate(documents: Documents) -> tuple[str, str]:
    rate, saved = _saving(documents, "current")
    return f"{rate:,.0f} requests/s{_scale(documents)}, {saved:.1%} less", _verdict(holds=saved > 0.75)


def _multiplied(documents: Documents) -> tuple[str, str]:
    fixed, each, one = (
        _per_cycle(documents, "capacity-60", name, seconds)
        for name, seconds in (("fixed", FIXED_CYCLE_S), ("per-worker", CAP_CYCLE_S), ("single", CAP_CYCLE_S))
    )
    holds = abs(fixed - 3) <= 0.15 and abs(each - 180) <= 18 and abs(one - 3) <= 0.3
    return f"{each:.0f} fetches a cycle, `single` {one:.1f}, `fixed` {fixed:.1f}", _verdict(holds=holds)


def _asks_while_full(documents: Documents) -> tuple[str, str]:
    pairs = (("fixed", FIXED_CYCLE_S), ("per-worker", CAP_CYCLE_S))
    coded = [_per_cycle(documents, "capacity-60-full", name, seconds) for name, seconds in pairs]
    said = [_per_cycle(documents, "capacity-60-full", f"{name}-claimed", seconds) for name, seconds in pairs]
    verdict = NOT_AS_CODED if not any(coded) and all(said) else DIFFERS
    text = (
        f"fetches a cycle of `fixed` and `per-worker`: {coded[0]:.0f} and {coded[1]:.0f} as coded, "
        f"{said[0]:.0f} and {said[1]:.0f} with `poll_while_full`"
    )
    return text, verdict


def _reaped(documents: Documents) -> tuple[str, str]:
    old, new = (_result(documents, "silent", name)["tasks"] for name in ("single", "current"))
    text = f"`single`: {old['reaped']} of {old['assigned']} reaped; `current`: {new['reaped']}"
    return text, _verdict(holds=old["reaped"] == old["assigned"] > 0 and new["reaped"] == 0)


def _herd(documents: Documents) -> tuple[str, str]:
    bare, mixed = (
        max(one["busiest_second"] for one in _recoveries(documents, "outage", name))
        for name in ("single-no-jitter", "single")
    )
    runners = _result(documents, "outage", "single")["setup"]["runners"]
    text = f"busiest second of {runners} runners that began together: {bare} without jitter, {mixed} with"
    return text, _verdict(holds=bare == runners and mixed * 10 < runners)


def _one_counter(documents: Documents) -> tuple[str, str]:
    one, two = (_recoveries(documents, "outage", name)[0]["second_poll"] for name in ("single-one-counter", "single"))
    first_s, usual_s = one["p50_s"], two["p50_s"]
    if first_s is None or usual_s is None:
        raise _MissingFigure("outage: no second poll before the end")
    text = f"second poll after the recovery, p50: {first_s:.0f} s with one counter, {usual_s:.0f} s with two"
    return text, _verdict(holds=first_s + 20 < usual_s)


def _storm(documents: Documents) -> tuple[str, str]:
    fixed, row, tick = (
        _recoveries(documents, "outage-running", name)[0]["tried_during_per_s"]
        for name in ("fixed", "current-every-row", "current")
    )
    text = f"calls/s while down: `fixed` {fixed:,.0f}, `every-row` {row:,.0f}, `interval` {tick:,.0f}"
    return text, _verdict(holds=row > fixed > 2 * tick)


def _churn(documents: Documents) -> tuple[str, str]:
    two, ten = (_result(documents, "connections", name)["connections"] for name in ("fixed", "fixed-tuned"))
    text = f"opened by 60 tasks a runner under `fixed`: {two['opened']:,} with two kept, {ten['opened']:,} with ten"
    return text, _verdict(holds=two["opened"] > 10 * ten["opened"])


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
        "a person still sees at once that a step begins or ends",
        "a step's start and end are sent at once; the page asks once a second",
        _steps_at_once,
    ),
    Claim(
        "today's runner keeps most of the saving",
        "`current`: cap of 5 s, a heartbeat every 10 s",
        _current_rate,
    ),
    Claim(
        "a back-off in each slot multiplies the polls, a single poller mends it",
        "`per-worker` counts and waits in each of 3 x 60 slots, `single` once a runner",
        _multiplied,
    ),
    Claim(
        "the two older pollers went on asking while every slot was taken",
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
        "one counter for empty and failed polls lets idle runners come back soon",
        "the first good answer forgets it, so the second poll comes after the shortest wait",
        _one_counter,
    ),
    Claim(
        "a runner retries while the server is down, and does harm",
        "once 100 rows are pending, every further row sends them all again",
        _storm,
    ),
    Claim(
        "keeping two idle connections makes a runner open new ones all the time",
        "calls beyond two at once are closed afterwards; three tasks seldom have so many, sixty have",
        _churn,
    ),
)
