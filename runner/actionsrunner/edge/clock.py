"""Time for everything that waits: one seam, whose real implementation follows the event loop's own clock.

On an event loop whose clock jumps, the same code runs in virtual time.
"""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any, Protocol


class Alarm(Protocol):
    """Something that will happen at its time."""

    def cancel(self) -> None:
        """Prevent it; does nothing afterwards."""


class Clock(Protocol):
    """Integer microseconds, and waiting for them."""

    def now_us(self) -> int:
        """Return the time since an arbitrary start; never goes back."""

    def wall_us(self) -> int:
        """Return the time since 1970-01-01 UTC, for stamps that people read."""

    def sleep_until(self, at_us: int) -> Coroutine[Any, Any, None]:
        """Return once `now_us` has reached ``at_us``."""

    def alarm(self, at_us: int, callback: Callable[[], object]) -> Alarm:
        """Call ``callback`` once `now_us` has reached ``at_us``, unless it is cancelled before."""


class LoopClock:
    """The clock of the running event loop, with the system's calendar."""

    def now_us(self) -> int:
        """Return the event loop's time."""
        return int(asyncio.get_running_loop().time() * 1_000_000)

    def wall_us(self) -> int:
        """Return the system's time of day."""
        return time.time_ns() // 1_000

    async def sleep_until(self, at_us: int) -> None:
        """Return once the loop's time has reached ``at_us``."""
        left_us = at_us - self.now_us()
        if left_us > 0:
            # A loop may run a timer one tick of its clock early; one more microsecond makes up for that.
            await asyncio.sleep((left_us + 1) / 1_000_000)

    def alarm(self, at_us: int, callback: Callable[[], object]) -> Alarm:
        """Call ``callback`` once the loop's time has reached ``at_us``."""
        return asyncio.get_running_loop().call_at((at_us + 1) / 1_000_000, callback)
