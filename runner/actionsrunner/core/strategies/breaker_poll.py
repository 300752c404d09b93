"""The circuit breaker over a way to poll. What it means to be open is in `breaker.py`.

Our own deadline is no error here: a server that holds fetches open may end every one of them this way. That the
runner is not registered is one, unless the strategy below leaves because of it.
"""

import random
from collections import deque
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import (
    Answered,
    Failed,
    Fetch,
    PollCommand,
    PollEvent,
    PollStrategy,
    StopAsked,
)
from actionsrunner.core.strategies.breaker import Breaker, BreakerPolicy

S = TypeVar("S")


class PollBreakerState(NamedTuple, Generic[S]):
    """The state of the strategy below, and the breaker."""

    inner: S
    breaker: Breaker = Breaker()
    probe_id: int = 0
    """The fetch that is the probe, else 0."""


class PollBreaker(Generic[S]):
    """Lays a breaker over ``inner``."""

    def __init__(self, inner: PollStrategy[S], policy: BreakerPolicy, rng: random.Random) -> None:
        assert policy.threshold >= 1
        self._inner = inner
        self._policy = policy
        self._rng = rng

    def start(self) -> PollBreakerState[S]:
        """Return the state before `Began`."""
        return PollBreakerState(self._inner.start())

    def step(
        self, state: PollBreakerState[S], event: PollEvent, now_us: int
    ) -> tuple[PollBreakerState[S], Sequence[PollCommand]]:
        """Take one event, return the new state and what the loop must do, in order."""
        inner, breaker, probe_id = state
        match event:
            case Answered():
                breaker, probe_id = breaker.succeeded(), 0
            case Failed():
                breaker, probe_id = self._failed(breaker, event, probe_id, now_us)
            case StopAsked():
                breaker, probe_id = breaker._replace(probing=False), 0
            case _:
                pass
        inner, commands = self._inner.step(inner, event, now_us)
        if breaker.open_until_us is not None:
            inner, commands, breaker, probe_id = self._filter(inner, commands, breaker, probe_id, now_us)
        return PollBreakerState(inner, breaker, probe_id), commands

    def _failed(self, breaker: Breaker, event: Failed, probe_id: int, now_us: int) -> tuple[Breaker, int]:
        is_probe = event.fetch_id == probe_id
        if event.failure is Failure.DEADLINE:
            # Neither good nor bad: the next fetch is another probe.
            return (breaker._replace(probing=False), 0) if is_probe else (breaker, probe_id)
        if probe_id and not is_probe:
            return breaker, probe_id
        return breaker.failed(self._policy, self._rng, now_us), 0

    def _filter(
        self, inner: S, commands: Sequence[PollCommand], breaker: Breaker, probe_id: int, now_us: int
    ) -> tuple[S, Sequence[PollCommand], Breaker, int]:
        """Let commands pass, but answer fetches with failures, except one that is due as a probe."""
        passed: list[PollCommand] = []
        waiting = deque(commands)
        while waiting:
            command = waiting.popleft()
            if not isinstance(command, Fetch):
                passed.append(command)
            elif breaker.passes(now_us):
                breaker, probe_id = breaker.sent(), command.fetch_id
                passed.append(command)
            else:
                # Every strategy waits after a failure, so this ends.
                inner, more = self._inner.step(inner, Failed(command.fetch_id, Failure.RETRY), now_us)
                waiting.extend(more)
        return inner, passed, breaker, probe_id
