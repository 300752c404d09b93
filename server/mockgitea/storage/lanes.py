"""Where intents and queries run: a connection on the caller's thread, or on a thread of its own behind a queue.

Knows neither tables nor transactions: what runs is given.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import structlog
from sqlalchemy import Connection

from mockgitea.core.errors import LimitExceeded
from mockgitea.storage.batch import Work

log = structlog.get_logger(__name__)

BATCH_MAX: Final = 500
"""Most intents in one transaction, so that the first caller of a burst does not wait for all of it."""

_Pending = tuple[Work, "asyncio.Future[Any]"]


@dataclass(frozen=True, slots=True)
class StoreFigures:
    """What the metrics show of the writer."""

    waiting: int
    """Calls queued for the writer now."""
    batches: int
    """Transactions finished."""
    calls: int
    """Calls that those transactions held; in memory, reads count too."""
    batch_max: int
    """Most calls in one of them."""


class Lane:
    """One connection and what runs on it, in order."""

    def __init__(self, opener: Callable[[], Connection]) -> None:
        self._opener = opener
        self._waiting = 0
        self._batches = 0
        self._calls = 0
        self._batch_max = 0

    @property
    def figures(self) -> StoreFigures:
        """How busy this lane is and was."""
        return StoreFigures(self._waiting, self._batches, self._calls, self._batch_max)

    def _count(self, batch: int, waiting: int) -> None:
        self._waiting = waiting
        self._batches += 1
        self._calls += batch
        self._batch_max = max(self._batch_max, batch)

    async def start(self) -> None:
        """Open the connection."""
        raise NotImplementedError

    async def ask(self, work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by the store
        """Run ``work`` and return its result or raise its error."""
        raise NotImplementedError

    async def close(self) -> None:
        """Finish what is queued and close the connection."""
        raise NotImplementedError


class InlineLane(Lane):
    """Runs everything at once on the caller's thread, one transaction a call."""

    _conn: Connection

    def __init__(self, opener: Callable[[], Connection], run: Callable[[Connection, Work], None]) -> None:
        super().__init__(opener)
        self._run = run

    async def start(self) -> None:
        self._conn = self._opener()

    async def ask(self, work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by the store
        self._run(self._conn, work)
        self._count(1, 0)
        if work.callbacks:
            _run_callbacks(work)
        if work.error is not None:
            raise work.error
        return work.result

    async def close(self) -> None:
        self._conn.close()


class ThreadLane(Lane):
    """A thread fed by a bounded queue; all calls except `_loop_forever` happen on the event loop's thread."""

    def __init__(
        self,
        opener: Callable[[], Connection],
        run: Callable[[Connection, list[Work]], None],
        *,
        name: str,
        limit: int,
        wait_s: float,
    ) -> None:
        super().__init__(opener)
        self._run = run
        self._name = name
        self._wait_s = wait_s
        self._places = asyncio.Semaphore(limit)
        self._limit = limit
        self._queue: queue.SimpleQueue[_Pending | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._loop_forever, args=(opened,), name=self._name, daemon=True)
        self._thread.start()
        await opened

    async def ask(self, work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by the store
        if self._places.locked():
            await self._wait_for_place()
        else:
            await self._places.acquire()
        future: asyncio.Future[Any] = self._loop.create_future()
        self._queue.put((work, future))
        return await future

    async def close(self) -> None:
        self._queue.put(None)
        await self._closed
        assert self._thread is not None, "started"
        self._thread.join()

    async def _wait_for_place(self) -> None:
        try:
            async with asyncio.timeout(self._wait_s):
                await self._places.acquire()
        except TimeoutError:
            raise LimitExceeded(
                f"store: {self._limit} calls are waiting for the database and none finished within {self._wait_s:g} s;"
                " try again"
            ) from None

    def _loop_forever(self, opened: "asyncio.Future[None]") -> None:
        try:
            conn = self._opener()
        except Exception as error:  # noqa: BLE001,RUF100 - re-raised in start() on the loop's thread
            self._loop.call_soon_threadsafe(opened.set_exception, error)
            return
        self._loop.call_soon_threadsafe(opened.set_result, None)
        while batch := self._take():
            try:
                self._run(conn, [work for work, _ in batch])
            except Exception as error:  # the outermost loop: callers hear of it and the thread goes on
                log.exception("store_batch_failed")
                for work, _ in batch:
                    work.error = error
            self._loop.call_soon_threadsafe(self._deliver, batch)
        conn.close()
        self._loop.call_soon_threadsafe(self._closed.set_result, None)

    def _take(self) -> list[_Pending]:
        """Wait for one call, then take what else is queued; empty when the lane is closing."""
        first = self._queue.get()
        if first is None:
            return []
        batch = [first]
        while len(batch) < BATCH_MAX:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                self._queue.put(None)
                break
            batch.append(following)
        return batch

    def _deliver(self, batch: list[_Pending]) -> None:
        self._count(len(batch), self._queue.qsize())
        for work, future in batch:
            self._places.release()
            _run_callbacks(work)
            if future.done():
                continue
            if work.error is not None:
                future.set_exception(work.error)
            else:
                future.set_result(work.result)


def _run_callbacks(work: Work) -> None:
    """Bring memory up to date with what was committed, before the caller resumes."""
    for callback in work.callbacks:
        try:
            callback()
        except Exception:  # the data is safe already; one broken listener must not strand the caller
            log.exception("store_callback_failed")
