"""What one simulation found, as JSON-like values in a fixed order: equal runs give equal bytes.

Knows how figures are derived from the aggregates; draws no table and judges nothing.
"""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from mockgitea.core.calls import Method, Outcome
from mockgitea.lab.distribution import DIGITS, Distribution
from mockgitea.lab.measure import Measure
from mockgitea.lab.network import LinkCounts
from mockgitea.lab.outages import Outage
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.tally import SECOND_US, TENTH_US, Tally, busiest_second

FORMAT: Final = 1
AFTER_US: Final = 120 * SECOND_US
"""How long after a recovery arrivals are looked at."""

Figures = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One scenario under one strategy.

    Durations are seconds, rates per second; counts are of the measured window unless they say otherwise. docs/lab.md
    explains every figure.
    """

    format: int
    scenario: str
    strategy: str
    setup: Figures
    window: Figures
    rates: Figures
    """Per method and ``total``: RPCs that arrived per second."""
    outcomes: Figures
    by_runner: Figures
    """Calls of the calmest, the usual and the busiest runner; of the whole simulation."""
    fetches: Figures
    connections: Figures
    """Of the whole simulation; figures of the network model."""
    pickup: Figures
    rows: Figures
    rows_by_shape: Figures
    rows_unseen: int
    steps_stored: Figures
    """From a step's start or end to the server knowing it."""
    steps_visible: Figures
    """The same to the page showing it."""
    heartbeat: Figures
    """Longest silence of each task, as the server saw it."""
    tasks: Figures
    recoveries: Sequence[Figures]
    series: Figures
    """Arrivals of each second of the whole simulation by method, and what runners tried to send."""

    def to_json(self) -> str:
        """Return the result as text with sorted keys and a final line feed."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return json.dumps(values, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def result_of(
    scenario: Scenario,
    choice: StrategyChoice,
    measure: Measure,
    links: LinkCounts,
    *,
    windows: Sequence[Outage] = (),
) -> Result:
    """Derive every figure from the aggregates of a finished simulation; ``windows``: when the server was down."""
    start_us, end_us = measure.plan.start_us, measure.plan.end_us
    tally, window_s = measure.tally, (end_us - start_us) / SECOND_US
    methods = sorted({method for method, _ in tally.seconds}, key=lambda method: method.value)
    counts = {method.value: tally.total(start_us, end_us, method=method) for method in methods}
    total = tally.total(start_us, end_us)
    return Result(
        format=FORMAT,
        scenario=scenario.name,
        strategy=choice.title,
        setup=_setup(scenario, choice),
        window={"start_s": start_us / SECOND_US, "end_s": end_us / SECOND_US},
        rates={name: _rounded(count / window_s) for name, count in counts.items()}
        | {"total": _rounded(total / window_s)},
        outcomes=_outcomes(tally, start_us, end_us),
        by_runner=_by_runner(tally),
        fetches={
            "empty": tally.total(start_us, end_us, method=Method.FETCH_TASK, outcome=Outcome.EMPTY),
            "task": tally.total(start_us, end_us, method=Method.FETCH_TASK, outcome=Outcome.TASK),
            "while_full": measure.fetches_while_full,
            "picks_without_task": measure.picks_without_task,
        },
        connections=_connections(links),
        pickup=measure.pickup.summary(),
        rows=measure.rows.summary(),
        rows_by_shape={shape: values.summary() for shape, values in sorted(measure.rows_by_shape.items())},
        rows_unseen=measure.rows_unseen,
        steps_stored=measure.step_stored.summary(),
        steps_visible=measure.step_visible.summary(),
        heartbeat=Distribution(track.worst_gap_us for track in measure.tasks.values()).summary(),
        tasks={
            "assigned": len(measure.tasks),
            "closed": sum(track.is_closed for track in measure.tasks.values()),
            "reaped": measure.reaped,
            "waiting_at_end": len(measure.waiting),
        },
        recoveries=[_recovery(measure, window) for window in windows],
        series=_series(measure, methods, scenario.end_us),
    )


def _setup(scenario: Scenario, choice: StrategyChoice) -> dict[str, Any]:
    rules = {
        "faults": [fault.shown() for fault in scenario.faults],
        "downtime": [downtime.shown() for downtime in scenario.downtime],
    }
    return {
        "preset": choice.name,
        "poll": dict(choice.poll),
        "report": dict(choice.report),
        "pool": dict(choice.pool),
        "profile": scenario.profile,
        "runners": scenario.fleet.runners,
        "capacity": scenario.fleet.capacity,
        "seed": scenario.seed,
        "time": scenario.time.value,
        "round_trip_s": scenario.link.round_trip_us / SECOND_US,
        "page_phase_s": scenario.watch.phase_us / SECOND_US,
    } | {name: one for name, one in rules.items() if one}


def _outcomes(tally: Tally, start_us: int, end_us: int) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (method, outcome), series in sorted(tally.seconds.items()):
        if count := series.total(start_us, end_us):
            found.setdefault(method.value, {})[outcome.value] = count
    return found


def _by_runner(tally: Tally) -> dict[str, int]:
    calls = sorted(sum(counts.values()) for counts in tally.by_runner.values()) or [0]
    return {"least": calls[0], "median": calls[len(calls) // 2], "most": calls[-1]}


def _connections(links: LinkCounts) -> dict[str, float | int]:
    counted: dict[str, float | int] = {one.name: getattr(links, one.name) for one in fields(links)}
    return counted | {"reuse_ratio": _rounded(links.reuse_ratio)}


def _series(measure: Measure, methods: Sequence[Method], end_us: int) -> dict[str, Any]:
    arrived = {method.value: measure.tally.per_second(method, 0, end_us) for method in methods}
    tried = {method: series.between(0, end_us) for method, series in sorted(measure.attempts.items())}
    return {"arrived": arrived, "tried": tried}


def _recovery(measure: Measure, window: Outage) -> dict[str, Any]:
    """Describe what happened after one downtime window. Counts per second and tenth begin on the borders next to it."""
    tally, end_us = measure.tally, window.end_us
    last_us = min(end_us + AFTER_US, measure.plan.end_us)
    first_us, over_us = window.start_us // SECOND_US * SECOND_US, -(-end_us // SECOND_US) * SECOND_US
    before_s = (first_us - measure.plan.start_us) / SECOND_US
    before = tally.total(measure.plan.start_us, first_us) / before_s if before_s > 0 else 0.0
    tenths = tally.arrivals.between(end_us, last_us)
    busiest = busiest_second(tenths)
    during_s = (over_us - first_us) / SECOND_US
    tried = sum(series.total(first_us, over_us) for series in measure.attempts.values())
    seconds = [times[place + 1] - end_us for times, place in _after(tally, end_us) if place + 1 < len(times)]
    return {
        "kind": window.kind.value,
        "start_s": window.start_us / SECOND_US,
        "end_s": end_us / SECOND_US,
        "rate_before": _rounded(before),
        "tried_during": tried,
        "tried_during_per_s": _rounded(tried / during_s),
        "busiest_second": busiest,
        "herd_index": _rounded(busiest / before) if before else None,
        "tenths": tenths,
        "second_poll": Distribution(seconds).summary(),
        "second_poll_busiest_second": busiest_second(_tenths_of(seconds)),
    }


def _after(tally: Tally, at_us: int) -> list[tuple[Sequence[int], int]]:
    """Return each runner's fetch times and the place of the first one from ``at_us`` on."""
    return [(times, bisect_left(times, at_us)) for times in tally.fetches.values()]


def _tenths_of(times_us: Sequence[int]) -> list[int]:
    tenths = [0] * (max(times_us, default=-1) // TENTH_US + 1)
    for at_us in times_us:
        tenths[at_us // TENTH_US] += 1
    return tenths


def _rounded(value: float) -> float:
    return round(value, DIGITS)
