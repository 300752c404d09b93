"""Named background tasks with an owner: references kept, failures loud, stop idempotent.

The only place that may create raw asyncio tasks; everything else asks a `Supervisor`.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import structlog

log = structlog.get_logger(__name__)

T = TypeVar("T")


class Supervisor:
    """Owns background tasks until `close`.

    Args:
        on_failure: called with the exception when a task fails; the composition root stops the server with it.
    """

    def __init__(self, on_failure: Callable[[BaseException], None] | None = None) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._on_failure = on_failure
        self._closing = False

    def start(self, coroutine: Coroutine[Any, Any, T], *, name: str) -> "asyncio.Task[T]":
        """Run ``coroutine`` as a named task whose failure is logged and reported."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if task.cancelled() or (error := task.exception()) is None:
            return
        log.error("background_task_failed", task=task.get_name(), exc_info=error)
        if self._on_failure is not None and not self._closing:
            self._on_failure(error)

    async def close(self) -> None:
        """Cancel every task and wait for all of them; safe to call twice."""
        self._closing = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
