"""When a job must stop: cancel, job timeout, the end of the grace period, a forced stop.

Owns the two phases of a job. In the first one a cancel or the job's time limit interrupts it; in the second one, which
the interrupt opens, the remaining steps have a fresh budget. It knows no process: steps wait on its events.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from actionsrunner.core.seams import CancelSignal
from actionswire.result import Result


@runtime_checkable
class ForcibleSignal(Protocol):
    """A cancel signal that can also say that nothing may be waited for any more (a second signal)."""

    async def wait_forced(self) -> None:
        """Return when every process must be killed at once."""


@dataclass(frozen=True, slots=True)
class Interruption:
    """Why a job was interrupted, and how it ends therefore."""

    result: Result
    text: str


class StopWatch:
    """Turns a cancel signal and a time limit into events.

    ``interrupted`` is set once, at the first reason to stop; ``over`` when the grace period after it has ended too;
    ``forced`` when processes must be killed without asking.
    """

    def __init__(self, cancel: CancelSignal, *, grace_s: float) -> None:
        self.interrupted = asyncio.Event()
        self.over = asyncio.Event()
        self.forced = asyncio.Event()
        self.interruption: Interruption | None = None
        self._cancel = cancel
        self._grace_s = grace_s
        self._over_text = ""

    @property
    def phase_end(self) -> asyncio.Event:
        """What stops a step that starts now."""
        return self.over if self.interrupted.is_set() else self.interrupted

    def reason_of(self, event: asyncio.Event) -> str:
        """Say in words why ``interrupted`` or ``over`` is set."""
        if event is self.over:
            return self._over_text
        return "" if self.interruption is None else self.interruption.text

    @asynccontextmanager
    async def watching(self, limit_s: float, limit_text: str) -> AsyncIterator[None]:
        """Watch while the job runs.

        Args:
            limit_s: the job's time limit in seconds.
            limit_text: what the log says when it is reached.
        """
        if self._cancel.reason is not None:
            self._interrupt(Interruption(Result.CANCELLED, self._cancel.reason))
        async with asyncio.TaskGroup() as group:
            watchers = [group.create_task(self._watch(limit_s, limit_text))]
            if isinstance(self._cancel, ForcibleSignal):
                watchers.append(group.create_task(self._watch_force(self._cancel)))
            try:
                yield
            finally:
                for watcher in watchers:
                    watcher.cancel()

    def force(self) -> None:
        """End both phases and ask for immediate kills."""
        reason = self._cancel.reason or "Cancelled"
        self._interrupt(Interruption(Result.CANCELLED, reason))
        self._end(reason)
        self.forced.set()

    def _interrupt(self, interruption: Interruption) -> None:
        if self.interruption is None:
            self.interruption = interruption
            self.interrupted.set()

    def _end(self, text: str) -> None:
        if not self.over.is_set():
            self._over_text = text
            self.over.set()

    async def _watch(self, limit_s: float, limit_text: str) -> None:
        if self.interruption is None:
            try:
                async with asyncio.timeout(limit_s):
                    self._interrupt(Interruption(Result.CANCELLED, await self._cancel.wait()))
            except TimeoutError:
                self._interrupt(Interruption(Result.FAILURE, limit_text))
        self._end(await self._grace_period())

    async def _grace_period(self) -> str:
        """Wait for the end of the grace period and say what ended it."""
        try:
            async with asyncio.timeout(self._grace_s):
                if self.interruption is not None and self.interruption.result is Result.FAILURE:
                    # A cancel during the grace period of a time limit is the second reason to stop.
                    return await self._cancel.wait()
                await asyncio.Event().wait()
        except TimeoutError:
            pass
        return f"the {self._grace_s:g} s for steps after an interruption are over"

    async def _watch_force(self, signal: ForcibleSignal) -> None:
        await signal.wait_forced()
        self.force()
