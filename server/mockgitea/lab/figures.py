"""The figures that tables, CSV files and comparisons show: name, unit, and where each stands in a result.

One list for all of them, so that they never tell different stories. Reads documents, formats no page.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

Found = float | int | None


@dataclass(frozen=True, slots=True)
class Figure:
    """One row of every table."""

    name: str
    title: str
    unit: str
    """``/s``, ``s``, ``%`` or empty for a count."""
    of: Callable[[Mapping[str, Any]], Found]
    is_cost: bool = True
    """More of it is worse; a comparison judges only these."""

    def text(self, result: Mapping[str, Any]) -> str:
        """Return the figure as a person reads it; a dash where there is none."""
        return formatted(self.of(result), self.unit)


def formatted(value: Found, unit: str) -> str:
    """Return a number with as many digits as say something, and its unit where it is not part of the title."""
    if value is None:
        return "-"
    if unit == "%":
        return f"{value * 100:.1f} %"
    if isinstance(value, int) and not unit:
        return f"{value:,}"
    size = abs(value)
    return f"{value:,.0f}" if size >= 1000 else f"{value:.1f}" if size >= 100 else f"{value:.2f}"


def _rate(method: str) -> Callable[[Mapping[str, Any]], Found]:
    return lambda result: float(result["rates"].get(method, 0.0))


def _part(part: str, key: str) -> Callable[[Mapping[str, Any]], Found]:
    return lambda result: result[part][key]


def _expected(result: Mapping[str, Any]) -> Found:
    total = next((one for one in result["expected"] if one["method"] == "total"), None)
    return None if total is None else (total["low"] + total["high"]) / 2


def _worst(key: str) -> Callable[[Mapping[str, Any]], Found]:
    return lambda result: max((one[key] for one in result["recoveries"] if one[key] is not None), default=None)


def _latencies(part: str, title: str) -> list[Figure]:
    return [Figure(f"{part}_{key}", f"{title}, {key}", "s", _part(part, f"{key}_s")) for key in ("p50", "p95", "p99")]


FIGURES: Final[tuple[Figure, ...]] = (
    Figure("fetches_per_s", "FetchTask", "/s", _rate("FetchTask")),
    Figure("logs_per_s", "UpdateLog", "/s", _rate("UpdateLog")),
    Figure("states_per_s", "UpdateTask", "/s", _rate("UpdateTask")),
    Figure("total_per_s", "all requests", "/s", _rate("total")),
    Figure("expected_per_s", "closed form", "/s", _expected, is_cost=False),
    Figure("reduction", "less than fixed", "%", lambda result: result["reduction"], is_cost=False),
    *_latencies("pickup", "pickup"),
    *_latencies("rows", "row visible"),
    *_latencies("steps_visible", "step visible"),
    Figure("heartbeat_worst", "longest silence of a task", "s", _part("heartbeat", "max_s")),
    Figure("tasks_reaped", "tasks reaped", "", _part("tasks", "reaped")),
    Figure("fetches_empty", "fetches without a task", "", _part("fetches", "empty")),
    Figure("fetches_while_full", "fetches while full", "", _part("fetches", "while_full")),
    Figure("picks_without_task", "looked for a task in vain", "", _part("fetches", "picks_without_task")),
    Figure("connections_opened", "connections opened", "", _part("connections", "opened")),
    Figure("reuse_ratio", "requests on a kept connection", "%", _part("connections", "reuse_ratio"), is_cost=False),
    Figure("tried_during", "calls tried while down", "/s", _worst("tried_during_per_s")),
    Figure("busiest_second", "busiest second after", "", _worst("busiest_second")),
    Figure("herd_index", "herd index", "x", _worst("herd_index")),
    Figure("second_polls_busiest", "busiest second of second polls", "", _worst("second_poll_busiest_second")),
)
