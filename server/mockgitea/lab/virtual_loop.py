"""An event loop whose clock jumps to the next timer when nothing is ready: hours pass in seconds, always the same way.

Time is kept in whole microseconds, so that equal instants are equal. There are no threads, sockets or processes in
here: whatever would need one fails at once with the reason, instead of ending a simulation too early. Knows nothing
of runners or servers.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

T = TypeVar("T")

TURNS_MAX: Final = 1_000_000
"""Turns of the loop at one instant before something is said to spin; a herd of 10,000 runners takes a few hundred."""
_TICK_S: Final = 6e-7
"""A little over half a microsecond, the most that rounding to whole ones can leave a timer in the future."""


class SimulationStalled(RuntimeError):
    """Nothing is ready and no timer is set, so what the simulation waits for can never happen."""


class SimulationStuck(RuntimeError):
    """Callbacks follow each other without end while time stands still, usually a retry without a delay."""


class RealWorldRefused(RuntimeError):
    """Something asked for a socket, a process or another thread, none of which exists in virtual time."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """Use it as ``asyncio.Runner(loop_factory=VirtualLoop)``.

    Args:
        turns_max: turns at one instant before `SimulationStuck` is raised.
    """

    def __init__(self, *, turns_max: int = TURNS_MAX) -> None:
        self._virtual_us = 0
        self._turns = 0
        self._turns_max = turns_max
        self._home = threading.get_ident()
        super().__init__(_JumpingSelector(self._jump))
        self._clock_resolution = _TICK_S

    def time(self) -> float:
        """Return seconds since the loop was made, a whole number of microseconds."""
        return self._virtual_us / 1e6

    @property
    def now_us(self) -> int:
        """Microseconds since the loop was made."""
        return self._virtual_us

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # type: ignore[override]  # the base is loosely typed
        """Run ``func`` at once on this thread; the work takes no virtual time."""
        del executor
        future: asyncio.Future[T] = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:  # noqa: BLE001,RUF100 - belongs to whoever awaits the future
            future.set_exception(error)
        return future

    def call_soon_threadsafe(  # type: ignore[override]  # the base is loosely typed
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Schedule ``callback``; only signal handlers of this very thread may need it."""
        if threading.get_ident() != self._home:
            raise RealWorldRefused(
                "another thread called into virtual time, which does not wait for threads; "
                "run that work inline (inline store, scripted executor)"
            )
        return self.call_soon(callback, *args, context=context)

    def _jump(self, timeout_s: float | None) -> None:
        """Stand still while callbacks are ready, else go to the next timer."""
        if timeout_s is None:
            raise SimulationStalled(
                f"at {self.time():.6f} s nothing is ready and no timer is set; something waits for an event that "
                "nobody will send, or for a thread or socket that virtual time does not have"
            )
        if timeout_s > 0:
            step_us = round(timeout_s * 1e6)
            if step_us:
                self._virtual_us += step_us
                self._turns = 0
                return
        self._turns += 1
        if self._turns > self._turns_max:
            raise SimulationStuck(
                f"{self._turns_max} turns of the event loop at {self.time():.6f} s without a delay; "
                "look for a loop that retries at once"
            )


class _JumpingSelector(selectors.BaseSelector):
    """Never asks the operating system. Holds the loop's own wake-up pipe and refuses everything else."""

    def __init__(self, jump: Callable[[float | None], None]) -> None:
        self._jump = jump
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._jump(timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        if self._keys:
            raise RealWorldRefused(
                "virtual time has no sockets, pipes or processes; use the laboratory's transport and scripted jobs"
            )
        key = self._keys[fileobj] = selectors.SelectorKey(fileobj, fileobj, events, data)
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys.pop(fileobj)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        return self._keys[fileobj]

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return self._keys
