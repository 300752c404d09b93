"""Monotonic totals of calls: per method and outcome, per runner, with durations. They outlive journal eviction.

A closed call is counted exactly once, so the totals add up: calls opened = calls counted + calls in progress.
Source: docs/metrics.md, "Counters".
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any, Final

from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry

DURATION_BOUNDS_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper bounds of the duration buckets; a last one without bound follows."""

Key = tuple[Method, Outcome]


class Durations:
    """Histogram of one method's durations."""

    __slots__ = ("buckets", "sum_s")

    def __init__(self) -> None:
        self.buckets = [0] * (len(DURATION_BOUNDS_S) + 1)
        self.sum_s = 0.0

    @property
    def count(self) -> int:
        """Durations seen."""
        return sum(self.buckets)


class Counters:
    """The totals. Only authenticated runners get a key of their own, so callers cannot make the table grow."""

    def __init__(self) -> None:
        self._cells: dict[tuple[str, Method, Outcome], int] = {}
        self.durations: dict[Method, Durations] = {method: Durations() for method in Method}

    def count(self, entry: Entry) -> None:
        """Count one closed call: its method, outcome, authenticated runner and duration."""
        # One cell for each runner, method and outcome: every other total is a sum that readers pay for.
        cells = self._cells
        key = (entry.runner_uuid, entry.method, entry.outcome)
        cells[key] = cells.get(key, 0) + 1
        durations = self.durations[entry.method]
        durations.buckets[bisect_left(DURATION_BOUNDS_S, entry.duration_s)] += 1
        durations.sum_s += entry.duration_s

    @property
    def calls(self) -> dict[Key, int]:
        """Calls by method and outcome, over all callers."""
        return _summed(self._cells.items())

    @property
    def by_runner(self) -> dict[str, dict[Key, int]]:
        """Calls by method and outcome of each authenticated runner, by UUID."""
        runners: dict[str, dict[Key, int]] = {}
        for (runner_uuid, method, outcome), number in self._cells.items():
            if runner_uuid:
                runners.setdefault(runner_uuid, {})[method, outcome] = number
        return runners

    @property
    def total(self) -> int:
        """Calls counted so far."""
        return sum(self._cells.values())

    def snapshot(self) -> dict[str, Any]:
        """Return JSON-like values: ``total``, ``calls`` and ``runners``, as method -> outcome -> number."""
        return {
            "total": self.total,
            "calls": _nested(self.calls),
            "runners": {uuid: _nested(calls) for uuid, calls in self.by_runner.items()},
        }

    def reset(self) -> None:
        """Start again at zero, as a fresh server would."""
        self._cells.clear()
        self.durations = {method: Durations() for method in Method}


def _summed(cells: Iterable[tuple[tuple[str, Method, Outcome], int]]) -> dict[Key, int]:
    totals: dict[Key, int] = {}
    for (_, method, outcome), number in cells:
        totals[method, outcome] = totals.get((method, outcome), 0) + number
    return totals


def _nested(calls: dict[Key, int]) -> dict[str, dict[str, int]]:
    nested: dict[str, dict[str, int]] = {}
    for (method, outcome), number in sorted(calls.items()):
        nested.setdefault(method.value, {})[outcome.value] = number
    return nested
