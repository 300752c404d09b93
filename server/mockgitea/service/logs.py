"""UpdateLog: rows go through bounded mailboxes, are stored in batches, and are acknowledged only when durable.

One mailbox per shard of tasks; each drains all that waits into one intent. A full mailbox makes callers wait, and
past a time budget refuses them; they lose nothing, because they send again from the index they know.
Source: docs/protocol.md, "UpdateLog".
"""

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from mockgitea.core.errors import LimitExceeded, Refusal, ServerFault
from mockgitea.core.messages import LogRow
from mockgitea.core.profiles import Profile
from mockgitea.service.directory import RunnerRecord
from mockgitea.storage import logs
from mockgitea.storage.interface import Store
from mockgitea.storage.logs import LogCall
from mockgitea.supervise import Supervisor

log = structlog.get_logger(__name__)

SHARDS: Final = 4
"""Mailboxes; one noisy task fills only its own."""
MAILBOX_BYTES_MAX: Final = 64 * 1024 * 1024
"""Row content that may wait in one mailbox, beside the limit on rows."""
BATCH_ROWS_MAX: Final = 20_000
"""Most rows in one transaction; a larger call is stored in several."""
ROWS_PER_CALL_MAX: Final = 1_000_000


@dataclass(slots=True, eq=False)
class _Waiting:
    """One call on its way to the store, and who waits for its ack index."""

    call: LogCall
    size: int
    future: "asyncio.Future[int]"

    @property
    def weight(self) -> int:
        """Rows it counts for; an empty final call counts as one."""
        return max(1, len(self.call.rows))


class LogIngestion:
    """Stores log rows.

    Args:
        store: where logs live.
        profile: the imitated server.
        mailbox_rows: rows that may wait in one mailbox before callers wait.
        wait_s: how long a caller waits for room before it is refused.
    """

    def __init__(self, *, store: Store, profile: Profile, mailbox_rows: int, wait_s: float) -> None:
        self._shards = [_Shard(store, profile, mailbox_rows, wait_s) for _ in range(SHARDS)]

    def start(self, supervisor: Supervisor) -> None:
        """Start one consumer loop per mailbox."""
        for number, shard in enumerate(self._shards):
            supervisor.start(shard.run_forever(), name=f"log-ingestion-{number}")

    async def append(
        self, record: RunnerRecord, *, task_id: int, index: int, rows: Sequence[LogRow], no_more: bool
    ) -> int:
        """Answer UpdateLog.

        Args:
            record: the authenticated runner.
            task_id: whose log.
            index: absolute position of the first row.
            rows: what the runner sends; any part of it may be stored already.
            no_more: these are the last rows.

        Returns:
            The ack index: the next row the server wants. Everything before it is durable.

        Raises:
            ServerFault: no such task, another runner's task, or the store failed; the count did not advance.
            LogSealed: fresh rows for a sealed log.
            LimitExceeded: the mailbox stayed full, or the call has more than `ROWS_PER_CALL_MAX` rows.
        """
        if len(rows) > ROWS_PER_CALL_MAX:
            raise LimitExceeded(
                f"rows: at most {ROWS_PER_CALL_MAX} in one call, got {len(rows)}; send fewer at a time", field="rows"
            )
        shard = self._shards[task_id % SHARDS]
        last = max(len(rows) - 1, 0) // BATCH_ROWS_MAX * BATCH_ROWS_MAX
        for start in range(0, last, BATCH_ROWS_MAX):
            part = rows[start : start + BATCH_ROWS_MAX]
            await shard.append(LogCall(task_id, record.id, index + start, part, no_more=False))
        rest = rows[last:] if last else rows
        return await shard.append(LogCall(task_id, record.id, index + last, rest, no_more))

    @property
    def waiting_rows(self) -> int:
        """Rows received and not yet stored."""
        return sum(shard.waiting_rows for shard in self._shards)

    async def settle(self) -> None:
        """Wait until every row that was accepted before this call is durable."""
        for shard in self._shards:
            await shard.settle()


