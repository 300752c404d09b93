"""The runner port of the model: closes, opens, drains and cuts, as the port keeper asks of a real listener.

Calls that wait for anything register here, so that a cut reaches them; calls that take no time cannot be cut. Knows
no rule: the keeper, which is the production one, follows the windows and restarts.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from mockgitea.core.downtime import DownKind
from mockgitea.transport.fault_gate import FaultGate

DRAIN_S: Final = 5.0
"""How long a drain waits for calls in progress before it resets them, as the real listener does."""


class Flight:
    """One call under way that waits for something."""

    __slots__ = ("is_cut", "limit")

    def __init__(self) -> None:
        self.limit: asyncio.Timeout | None = None
        """The caller's own deadline."""
        self.is_cut = False

    def cut(self) -> None:
        """End the call where it stands, as if its connection had been reset."""
        if self.limit is not None and not self.limit.expired():
            self.is_cut = True
            self.limit.reschedule(asyncio.get_running_loop().time())


class LabPort:
    """Fulfils what `PortKeeper` and restarts need of a listener.

    Args:
        closings: how often its predecessor had closed connections, where it has one.
    """

    def __init__(self, *, closings: int = 0) -> None:
        self._gate: FaultGate | None = None
        self._now_us: Callable[[], int] = lambda: 0
        self._is_paused = False
        self._flights: dict[Flight, None] = {}  # a set in the order of arrival, so that cuts have an order
        self._landed = asyncio.Event()
        self.closings = closings
        """How often open connections were closed or reset; an idle one that is older than the last time is gone."""

    def guard(self, gate: FaultGate, now_us: Callable[[], int]) -> None:
        """Name the faults that close this port, and their clock."""
        self._gate, self._now_us = gate, now_us

    async def accepts(self) -> bool:
        """Tell whether somebody listens at this instant."""
        gate = self._gate
        if gate is None or not (gate.is_active or self._is_paused):
            return not self._is_paused
        window = gate.downtimes.current(self._now_us())
        if window is not None and window.downtime.kind is DownKind.REFUSED:
            return False
        if self._is_paused:
            await gate.settle()  # a window may end at this very instant, and its keeper be next to run
        return not self._is_paused

    @contextmanager
    def flight(self) -> Iterator[Flight]:
        """Register a call that waits; a cut ends it by way of its deadline."""
        one = Flight()
        self._flights[one] = None
        try:
            yield one
        finally:
            del self._flights[one]
            self._landed.set()

    async def pause(self) -> None:
        """Refuse new connections; open ones stay."""
        self._is_paused = True

    async def resume(self) -> None:
        """Accept connections again."""
        self._is_paused = False

    def cut(self) -> int:
        """Reset every open connection; returns how many calls that ended."""
        self.closings += 1
        flights = list(self._flights)
        for one in flights:
            one.cut()
        return len(flights)

    async def drain(self) -> None:
        """Close idle connections, and the others after their answers; what takes too long is reset."""
        self.closings += 1
        try:
            async with asyncio.timeout(DRAIN_S):
                while self._flights:
                    self._landed.clear()
                    await self._landed.wait()
        except TimeoutError:
            self.cut()
