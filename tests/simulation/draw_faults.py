"""Random rules of every kind that virtual time can do. All of them end by themselves or are healed."""

import random
from collections.abc import Callable
from typing import Any, Final

from actionswire.codes import Code
from mockgitea.core.calls import Method
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.faults import Fault, FaultKind

_METHODS: Final = (Method.FETCH_TASK, Method.UPDATE_TASK, Method.UPDATE_LOG, Method.DECLARE)
_CODES: Final = (Code.UNAVAILABLE, Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED, Code.INTERNAL, Code.UNKNOWN)
"""Codes of bad days; a refusal that says who one is would end the runner, and rightly."""
_STATUSES: Final = (429, 500, 502, 503, 504)
RARE: Final = (FaultKind.RUNNER_DELETED, FaultKind.EXPIRED_TOKEN, FaultKind.RESTART)
"""Kinds that hit once or twice; a fleet without runners proves nothing."""
LIES: Final = (FaultKind.STALE_ANSWER, FaultKind.REORDER, FaultKind.WRONG_ACK, FaultKind.CORRUPT, FaultKind.TRUNCATE)
"""Kinds whose answers are not the server's own word."""

_OWN: Final[dict[FaultKind, Callable[[random.Random], dict[str, Any]]]] = {
    FaultKind.REFUSE: lambda rng: rng.choice(
        [
            {"code": rng.choice(_CODES)},
            {"status": rng.choice(_STATUSES), "body": rng.choice(["text", "html", "json", "empty"])},
        ]
    ),
    FaultKind.DELAY: lambda rng: rng.choice(
        [
            {"delay_s": rng.choice([0.05, 2.0, 6.0, 40.0])},
            {"distribution": "uniform", "min_s": 0.1, "max_s": 8.0},
            {"distribution": "lognormal", "delay_s": 0.5, "shape": 1.5, "max_s": 60.0},
            {"distribution": "pareto", "min_s": 0.05, "shape": 0.8, "max_s": 120.0},
        ]
    ),
    FaultKind.SLOW_BODY: lambda rng: {"chunk_bytes": rng.randint(1, 3), "gap_s": rng.choice([0.01, 0.5])},
    FaultKind.BANDWIDTH: lambda rng: {"bytes_per_s": rng.choice([5, 100])},
    FaultKind.PARTIAL_BODY: lambda rng: {"kept_bytes": rng.choice([0, 1, 5])},
    FaultKind.TRUNCATE: lambda rng: {"kept_bytes": rng.choice([0, 1, 5])},
    FaultKind.CORRUPT: lambda rng: {"changed_bytes": rng.choice([1, 4])},
    FaultKind.LOSE_ANSWER: lambda rng: {"how": rng.choice(["close", "reset"])},
    FaultKind.STALE_ANSWER: lambda rng: {"back": rng.randint(1, 3)},
    FaultKind.REORDER: lambda rng: {"swap": rng.random() < 0.5, "wait_s": rng.choice([1.0, 20.0])},
    FaultKind.WRONG_ACK: lambda rng: {"rows": rng.choice([-1000, -3, -1, 1, 5])},
    FaultKind.DATABASE_BUSY: lambda rng: {"busy_s": rng.choice([0.0, 5.0])},
    FaultKind.CLOCK_SKEW: lambda rng: {"skew_s": rng.choice([-3600.0, 3600.0])},
    FaultKind.RESTART: lambda rng: {"mode": rng.choice(["graceful", "kill"]), "down_s": rng.choice([0.0, 3.0, 30.0])},
}


def draw_fault(rng: random.Random, name: str) -> Fault:
    """Return a rule that can be added."""
    kind = rng.choice([*FaultKind])
    probe = Fault(name=name, kind=kind, **_OWN.get(kind, _nothing)(rng))
    methods = [one for one in _METHODS if not probe.facts.methods or one in probe.facts.methods]
    fields = probe.shown() | _when(rng, kind) | {"stage": rng.choice(probe.facts.stages)}
    if kind is FaultKind.CORRUPT:
        # A task with other bytes in it is another task, of which nothing can be expected.
        fields["method"] = rng.choice([Method.UPDATE_TASK, Method.UPDATE_LOG])
    elif rng.random() < 0.7:
        fields["method"] = rng.choice(methods)
    if rng.random() < 0.2:
        fields["runner"] = f"r{rng.randint(0, 3)}"
    return Fault(**fields)


def draw_downtime(rng: random.Random, name: str) -> Downtime:
    """Return a rule of downtime whose windows together last a minute or two."""
    fields: dict[str, Any] = {"duration_s": rng.choice([0.5, 10.0, 45.0])}
    if rng.random() < 0.3:
        fields |= {"every_s": 60.0, "rounds": rng.randint(2, 3), "jitter_s": rng.choice([0.0, 10.0])}
    kind = rng.choice([*DownKind])
    if kind is DownKind.PLANNED and rng.random() < 0.5:
        fields["retry_after_s"] = 5
    return Downtime(name=name, kind=kind, cuts=rng.random() < 0.5, **fields)


def _when(rng: random.Random, kind: FaultKind) -> dict[str, Any]:
    if kind in RARE:
        return {"times": rng.randint(1, 2), "skip": rng.choice([0, 5, 40])}
    ttl_s = {"ttl_s": rng.choice([20.0, 60.0, 200.0])}
    return ttl_s | rng.choice(
        [
            {"times": rng.randint(1, 4)},
            {"every": rng.randint(2, 5)},
            {"probability": rng.choice([0.05, 0.3, 0.9])},
            {"skip": rng.randint(1, 10), "times": 2},
            {"from_s": 5.0, "until_s": 30.0},
            {"period_s": 10.0, "open_s": 3.0},
            {},
        ]
    )


def _nothing(rng: random.Random) -> dict[str, Any]:
    del rng
    return {}