class _Shard:
    """One bounded mailbox and its only consumer."""

    def __init__(self, store: Store, profile: Profile, rows_max: int, wait_s: float) -> None:
        self._store = store
        self._profile = profile
        self._rows_max = rows_max
        self._wait_s = wait_s
        self._mailbox: deque[_Waiting] = deque()
        self._outside: deque[tuple[_Waiting, asyncio.Future[None]]] = deque()
        self._rows = 0
        self._bytes = 0
        self._arrival = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    async def append(self, call: LogCall) -> int:
        """Queue one call and return its ack index once it is durable."""
        size = sum(len(content) for _, content in call.rows)
        waiting = _Waiting(call, size, asyncio.get_running_loop().create_future())
        if self._outside or not self._has_room(waiting):
            await self._wait_outside(waiting)
        else:
            self._enter(waiting)
        return await waiting.future

    @property
    def waiting_rows(self) -> int:
        """Rows in the mailbox."""
        return self._rows

    async def settle(self) -> None:
        """Wait until the mailbox is empty and stored."""
        await self._idle.wait()

    async def run_forever(self) -> None:
        """Store whatever waits, as one batch, again and again."""
        try:
            while True:
                await self._arrival.wait()
                self._arrival.clear()
                while batch := self._take():
                    await self._store_batch(batch)
                    self._let_in()
                self._idle.set()
        finally:
            self._turn_away()

    def _turn_away(self) -> None:
        """Answer whoever is left when the server stops."""
        for waiting in self._mailbox:
            if not waiting.future.done():
                waiting.future.set_exception(ServerFault("the server is stopping"))
        self._mailbox.clear()

    def _has_room(self, waiting: _Waiting) -> bool:
        """An empty mailbox takes any call, so that a call larger than the limit is not refused for ever."""
        if not self._rows:
            return True
        rows, size = self._rows + waiting.weight, self._bytes + waiting.size
        return rows <= self._rows_max and size <= MAILBOX_BYTES_MAX

    def _enter(self, waiting: _Waiting) -> None:
        self._mailbox.append(waiting)
        self._rows += waiting.weight
        self._bytes += waiting.size
        self._arrival.set()
        self._idle.clear()

    async def _wait_outside(self, waiting: _Waiting) -> None:
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        entry = (waiting, admitted)
        self._outside.append(entry)
        try:
            async with asyncio.timeout(self._wait_s):
                await admitted
        except TimeoutError:
            log.warning("log_mailbox_full", task_id=waiting.call.task_id, rows=self._rows)
            raise LimitExceeded(
                f"log rows arrive faster than they are stored and {self._wait_s:g} s of waiting did not help;"
                " send them again"
            ) from None
        finally:
            if entry in self._outside:
                self._outside.remove(entry)
                waiting.future.cancel()

    def _let_in(self) -> None:
        while self._outside and self._has_room(self._outside[0][0]):
            waiting, admitted = self._outside.popleft()
            self._enter(waiting)
            if not admitted.done():
                admitted.set_result(None)

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        rows = 0
        while self._mailbox and (not batch or rows + len(self._mailbox[0].call.rows) <= BATCH_ROWS_MAX):
            waiting = self._mailbox.popleft()
            rows += len(waiting.call.rows)
            batch.append(waiting)
        return batch

    async def _store_batch(self, batch: list[_Waiting]) -> None:
        calls = [waiting.call for waiting in batch]
        try:
            outcomes: Sequence[int | Exception] = await self._store.write(
                partial(logs.append_all, calls=calls, profile=self._profile)
            )
        except Refusal as refusal:
            outcomes = [refusal] * len(batch)
        except Exception as error:  # the consumer goes on for everybody else; each caller hears of it
            log.exception("log_batch_failed", calls=len(batch))
            if len(batch) > 1:
                for waiting in batch:
                    await self._store_batch([waiting])
                return
            outcomes = [error]
        for waiting, outcome in zip(batch, outcomes, strict=True):
            self._rows -= waiting.weight
            self._bytes -= waiting.size
            if waiting.future.done():
                continue
            if isinstance(outcome, Exception):
                waiting.future.set_exception(outcome)
            else:
                waiting.future.set_result(outcome)
