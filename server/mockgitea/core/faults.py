"""Fault rules: which calls are refused, delayed or held, decided by plain calls on values.

A rule acts at a stage: ``before`` the service sees the call, or ``after`` it did its work, so that the answer is what
gets lost or late. Waiting is done by `transport.fault_gate`; nothing here knows time.
Source: docs/protocol.md, "Transport".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from actionswire.codes import Code
from mockgitea.core.calls import Method
from mockgitea.core.errors import Conflict, InvalidInput, LimitExceeded, NotFound

DELAY_S_MAX: Final = 3600.0
RULES_MAX: Final = 1000
NAME_LENGTH_MAX: Final = 100
ANY_METHOD: Final = "*"


class FaultKind(StrEnum):
    """What happens to a call."""

    REFUSE = "refuse"
    """An error answer of the fault's code; after the work when the stage is ``after``."""
    DELAY = "delay"
    """The call waits for a while, then goes on."""
    HOLD = "hold"
    """The call waits until the fault is released or removed."""


class Stage(StrEnum):
    """When a fault acts."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One rule. ``times`` is how many calls it still hits, None = every one."""

    name: str
    kind: FaultKind
    method: str = ANY_METHOD
    stage: Stage = Stage.BEFORE
    times: int | None = None
    delay_s: float = 0.0
    code: Code = Code.UNAVAILABLE

    def __post_init__(self) -> None:
        for field, bad, message in self._checks():
            if bad:
                raise InvalidInput(message, field=field)

    def _checks(self) -> Sequence[tuple[str, bool, str]]:
        methods = (ANY_METHOD, *(method.value for method in Method))
        return (
            ("name", not 0 < len(self.name) <= NAME_LENGTH_MAX, f"name: 1 to {NAME_LENGTH_MAX} characters"),
            ("method", self.method not in methods, f"method: unknown {self.method!r}; one of {', '.join(methods)}"),
            ("times", self.times is not None and self.times < 1, "times: at least 1, or absent for every call"),
            (
                "delay_s",
                self.kind is FaultKind.DELAY and not 0 < self.delay_s <= DELAY_S_MAX,
                f"delay_s: above 0 and at most {DELAY_S_MAX:.0f} seconds for a delay",
            ),
            ("delay_s", self.kind is not FaultKind.DELAY and self.delay_s != 0, "delay_s: only for a delay"),
        )


class FaultState(NamedTuple):
    """A rule as it stands: ``left`` None means without limit."""

    fault: Fault
    hits: int
    left: int | None


class _Rule:
    __slots__ = ("fault", "hits", "left")

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.hits = 0
        self.left = fault.times


class FaultRules:
    """The active rules, in the order they were added; the first that fits a call decides it."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}
        self.is_active = False
        """False exactly when no rule is left: the one check on the hot path."""

    def add(self, fault: Fault) -> None:
        """Add a rule.

        Raises:
            Conflict: the name is taken.
            LimitExceeded: `RULES_MAX` rules exist.
        """
        if fault.name in self._rules:
            raise Conflict(f"name: fault {fault.name!r} exists; remove it first", field="name")
        if len(self._rules) >= RULES_MAX:
            raise LimitExceeded(f"faults: at most {RULES_MAX} at once; remove some first")
        self._rules[fault.name] = _Rule(fault)
        self.is_active = True

    def decide(self, method: str, stage: Stage) -> Fault | None:
        """Return the fault that hits this call at this stage, and use it up by one."""
        for rule in self._rules.values():
            fault = rule.fault
            if fault.stage is stage and fault.method in (ANY_METHOD, method) and rule.left != 0:
                rule.hits += 1
                if rule.left is not None:
                    rule.left -= 1
                return fault
        return None

    def states(self) -> tuple[FaultState, ...]:
        """Return every rule with how often it hit and how many hits are left."""
        return tuple(FaultState(rule.fault, rule.hits, rule.left) for rule in self._rules.values())

    def get(self, name: str) -> Fault:
        """Return the rule of this name; raises `NotFound`."""
        rule = self._rules.get(name)
        if rule is None:
            raise NotFound(f"fault {name!r} does not exist", field="name")
        return rule.fault

    def remove(self, name: str) -> None:
        """Remove a rule; raises `NotFound`."""
        self.get(name)
        del self._rules[name]
        self.is_active = bool(self._rules)

    def reset(self) -> None:
        """Remove every rule."""
        self._rules.clear()
        self.is_active = False
