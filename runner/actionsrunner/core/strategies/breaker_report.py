"""The circuit breaker over a way to report, one for each task. What it means to be open is in `breaker.py`.

Only calls without a usable answer are errors; a server that says the task is gone is a server that works. Once the
job has ended the breaker steps aside: the closing calls have limits of their own, and the result must get through.
"""

import random
from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporting import (
    LogAnswered,
    LogFailed,
    ReportCommand,
    ReportEvent,
    ReportStrategy,
    SendLog,
    SendState,
    StateAnswered,
    StateFailed,
)
from actionsrunner.core.strategies.breaker import Breaker, BreakerPolicy

ERRORS: Final = frozenset({Failure.RETRY, Failure.DEADLINE})

S = TypeVar("S")


class ReportBreakerState(NamedTuple, Generic[S]):
    """The state of the strategy below, and the breaker."""

    inner: S
    breaker: Breaker = Breaker()


class ReportBreaker(Generic[S]):
    """Lays a breaker over ``inner``."""

    def __init__(self, inner: ReportStrategy[S], policy: BreakerPolicy, rng: random.Random) -> None:
        assert policy.threshold >= 1
        self._inner = inner
        self._policy = policy
        self._rng = rng

    def start(self, now_us: int) -> ReportBreakerState[S]:
        """Return the state of a task that has just been received."""
        return ReportBreakerState(self._inner.start(now_us))

    def step(
        self, state: ReportBreakerState[S], event: ReportEvent, now_us: int
    ) -> tuple[ReportBreakerState[S], Sequence[ReportCommand]]:
        """Take one event, return the new state and at least one command."""
        inner, breaker = state
        match event:
            case LogAnswered() | StateAnswered():
                breaker = breaker.succeeded()
            case LogFailed() | StateFailed():
                if event.failure in ERRORS:
                    breaker = breaker.failed(self._policy, self._rng, now_us)
                else:
                    breaker = breaker.succeeded()
            case _:
                pass
        inner, commands = self._inner.step(inner, event, now_us)
        if breaker.open_until_us is None or event.seen.ended:
            return ReportBreakerState(inner, breaker), commands
        done: list[ReportCommand] = []
        # Every strategy waits after a failure, so this ends.
        while isinstance(commands[-1], SendLog | SendState):
            if breaker.passes(now_us):
                breaker = breaker.sent()
                break
            done.extend(commands[:-1])
            failed = LogFailed if isinstance(commands[-1], SendLog) else StateFailed
            inner, commands = self._inner.step(inner, failed(event.seen, Failure.RETRY), now_us)
        return ReportBreakerState(inner, breaker), [*done, *commands]
