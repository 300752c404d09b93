"""The rules in force and the decision about one call: which of them hit it, in which order.

Rules are asked in the order in which they were added. What delays or changes goes on to the next rule; what ends the
call is the last.
Source: docs/faults.md, "Several rules".
"""

import random
from dataclasses import dataclass
from typing import Final, NamedTuple

from mockgitea.core.errors import Conflict, LimitExceeded, NotFound
from mockgitea.core.faults.delays import draw_us
from mockgitea.core.faults.kinds import FaultKind, Stage
from mockgitea.core.faults.match import Call, fits
from mockgitea.core.faults.rule import Fault
from mockgitea.core.faults.when import Count, expires_us, takes

RULES_MAX: Final = 1000
_DRAW_BITS: Final = 64


class Hit(NamedTuple):
    """One rule that hits a call, with everything random about it drawn."""

    fault: Fault
    delay_us: int = 0
    """How long to wait, for a delay."""
    draw: int = 0
    """Seed of whatever else is random, such as which bytes change."""


Verdict = tuple[Hit, ...]
"""What a call gets at one stage, in order; empty: it passes."""
PASS: Final[Verdict] = ()


class FaultState(NamedTuple):
    """A rule as it stands: ``left`` None means without limit; ``expires_us`` None: it stays until removed."""

    fault: Fault
    hits: int
    left: int | None
    seen: int = 0
    expires_us: int | None = None


@dataclass(slots=True, eq=False)
class _Rule:
    fault: Fault
    count: Count
    expires_us: int | None


class FaultRules:
    """The active rules, in the order they were added."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}
        self._first_expiry_us: int | None = None
        self.is_active = False
        """False exactly when no rule is left: the one check on the hot path."""
        self.asks_for_task = False
        """True when some rule looks at the request's task, so that the body must be read first."""
        self.repeats = 0
        """How many earlier answers the stale answers of the active rules may need; 0 for none."""

    def add(self, fault: Fault, *, now_us: int = 0) -> None:
        """Add a rule.

        Raises:
            Conflict: the name is taken.
            LimitExceeded: `RULES_MAX` rules exist.
        """
        self.expire(now_us)
        if fault.name in self._rules:
            raise Conflict(f"name: fault {fault.name!r} exists; remove it first", field="name")
        if len(self._rules) >= RULES_MAX:
            raise LimitExceeded(f"faults: at most {RULES_MAX} at once; remove some first")
        self._rules[fault.name] = _Rule(fault, Count(now_us, fault.times), expires_us(fault, now_us))
        self._changed()

    def decide(self, call: Call, stage: Stage, *, now_us: int, rng: random.Random) -> Verdict:
        """Return what hits this call at this stage, and use those rules up by one."""
        self.expire(now_us)
        hits: list[Hit] = []
        for rule in self._rules.values():
            fault = rule.fault
            if fault.stage is not stage or not fits(fault, call) or not takes(fault, rule.count, now_us, rng):
                continue
            hits.append(_drawn(fault, rng))
            if fault.facts.ends:
                break
        return tuple(hits) if hits else PASS

    def states(self, *, now_us: int = 0) -> tuple[FaultState, ...]:
        """Return every rule with how often it hit and how many hits are left."""
        self.expire(now_us)
        return tuple(
            FaultState(rule.fault, rule.count.hits, rule.count.left, rule.count.seen, rule.expires_us)
            for rule in self._rules.values()
        )

    def get(self, name: str) -> Fault:
        """Return the rule of this name; raises `NotFound`."""
        rule = self._rules.get(name)
        if rule is None:
            raise NotFound(f"fault {name!r} does not exist", field="name")
        return rule.fault

    def find(self, name: str) -> FaultState | None:
        """Return the state of the rule of this name, None when there is none."""
        rule = self._rules.get(name)
        if rule is None:
            return None
        return FaultState(rule.fault, rule.count.hits, rule.count.left, rule.count.seen, rule.expires_us)

    def remove(self, name: str) -> None:
        """Remove a rule; raises `NotFound`."""
        self.get(name)
        del self._rules[name]
        self._changed()

    def reset(self) -> None:
        """Remove every rule."""
        self._rules.clear()
        self._changed()

    def expire(self, now_us: int) -> None:
        """Remove the rules whose time to live is over."""
        if self._first_expiry_us is None or now_us < self._first_expiry_us:
            return
        over = [name for name, rule in self._rules.items() if rule.expires_us is not None and now_us >= rule.expires_us]
        for name in over:
            del self._rules[name]
        self._changed()

    def _changed(self) -> None:
        faults = [rule.fault for rule in self._rules.values()]
        self.is_active = bool(faults)
        self.asks_for_task = any(fault.task is not None for fault in faults)
        self.repeats = max((fault.back or 1 for fault in faults if fault.kind is FaultKind.STALE_ANSWER), default=0)
        self._first_expiry_us = min(
            (rule.expires_us for rule in self._rules.values() if rule.expires_us is not None), default=None
        )


def _drawn(fault: Fault, rng: random.Random) -> Hit:
    if fault.kind is FaultKind.DELAY:
        return Hit(fault, delay_us=draw_us(fault, rng))
    if fault.kind is FaultKind.CORRUPT:
        return Hit(fault, draw=rng.getrandbits(_DRAW_BITS))
    return Hit(fault)
