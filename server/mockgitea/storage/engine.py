"""The SQL store: one writer with natural group commit, readers beside it, threaded or inline.

Threaded, a writer thread takes everything that is queued, commits once, hands all results back in one call to the
loop, and repeats; the batch grows by itself while a commit runs. Inline, the same code runs on the caller's thread,
which virtual time needs. Knows no table and no rule: intents and queries bring those.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import structlog
from sqlalchemy import Connection

from mockgitea.clock import Clock
from mockgitea.core.errors import LimitExceeded, ServerFault
from mockgitea.storage.batch import Work, run_read, run_writes
from mockgitea.storage.database import DatabaseFile, open_schema
from mockgitea.storage.interface import Tx

log = structlog.get_logger(__name__)

T = TypeVar("T")

BATCH_MAX: Final = 500
"""Most intents in one transaction, so that the first caller of a burst does not wait for all of it."""
MAILBOX_DEFAULT: Final = 10_000
WAIT_S_DEFAULT: Final = 10.0

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


class SqlStore:
    """A `Store` on SQLite.

    Args:
        path: database file or ``:memory:``.
        clock: gives intents their one time.
        inline: run everything on the caller's thread; for virtual time.
        mailbox: most calls queued before callers wait.
        wait_s: how long a caller waits for a place in a full mailbox before it is refused.
    """

    def __init__(
        self,
        path: str,
        *,
        clock: Clock,
        inline: bool = False,
        mailbox: int = MAILBOX_DEFAULT,
        wait_s: float = WAIT_S_DEFAULT,
    ) -> None:
        self._file = DatabaseFile(path)
        self._clock = clock
        self._inline = inline
        self._limit = mailbox
        self._wait_s = wait_s
        self._subscribers: dict[type, list[Callable[[Any], None]]] = {}
        self._writer: _Lane | None = None
        self._reader: _Lane | None = None
        self._is_open = False
        self.starts_before = 0
        """How often this database was opened before; known after `start`."""

    def subscribe(self, kind: type[T], subscriber: Callable[[T], None]) -> None:
        """Call ``subscriber`` with each committed fact of type ``kind``."""
        self._subscribers.setdefault(kind, []).append(subscriber)

    async def start(self) -> None:
        """Open the database, create or check the schema; raises `ValueError` naming the remedy when it cannot."""
        if self._is_open:
            return
        self._file.claim()
        try:
            writer = self._lane("store-writer", self._open_writer)
            await writer.start()
            self._writer = writer
            if self._file.is_memory or self._inline:
                self._reader = writer
            else:
                self._reader = self._lane("store-reader", self._open_reader)
                await self._reader.start()
        except BaseException:
            self._file.release()
            raise
        self._is_open = True

    async def write(self, intent: Callable[[Tx], T]) -> T:
        """Run ``intent`` in a transaction and return its result after the commit."""
        result: T = await self._ask(self._writer, Work(intent, self._clock.now_us(), is_read=False))
        return result

    async def read(self, query: Callable[[Connection], T]) -> T:
        """Run ``query`` on a reader connection: a consistent snapshot, no writes."""
        result: T = await self._ask(self._reader, Work(query, self._clock.now_us(), is_read=True))
        return result

    def figures(self) -> StoreFigures:
        """Return how busy the writer is and was."""
        return StoreFigures(0, 0, 0, 0) if self._writer is None else self._writer.figures

    async def close(self) -> None:
        """Finish what is queued, commit, close; safe to call twice."""
        if not self._is_open:
            return
        self._is_open = False
        assert self._writer is not None, "open"
        assert self._reader is not None, "open"
        if self._reader is not self._writer:
            await self._reader.close()
        await self._writer.close()
        self._file.release()

    async def _ask(self, lane: "_Lane | None", work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by read and write
        if lane is None or not self._is_open:
            raise ServerFault("store: the server is not running")
        return await lane.ask(work)

    def _lane(self, name: str, opener: Callable[[], Connection]) -> "_Lane":
        if self._inline:
            return _InlineLane(opener, self._run)
        return _ThreadLane(opener, self._run, name=name, limit=self._limit, wait_s=self._wait_s)

    def _open_writer(self) -> Connection:
        conn, self.starts_before = open_schema(self._file.engine(role="writer"), self._file.path)
        return conn

    def _open_reader(self) -> Connection:
        return self._file.engine(role="reader").connect()

    def _run(self, conn: Connection, works: list[Work]) -> None:
        run_writes(conn, [work for work in works if not work.is_read], self._subscribers)
        for work in works:
            if work.is_read:
                run_read(conn, work)


class _Lane:
    """One connection and what runs on it, in order."""

    def __init__(self, opener: Callable[[], Connection], run: Callable[[Connection, list[Work]], None]) -> None:
        self._opener = opener
        self._run = run
        self.figures = StoreFigures(0, 0, 0, 0)

    def _count(self, batch: int, waiting: int) -> None:
        seen = self.figures
        self.figures = StoreFigures(waiting, seen.batches + 1, seen.calls + batch, max(seen.batch_max, batch))

    async def start(self) -> None:
        """Open the connection."""
        raise NotImplementedError

    async def ask(self, work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by the store
        """Run ``work`` and return its result or raise its error."""
        raise NotImplementedError

    async def close(self) -> None:
        """Finish what is queued and close the connection."""
        raise NotImplementedError


class _InlineLane(_Lane):
    """Runs everything at once on the caller's thread, one transaction a call."""

    _conn: Connection

    async def start(self) -> None:
        self._conn = self._opener()

    async def ask(self, work: Work) -> Any:  # noqa: ANN401,RUF100 - typed by the store
        self._run(self._conn, [work])
        self._count(1, 0)
        _run_callbacks(work)
        if work.error is not None:
            raise work.error
        return work.result

    async def close(self) -> None:
        self._conn.close()


class _ThreadLane(_Lane):
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
        super().__init__(opener, run)
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
