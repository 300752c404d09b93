"""Counts of calls over virtual time: exact, growing with the time simulated, not with the number of calls.

Knows methods and outcomes; takes instants as microseconds since the simulation began.
"""

from array import array
from collections.abc import Sequence
from typing import Final

from mockgitea.core.calls import Method, Outcome

SECOND_US: Final = 1_000_000
TENTH_US: Final = 100_000
TENTHS: Final = 10

RPC_METHODS: Final = tuple(method for method in Method if method not in (Method.REST, Method.PAGE))
"""What runners call; the page and REST are counted beside them."""

Key = tuple[Method, Outcome]


class Series:
    """One counter per interval; zero where nothing was counted."""

    __slots__ = ("_counts", "_span_us")

    def __init__(self, span_us: int) -> None:
        self._span_us = span_us
        self._counts = array("Q")

    def count(self, at_us: int) -> None:
        """Count one event."""
        place = at_us // self._span_us
        try:
            self._counts[place] += 1
        except IndexError:
            self._counts.extend([0] * (place + 1 - len(self._counts)))
            self._counts[place] += 1

    def between(self, start_us: int, end_us: int) -> list[int]:
        """Return the counts of the intervals from ``start_us`` up to ``end_us``, both on their borders."""
        first, last = start_us // self._span_us, end_us // self._span_us
        found = self._counts[first:last].tolist()
        return found + [0] * (last - first - len(found))

    def total(self, start_us: int, end_us: int) -> int:
        """Return how many events happened in an interval whose ends lie on borders."""
        return sum(self._counts[start_us // self._span_us : end_us // self._span_us])


class Tally:
    """Every call of a simulation, by method and outcome per second, by runner in total, and arrivals per 100 ms."""

    def __init__(self) -> None:
        self.seconds: dict[Key, Series] = {}
        self.by_runner: dict[str, dict[Key, int]] = {}
        self.arrivals = Series(TENTH_US)
        self.fetches: dict[str, array[int]] = {}
        """When each runner's fetches arrived."""

    def count(self, method: Method, outcome: Outcome, runner: str, at_us: int) -> None:
        """Count one closed call by the time it arrived."""
        key = (method, outcome)
        series = self.seconds.get(key)
        if series is None:
            series = self.seconds[key] = Series(SECOND_US)
        series.count(at_us)
        if not runner:
            return
        self.arrivals.count(at_us)
        mine = self.by_runner.get(runner)
        if mine is None:
            mine = self.by_runner[runner] = {}
            self.fetches[runner] = array("q")
        mine[key] = mine.get(key, 0) + 1
        if method is Method.FETCH_TASK:
            self.fetches[runner].append(at_us)

    def total(self, start_us: int, end_us: int, *, method: Method | None = None, outcome: Outcome | None = None) -> int:
        """Return how many calls arrived; None stands for every RPC or every outcome."""
        return sum(
            series.total(start_us, end_us)
            for (of_method, of_outcome), series in self.seconds.items()
            if (of_method is method if method else of_method in RPC_METHODS)
            and (outcome is None or of_outcome is outcome)
        )

    def per_second(self, method: Method, start_us: int, end_us: int) -> list[int]:
        """Return the arrivals of one method, second by second."""
        rows = [series.between(start_us, end_us) for (one, _), series in self.seconds.items() if one is method]
        return [sum(column) for column in zip(*rows, strict=True)] if rows else []


def busiest_second(tenths: Sequence[int]) -> int:
    """Return the most arrivals in any second, wherever it begins on the 100 ms grid."""
    if len(tenths) <= TENTHS:
        return sum(tenths)
    window = best = sum(tenths[:TENTHS])
    for place in range(TENTHS, len(tenths)):
        window += tenths[place] - tenths[place - TENTHS]
        best = max(best, window)
    return best
