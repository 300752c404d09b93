"""Closes and opens the runner port as downtime windows and restarts want it, on the server's clock.

One supervised loop compares what the windows say with what the port does. Knows no rule and no call.
Source: docs/faults.md, "Downtime".
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

import structlog

from mockgitea.clock import MovableClock
from mockgitea.core.downtime import DownKind, Downtimes
from mockgitea.transport.fault_waits import first_of

UNNAMED: Final = "downtime"
"""Stands for the rule of a cut whose window has ended since."""

log = structlog.get_logger(__name__)


class Port(Protocol):
    """A listener, as downtime needs it."""

    async def pause(self) -> None:
        """Refuse new connections."""

    async def resume(self) -> None:
        """Accept connections again."""

    def cut(self) -> int:
        """Reset every open connection; returns how many there were."""


class PortKeeper:
    """Makes the port follow the windows.

    Args:
        clock: the server's.
        downtimes: the windows in force.
        port: the runner port.
        on_cut: hears the name of the rule that has every open connection reset, right before that is done.
    """

    def __init__(
        self,
        clock: MovableClock,
        downtimes: Downtimes,
        port: Port,
        *,
        on_cut: Callable[[str], None] = lambda name: None,
    ) -> None:
        self._clock = clock
        self._downtimes = downtimes
        self._port = port
        self._on_cut = on_cut
        self._changed = asyncio.Event()
        self._in_step = asyncio.Condition()
        self._asked = 0
        self._done = 0
        self._closed_by = 0
        self._last_cut_us = -1

    def notice(self) -> None:
        """Look at the windows again soon, because rules have changed."""
        self._asked += 1
        self._changed.set()

    def close_port(self) -> None:
        """Keep the port closed whatever the windows say, until `open_port`; calls may nest."""
        self._closed_by += 1
        self.notice()

    def open_port(self) -> None:
        """Undo one `close_port`."""
        self._closed_by -= 1
        self.notice()

    def cut(self, name: str) -> int:
        """Reset every open connection because of this rule; returns how many calls or connections that ended."""
        self._on_cut(name)
        return self._port.cut()

    async def settle(self) -> None:
        """Wait until the port does what the windows say now."""
        self.notice()  # a clock that was moved may have opened or ended a window
        asked = self._asked
        async with self._in_step:
            await self._in_step.wait_for(lambda: self._done >= asked)

    async def run_forever(self) -> None:
        """Follow the windows."""
        while True:
            self._changed.clear()
            asked = self._asked
            await self._follow()
            async with self._in_step:
                self._done = asked
                self._in_step.notify_all()
            next_us = self._downtimes.next_change_us(self._clock.now_us())
            if next_us is None:
                await self._changed.wait()
            else:
                await first_of(self._changed.wait(), self._clock.sleep_until(next_us))

    async def _follow(self) -> None:
        now_us = self._clock.now_us()
        window = self._downtimes.current(now_us)
        is_refused = window is not None and window.downtime.kind is DownKind.REFUSED
        if is_refused or self._closed_by:
            await self._port.pause()
        cut_us = self._downtimes.last_cut_us(now_us)
        if cut_us > self._last_cut_us:
            name = window.downtime.name if window is not None else UNNAMED
            log.info("downtime_cut_connections", connections=self.cut(name))
        self._last_cut_us = cut_us
        if not is_refused and not self._closed_by:
            await self._port.resume()
