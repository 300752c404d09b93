"""Virtual time as both sides see it: the runner's clock and the server's, on one calendar.

Both start at `EPOCH_US` when the loop is made, so a row's stamp and the server's time of storing it can be subtracted.
Models no clock skew.
"""

import asyncio
from collections.abc import Callable
from typing import Final

from mockgitea.clock import MovableClock
from mockgitea.lab.virtual_loop import VirtualLoop

EPOCH_US: Final = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z: the calendar does not depend on the day a simulation is run."""


class RunnerClock:
    """The clock of every runner of a fleet; fulfils the runner's `Clock` protocol.

    Args:
        loop: whose time it tells.
    """

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def now_us(self) -> int:
        """Return microseconds since the simulation began."""
        return self._loop.now_us

    def wall_us(self) -> int:
        """Return microseconds since 1970."""
        return EPOCH_US + self._loop.now_us

    async def sleep_until(self, at_us: int) -> None:
        """Return once `now_us` has reached ``at_us``."""
        loop = self._loop
        if at_us <= loop.now_us:
            return
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_at(at_us / 1e6, _wake, future)
        try:
            await future
        finally:
            timer.cancel()

    def alarm(self, at_us: int, callback: Callable[[], object]) -> asyncio.TimerHandle:
        """Call ``callback`` once `now_us` has reached ``at_us``."""
        return self._loop.call_at(at_us / 1e6, callback)


def server_clock(loop: VirtualLoop) -> MovableClock:
    """Return a server clock that follows ``loop``."""
    return MovableClock("system", source=lambda: EPOCH_US + loop.now_us)


def _wake(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)
