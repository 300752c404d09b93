"""The one clock: integer microseconds since the Unix epoch, in three modes.

`system` follows the machine, `offset` follows it too and can be jumped forward, `manual` stands still until moved.
Domain waits (reapers, holds, flushes) go through `sleep_until`, so moving the clock wakes whatever is due; deadlines
of real sockets do not come from here. No other module may read the wall clock.
"""

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from typing import Final, Protocol

MICROSECOND: Final = 1
SECOND_US: Final = 1_000_000
ADVANCE_S_MAX: Final = 10 * 366 * 24 * 3600.0
"""One jump moves the clock at most ten years: enough for every time-out, small enough to catch a wrong unit."""


class Clock(Protocol):
    """What every part of the server may ask about time."""

    def now_us(self) -> int:
        """Return microseconds since the Unix epoch; never decreases while the server runs."""

    async def sleep_until(self, at_us: int) -> None:
        """Return once `now_us()` has reached ``at_us``, at once when it already has."""


def wall_us() -> int:
    """Read the machine's clock."""
    return time.time_ns() // 1000


class MovableClock:
    """A clock in mode ``system``, ``offset`` or ``manual``.

    Args:
        mode: which of the three.
        start_us: first value in manual mode; ignored otherwise. Default: the machine's time.
        source: where ticking time comes from; virtual time passes the loop's clock here.
    """

    def __init__(
        self, mode: str = "system", *, start_us: int | None = None, source: Callable[[], int] = wall_us
    ) -> None:
        if mode not in ("system", "offset", "manual"):
            raise ValueError(f"clock: unknown mode {mode!r}; choose system, offset or manual")
        self.mode = mode
        self._source = source
        self._offset_us = 0
        self._manual_us = source() if start_us is None else start_us
        self._last_us = 0
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._ids = itertools.count()

    def now_us(self) -> int:
        """Return microseconds since the epoch; a machine clock that steps back is held at its last value."""
        now = self._manual_us if self.mode == "manual" else self._source() + self._offset_us
        # `max` would cost as much as the rest, and every call of a runner passes here.
        if now > self._last_us:  # noqa: PLR1730 - see above
            self._last_us = now
        return self._last_us

    def advance(self, seconds: float) -> int:
        """Move the clock forward and wake every wait that is now due.

        Returns:
            The new time in microseconds.

        Raises:
            ValueError: in mode ``system``, for a negative jump, or one longer than `ADVANCE_S_MAX`.
        """
        if self.mode == "system":
            raise ValueError("clock: mode is system, which cannot be moved; start with --clock offset or manual")
        if not 0 <= seconds <= ADVANCE_S_MAX:
            raise ValueError(f"seconds: must be between 0 and {ADVANCE_S_MAX:.0f}, got {seconds!r}")
        step = round(seconds * SECOND_US)
        if self.mode == "manual":
            self._manual_us += step
        else:
            self._offset_us += step
        self._wake_due()
        return self.now_us()

    async def sleep_until(self, at_us: int) -> None:
        """Return once `now_us()` has reached ``at_us``."""
        loop = asyncio.get_running_loop()
        while (left_us := at_us - self.now_us()) > 0:
            future: asyncio.Future[None] = loop.create_future()
            entry = (at_us, next(self._ids), future)
            heapq.heappush(self._waiters, entry)
            timer = None if self.mode == "manual" else loop.call_later(left_us / SECOND_US, _resolve, future)
            try:
                await future
            finally:
                if timer is not None:
                    timer.cancel()
                self._forget(entry)

    async def sleep(self, seconds: float) -> None:
        """Return ``seconds`` of this clock's time from now."""
        await self.sleep_until(self.now_us() + round(seconds * SECOND_US))

    def _wake_due(self) -> None:
        now = self.now_us()
        while self._waiters and self._waiters[0][0] <= now:
            _resolve(heapq.heappop(self._waiters)[2])

    def _forget(self, entry: tuple[int, int, "asyncio.Future[None]"]) -> None:
        if entry in self._waiters:
            self._waiters.remove(entry)
            heapq.heapify(self._waiters)


def _resolve(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
