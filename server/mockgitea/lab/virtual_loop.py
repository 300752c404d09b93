"""An event loop whose clock jumps to the next timer when nothing is ready: hours pass in seconds, always the same way.

Time is kept in whole microseconds, so that equal instants are equal. There are no threads, sockets or processes in
here: whatever would need one fails at once with the reason, instead of ending a simulation too early. Knows nothing
of runners or servers.
"""

import asyncio
import contextvars
import heapq
import selectors
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NoReturn, TypeVar

T = TypeVar("T")

TURNS_MAX: Final = 1_000_000
"""Turns of the loop at one instant before something is said to spin; a herd of 10,000 runners takes a few hundred."""
_SWEEP_MIN: Final = 1_000
"""Cancelled timers that may lie in the queue before they are swept out, once they are more than half of it."""

_Due = tuple[int, int, asyncio.TimerHandle]
"""When, in microseconds; a running number, so that equal instants keep their order; what to call."""


class SimulationStalled(RuntimeError):
    """Nothing is ready and no timer is set, so what the simulation waits for can never happen."""


class SimulationStuck(RuntimeError):
    """Callbacks follow each other without end while time stands still, usually a retry without a delay."""


class RealWorldRefused(RuntimeError):
    """Something asked for a socket, a process or another thread, none of which exists in virtual time."""


class _Handle(asyncio.Handle):
    """A callback for the next turn, made without asyncio's question whether somebody debugs."""

    __slots__ = ()

    def __init__(
        self,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        loop: asyncio.AbstractEventLoop,
        context: contextvars.Context | None,
    ) -> None:
        self._callback = callback
        self._args = args
        self._loop = loop
        self._context = context if context is not None else contextvars.copy_context()
        self._cancelled = False
        self._source_traceback = None
        self._repr = None


class _Timer(asyncio.TimerHandle):
    """A callback for a later instant, likewise."""

    __slots__ = ()

    def __init__(
        self, when: float, callback: Callable[..., object], args: tuple[Any, ...], loop: "VirtualLoop", context: Any
    ) -> None:
        _Handle.__init__(self, callback, args, loop, context)  # type: ignore[arg-type]  # only the slots of the base matter
        self._when = when
        self._scheduled = True


class VirtualLoop(asyncio.SelectorEventLoop):
    """Use it as ``asyncio.Runner(loop_factory=VirtualLoop)``.

    Args:
        turns_max: turns at one instant before `SimulationStuck` is raised.
    """

    def __init__(self, *, turns_max: int = TURNS_MAX) -> None:
        self.now_us = 0
        """Microseconds since the loop was made; only the loop changes it."""
        self._turns = 0
        self._turns_max = turns_max
        self._home = threading.get_ident()
        self._timers: list[_Due] = []
        self._timers_made = 0
        self._timers_cancelled = 0
        super().__init__(_NoSelector())

    def time(self) -> float:
        """Return seconds since the loop was made, a whole number of microseconds."""
        return self.now_us / 1e6

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

    def call_soon(  # type: ignore[override]  # the base is loosely typed
        self, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.Handle:
        """Schedule ``callback`` for the next turn, without the base's questions about threads and debugging."""
        if self._closed:  # type: ignore[attr-defined]  # of the base
            self._check_closed()  # type: ignore[attr-defined]  # of the base
        handle = _Handle(callback, args, self, context)
        self._ready.append(handle)  # type: ignore[attr-defined]  # of the base
        return handle

    def call_at(  # type: ignore[override]  # the base is loosely typed
        self, when: float, callback: Callable[..., object], *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Schedule ``callback`` for the microsecond nearest to ``when``."""
        timer = _Timer(when, callback, args, self, context)
        self._timers_made += 1
        heapq.heappush(self._timers, (round(when * 1e6), self._timers_made, timer))
        return timer

    def close(self) -> None:
        """Close the loop and forget every timer."""
        super().close()
        self._timers.clear()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """Count the cancelled timers in the queue; asyncio's handles call this."""
        if not handle._scheduled:  # type: ignore[attr-defined]  # of asyncio's timers
            return
        self._timers_cancelled += 1
        if self._timers_cancelled >= _SWEEP_MIN and self._timers_cancelled * 2 > len(self._timers):
            self._timers = [one for one in self._timers if not one[2].cancelled()]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    def _run_once(self) -> None:
        """Run what is ready, or jump to the next timer: one turn of the loop, called by asyncio's `run_forever`.

        Takes the place of asyncio's own turn, which asks a selector and compares timers in Python.
        """
        ready, timers, now_us = self._ready, self._timers, self.now_us  # type: ignore[attr-defined]  # of the base
        if ready or self._stopping:  # type: ignore[attr-defined]  # of the base
            self._turns += 1
            if self._turns > self._turns_max:
                self._stuck()
        else:
            now_us = self._jump()
        while timers and timers[0][0] <= now_us:
            timer = heapq.heappop(timers)[2]
            timer._scheduled = False  # type: ignore[attr-defined]  # of asyncio's timers
            if timer._cancelled:
                self._timers_cancelled -= 1
            else:
                ready.append(timer)
        for _ in range(len(ready)):
            handle = ready.popleft()
            if handle._cancelled:
                continue
            try:  # as asyncio's handles do it, without a frame of their own
                handle._context.run(handle._callback, *handle._args)
            except (SystemExit, KeyboardInterrupt):
                raise
            except BaseException as error:
                self._failed(handle, error)

    def _failed(self, handle: asyncio.Handle, error: BaseException) -> None:
        self.call_exception_handler(
            {"message": f"Exception in callback {handle._callback!r}", "exception": error, "handle": handle}  # type: ignore[attr-defined]  # of asyncio's handles
        )

    def _jump(self) -> int:
        """Go to the next timer that is not cancelled and return its time."""
        timers = self._timers
        while timers and timers[0][2]._cancelled:
            heapq.heappop(timers)
            self._timers_cancelled -= 1
        if not timers:
            raise SimulationStalled(
                f"at {self.time():.6f} s nothing is ready and no timer is set; something waits for an event that "
                "nobody will send, or for a thread or socket that virtual time does not have"
            )
        if timers[0][0] > self.now_us:
            self.now_us = timers[0][0]
            self._turns = 0
        else:
            self._turns += 1
            if self._turns > self._turns_max:
                self._stuck()
        return self.now_us

    def _stuck(self) -> NoReturn:
        raise SimulationStuck(
            f"{self._turns_max} turns of the event loop at {self.time():.6f} s without a delay; "
            "look for a loop that retries at once"
        )


class _NoSelector(selectors.BaseSelector):
    """Holds the loop's own wake-up pipe, which nobody asks, and refuses everything else."""

    def __init__(self) -> None:
        self._keys: dict[Any, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        raise AssertionError("virtual time asks no selector")

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
