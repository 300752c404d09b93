"""Documents of the laboratory for tests of what reads them."""

from typing import Any

from mockgitea.lab.suite import document

_NONE = {"count": 0, "mean_s": None, "p50_s": None, "p95_s": None, "p99_s": None, "max_s": None}
_SOME = {"count": 3, "mean_s": 1.0, "p50_s": 1.0, "p95_s": 2.0, "p99_s": 2.5, "max_s": 3.0}


def result(strategy: str, total: float, *, runners: int = 200, **changes: Any) -> dict[str, Any]:
    """Return a result with a third of its calls of each method."""
    rates = dict.fromkeys(("FetchTask", "UpdateLog", "UpdateTask"), total / 3) | {"total": total}
    setup = {
        "preset": strategy,
        "runners": runners,
        "capacity": 4,
        "profile": "gitea-1.27",
        "time": "virtual",
        "seed": 1,
        "round_trip_s": 0.0,
    }
    return {
        "strategy": strategy,
        "setup": setup,
        "window": {"start_s": 120.0, "end_s": 180.0},
        "rates": rates,
        "fetches": {"empty": 5, "task": 0, "while_full": 0, "picks_without_task": 0},
        "pickup": _NONE,
        "rows": _SOME,
        "steps_stored": _SOME,
        "steps_visible": _SOME,
        "heartbeat": _SOME,
        "tasks": {"reaped": 0, "assigned": 3},
        "connections": {"opened": 200, "reuse_ratio": 0.9},
        "recoveries": [],
        "expected": [],
        "series": {"arrived": {name: [1, 2, 3] for name in ("FetchTask", "UpdateLog")}},
        "curves": {"pickup": [], "rows": [0.5, 1.0, 3.0], "steps_visible": []},
        **changes,
    }


def recovery(**changes: Any) -> dict[str, Any]:
    """Return what was seen after one downtime."""
    return {
        "kind": "planned",
        "start_s": 130.0,
        "end_s": 140.0,
        "rate_before": 10.0,
        "tried_during": 40,
        "tried_during_per_s": 4.0,
        "busiest_second": 20,
        "herd_index": 2.0,
        "tenths": [0, 3, 1],
        "second_poll": _SOME,
        "second_poll_busiest_second": 3,
        **changes,
    }


def lab_document(*results: dict[str, Any], name: str = "test") -> dict[str, Any]:
    """Return a document as `mockgitea lab --json` writes it."""
    return document(name, "a description", results)
