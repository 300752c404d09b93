"""The poll loop as a test needs it: drives one strategy through virtual time and records every fetch. No asyncio."""

import heapq
import itertools
import random
from collections.abc import Callable
from typing import Any

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import (
    AbandonFetches,
    Answered,
    Began,
    Failed,
    Fetch,
    Halt,
    HaltReason,
    PollEvent,
    PollStrategy,
    SlotFreed,
    StopAsked,
    TimeCame,
    WakeAt,
)

S = 1_000_000
Server = Callable[[float, Fetch], "int | Failure"]
"""What a fetch at that second brings: so many tasks, or a failure."""


def idle(at_s: float, fetch: Fetch) -> int:
    """A server without work."""
    return 0


def always(failure: Failure) -> Server:
    """A server that answers nothing else."""
    return lambda at_s, fetch: failure


class Middle(random.Random):
    """Draws the middle, so that there is no jitter; bits stay random."""

    def random(self) -> float:
        return 0.5


class PollBench:
    """One runner: every fetch takes ``rtt_s``, every task ``task_s``."""

    def __init__(
        self, strategy: PollStrategy[Any], server: Server = idle, *, rtt_s: float = 0.0, task_s: float = 1e9
    ) -> None:
        self.strategy = strategy
        self.server = server
        self.rtt_us = round(rtt_s * S)
        self.task_us = round(task_s * S)
        self.version = 1
        self.repeat = False
        """Answer with a task that runs already."""
        self.now_us = 0
        self.fetches: list[tuple[float, Fetch]] = []
        self.reason: HaltReason | None = None
        self.busy = 0
        self.most_busy = 0
        self._state = strategy.start()
        self._wake_us: int | None = None
        self._order = itertools.count()
        self._queue: list[tuple[int, int, PollEvent]] = []
        self._gone: set[int] = set()
        self._post(0, Began())

    @property
    def times(self) -> list[float]:
        """When the fetches were sent, in seconds."""
        return [at_s for at_s, _ in self.fetches]

    @property
    def waits(self) -> list[float]:
        """The pauses between fetches, in seconds."""
        return [later - earlier for earlier, later in itertools.pairwise(self.times)]

    def between(self, start_s: float, end_s: float) -> int:
        """How many fetches were sent in the half-open interval."""
        return sum(start_s <= at_s < end_s for at_s in self.times)

    def run(self, until_s: float) -> "PollBench":
        """Let the time pass up to, and not including, ``until_s``."""
        until_us = round(until_s * S)
        while self.reason is None:
            # What happens at one instant happens before the clock is looked at, as in the loop.
            at_us = min(
                (
                    due_us
                    for due_us in (self._wake_us, self._queue[0][0] if self._queue else None)
                    if due_us is not None
                ),
                default=until_us,
            )
            if at_us >= until_us:
                break
            self.now_us = max(self.now_us, at_us)
            if self._queue and self._queue[0][0] <= self.now_us:
                self._step(heapq.heappop(self._queue)[2])
            else:
                self._wake_us = None
                self._step(TimeCame())
        self.now_us = max(self.now_us, until_us)
        return self

    def stop(self) -> None:
        """Ask the strategy to stop, now."""
        self._step(StopAsked())

    def free(self) -> None:
        """End one task, now."""
        self._step(SlotFreed())

    def _post(self, delay_us: int, event: PollEvent) -> None:
        heapq.heappush(self._queue, (self.now_us + delay_us, next(self._order), event))

    def _step(self, event: PollEvent) -> None:
        if isinstance(event, Answered | Failed) and event.fetch_id in self._gone:
            return
        if isinstance(event, SlotFreed):
            self.busy = max(0, self.busy - 1)
        if isinstance(event, Answered):
            self.busy += event.tasks
            self.most_busy = max(self.most_busy, self.busy)
            for _ in range(event.tasks):
                self._post(self.task_us, SlotFreed())
        self._state, commands = self.strategy.step(self._state, event, self.now_us)
        for command in commands:
            match command:
                case Fetch():
                    self._fetch(command)
                case WakeAt():
                    self._wake_us = command.at_us
                case AbandonFetches():
                    self._gone |= {fetch.fetch_id for _, fetch in self.fetches}
                case Halt():
                    self.reason = command.reason

    def _fetch(self, command: Fetch) -> None:
        self.fetches.append((self.now_us / S, command))
        found = self.server(self.now_us / S, command)
        if isinstance(found, Failure):
            self._post(self.rtt_us, Failed(command.fetch_id, found))
        else:
            self._post(self.rtt_us, Answered(command.fetch_id, self.version, tasks=found, repeated=int(self.repeat)))
