"""A distribution that keeps every value, so that percentiles are exact. Values are whole microseconds."""

from array import array
from collections.abc import Iterable
from typing import Final

DIGITS: Final = 6
"""Decimals of every figure in a result; seconds are then exact to the microsecond."""


class Distribution:
    """Values of one kind."""

    __slots__ = ("values",)

    def __init__(self, values: Iterable[int] = ()) -> None:
        self.values = array("q", values)

    def add(self, value_us: int) -> None:
        """Add one value."""
        self.values.append(value_us)

    def summary(self) -> dict[str, float | int | None]:
        """Return count, mean, p50, p95, p99 and max in seconds; None where there is no value.

        A percentile is the smallest value that at least so many per cent of the values do not exceed.
        """
        ordered = sorted(self.values)
        if not ordered:
            return {"count": 0, "mean_s": None, "p50_s": None, "p95_s": None, "p99_s": None, "max_s": None}
        return {
            "count": len(ordered),
            "mean_s": round(sum(ordered) / len(ordered) / 1e6, DIGITS),
            "p50_s": _percentile(ordered, 50),
            "p95_s": _percentile(ordered, 95),
            "p99_s": _percentile(ordered, 99),
            "max_s": round(ordered[-1] / 1e6, DIGITS),
        }


def _percentile(ordered: list[int], percent: int) -> float:
    place = -(-len(ordered) * percent // 100) - 1
    return round(ordered[max(place, 0)] / 1e6, DIGITS)
