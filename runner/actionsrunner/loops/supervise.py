"""Tasks that somebody owns: named, referenced, loud when they fail, and stopped in a known order.

This is the one place of the package that starts asyncio tasks.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

from actionsrunner.edge.clock import Clock

log = structlog.get_logger(__name__)

T = TypeVar("T")


class Supervisor:
    """Owns a group of tasks; the first unexpected failure is remembered and reported to ``on_failure``."""

    def __init__(self, on_failure: Callable[[BaseException], object] | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_failure = on_failure
        self.failure: BaseException | None = None

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str) -> "asyncio.Task[T]":
        """Start ``work`` under ``name`` and keep it until it ends."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    @property
    def running(self) -> int:
        """How many tasks have not ended."""
        return len(self._tasks)

    async def join(self) -> None:
        """Return once every task has ended, including those that are started meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    async def first(self) -> None:
        """Return once any of the tasks has ended."""
        await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)

    def abandon(self) -> None:
        """Cancel every task without waiting for its end."""
        for task in self._tasks:
            task.cancel()

    async def cancel(self) -> None:
        """Cancel every task and wait for all of them; does nothing the second time."""
        self.abandon()
        await self.join()

    def _ended(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        log.error("task_crashed", name=task.get_name(), exc_info=error)
        self.failure = self.failure or error
        if self._on_failure is not None:
            self._on_failure(error)


async def bounded(work: Coroutine[Any, Any, T], *, by: Coroutine[Any, Any, None]) -> T:
    """Return what ``work`` returns, unless ``by`` ends first.

    Raises:
        TimeoutError: ``by`` ended first; ``work`` has been cancelled.
    """
    loop = asyncio.get_running_loop()
    task, limit = loop.create_task(work), loop.create_task(by)
    try:
        await asyncio.wait((task, limit), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise TimeoutError
        return task.result()
    finally:
        task.cancel()
        limit.cancel()
        await asyncio.gather(task, limit, return_exceptions=True)


async def wait_for(event: asyncio.Event, clock: Clock, until_us: int | None) -> None:
    """Return when ``event`` is set or the clock has reached ``until_us``, which sets it too; the caller clears it."""
    if until_us is None or event.is_set():
        await event.wait()
        return
    alarm = clock.alarm(until_us, event.set)
    try:
        await event.wait()
    finally:
        alarm.cancel()
