"""The SQL store: one writer with natural group commit, readers beside it, threaded or inline.

Threaded, a writer thread takes everything that is queued, commits once, hands all results back in one call to the
loop, and repeats; the batch grows by itself while a commit runs. Inline, the same code runs on the caller's thread,
which virtual time needs. Knows no table and no rule: intents and queries bring those.
"""

from collections.abc import Callable, Coroutine
from typing import Any, Final, TypeVar

from sqlalchemy import Connection

from mockgitea.clock import Clock
from mockgitea.core.errors import ServerFault
from mockgitea.storage.batch import Work, run_read, run_write, run_writes
from mockgitea.storage.database import DatabaseFile, open_schema
from mockgitea.storage.interface import Tx
from mockgitea.storage.lanes import InlineLane, Lane, StoreFigures, ThreadLane

T = TypeVar("T")

MAILBOX_DEFAULT: Final = 10_000
WAIT_S_DEFAULT: Final = 10.0


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
        self._writer: Lane | None = None
        self._reader: Lane | None = None
        self._is_open = False
        self.starts_before = 0
        """How often this database was opened before; known after `start`."""

    @property
    def is_inline(self) -> bool:
        """True when intents run on the caller's thread, so that nothing ever waits for the writer."""
        return self._inline

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

    def write(self, intent: Callable[[Tx], T]) -> Coroutine[Any, Any, T]:
        """Run ``intent`` in a transaction; await its result, which comes after the commit."""
        return self._ask(self._writer, Work(intent, self._clock.now_us(), is_read=False))

    def read(self, query: Callable[[Connection], T]) -> Coroutine[Any, Any, T]:
        """Run ``query`` on a reader connection: a consistent snapshot, no writes."""
        return self._ask(self._reader, Work(query, self._clock.now_us(), is_read=True))

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

    def _ask(self, lane: "Lane | None", work: Work) -> Coroutine[Any, Any, Any]:
        if lane is None or not self._is_open:
            raise ServerFault("store: the server is not running")
        return lane.ask(work)

    def _lane(self, name: str, opener: Callable[[], Connection]) -> "Lane":
        if self._inline:
            return InlineLane(opener, self._run_one)
        return ThreadLane(opener, self._run, name=name, limit=self._limit, wait_s=self._wait_s)

    def _open_writer(self) -> Connection:
        conn, self.starts_before = open_schema(self._file.engine(role="writer"), self._file.path)
        return conn

    def _open_reader(self) -> Connection:
        return self._file.engine(role="reader").connect()

    def _run_one(self, conn: Connection, work: Work) -> None:
        if work.is_read:
            run_read(conn, work)
        else:
            run_write(conn, work, self._subscribers)

    def _run(self, conn: Connection, works: list[Work]) -> None:
        run_writes(conn, [work for work in works if not work.is_read], self._subscribers)
        for work in works:
            if work.is_read:
                run_read(conn, work)
