"""UpdateLog: rows go through bounded mailboxes, are stored in batches, and are acknowledged only when durable.

One mailbox per shard of tasks, so that a noisy task fills only its own; one consumer drains them all into one intent.
A full mailbox makes callers wait, and past a time budget refuses them; they lose nothing, because they send again from
the index they know.
Source: docs/protocol.md, "UpdateLog".
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

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
    rows: int
    """Rows it counts for; an empty final call counts as one."""
    size: int
    future: "asyncio.Future[int]"
    mailbox: "_Mailbox"

    def answer(self, outcome: int | Exception) -> None:
        """Hand over the ack index or the refusal, unless the caller has gone away."""
        if self.future.done():
            return
        if isinstance(outcome, Exception):
            self.future.set_exception(outcome)
        else:
            self.future.set_result(outcome)


class LogIngestion:
    """Stores log rows.

    Args:
        store: where logs live.
        profile: the imitated server.
        mailbox_rows: rows that may wait in one mailbox before callers wait.
        wait_s: how long a caller waits for room before it is refused.
    """

    def __init__(self, *, store: Store, profile: Profile, mailbox_rows: int, wait_s: float) -> None:
        self._store = store
        self._profile = profile
        self._arrival = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._mailboxes = [_Mailbox(mailbox_rows, wait_s, self._stir) for _ in range(SHARDS)]

    def start(self, supervisor: Supervisor) -> None:
        """Start the consumer."""
        supervisor.start(self._run_forever(), name="log-ingestion")

    def append(
        self, record: RunnerRecord, *, task_id: int, index: int, rows: Sequence[LogRow], no_more: bool
    ) -> Coroutine[Any, Any, int]:
        """Answer UpdateLog; await the result for the ack index.

        A plain function, because every row of every task passes here and one coroutine less is felt.

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
        call = LogCall(task_id, record.id, index, rows, no_more)
        if self._store.is_inline and len(rows) <= BATCH_ROWS_MAX:
            return self._append_inline(call)
        mailbox = self._mailboxes[task_id % SHARDS]
        return mailbox.append(call) if len(rows) <= BATCH_ROWS_MAX else self._append_parts(mailbox, call)

    @property
    def waiting_rows(self) -> int:
        """Rows received and not yet stored."""
        return sum(mailbox.waiting_rows for mailbox in self._mailboxes)

    async def settle(self) -> None:
        """Wait until every row that was accepted before this call is durable."""
        await self._idle.wait()

    async def _append_inline(self, call: LogCall) -> int:
        """Store one call without a mailbox: where no call waits for the writer, there is nothing to be collected.

        It gives way before and after, as a call on its way through a mailbox does, so that what else happens at the
        same instant comes in the same order.
        """
        await asyncio.sleep(0)
        [outcome] = await self._store.write(partial(logs.append_all, calls=(call,), profile=self._profile))
        await asyncio.sleep(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @staticmethod
    async def _append_parts(mailbox: "_Mailbox", whole: LogCall) -> int:
        """Queue a call that is too large for one transaction piece by piece; each waits for the one before it."""
        last = (len(whole.rows) - 1) // BATCH_ROWS_MAX * BATCH_ROWS_MAX
        for start in range(0, last, BATCH_ROWS_MAX):
            part = whole.rows[start : start + BATCH_ROWS_MAX]
            await mailbox.append(whole._replace(index=whole.index + start, rows=part, no_more=False))
        return await mailbox.append(whole._replace(index=whole.index + last, rows=whole.rows[last:]))

    def _stir(self) -> None:
        self._idle.clear()
        self._arrival.set()

    async def _run_forever(self) -> None:
        """Store whatever waits, as one batch, again and again."""
        try:
            while True:
                await self._arrival.wait()
                self._arrival.clear()
                while batch := self._take():
                    await self._store_batch(batch)
                    for mailbox in self._mailboxes:
                        mailbox.let_in()
                self._idle.set()
        finally:
            for mailbox in self._mailboxes:
                mailbox.turn_away()

    def _take(self) -> list[_Waiting]:
        batch: list[_Waiting] = []
        for mailbox in self._mailboxes:
            batch += mailbox.take(BATCH_ROWS_MAX // SHARDS)
        return batch

    async def _store_batch(self, batch: list[_Waiting]) -> None:
        calls = [waiting.call for waiting in batch]
        try:
            outcomes: Sequence[int | Exception] = await self._store.write(
                partial(logs.append_all, calls=calls, profile=self._profile)
            )
        except asyncio.CancelledError:
            for waiting in batch:
                waiting.answer(ServerFault("the server is stopping"))
            raise
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
            waiting.mailbox.leave(waiting)
            waiting.answer(outcome)


class _Mailbox:
    """Calls that wait to be stored, bounded in rows and bytes, and callers that wait for room."""

    def __init__(self, rows_max: int, wait_s: float, stir: Callable[[], None]) -> None:
        self._rows_max = rows_max
        self._wait_s = wait_s
        self._stir = stir
        self._inside: deque[_Waiting] = deque()
        self._outside: deque[tuple[_Waiting, asyncio.Future[None]]] = deque()
        self._rows = 0
        self._bytes = 0

    @property
    def waiting_rows(self) -> int:
        """Rows inside that are not stored yet."""
        return self._rows

    async def append(self, call: LogCall) -> int:
        """Queue one call and return its ack index once it is durable."""
        size = sum([len(content) for _, content in call.rows])
        waiting = _Waiting(call, max(1, len(call.rows)), size, asyncio.get_running_loop().create_future(), self)
        if self._outside or not self._has_room(waiting):
            await self._wait_outside(waiting)
        else:
            self._enter(waiting)
        return await waiting.future

    def take(self, rows_max: int) -> list[_Waiting]:
        """Remove calls of about ``rows_max`` rows, at least one, oldest first; they count until `leave`."""
        taken: list[_Waiting] = []
        while self._inside and (not taken or rows_max >= self._inside[0].rows):
            waiting = self._inside.popleft()
            rows_max -= waiting.rows
            taken.append(waiting)
        return taken

    def leave(self, waiting: _Waiting) -> None:
        """Make room: a call that was taken has its answer."""
        self._rows -= waiting.rows
        self._bytes -= waiting.size

    def let_in(self) -> None:
        """Admit callers that now have room, oldest first."""
        while self._outside and self._has_room(self._outside[0][0]):
            waiting, admitted = self._outside.popleft()
            self._enter(waiting)
            if not admitted.done():
                admitted.set_result(None)

    def turn_away(self) -> None:
        """Answer whoever is left when the server stops."""
        for waiting in self._inside:
            waiting.answer(ServerFault("the server is stopping"))
        self._inside.clear()

    def _has_room(self, waiting: _Waiting) -> bool:
        """An empty mailbox takes any call, so that a call larger than the limit is not refused for ever."""
        if not self._rows:
            return True
        rows, size = self._rows + waiting.rows, self._bytes + waiting.size
        return rows <= self._rows_max and size <= MAILBOX_BYTES_MAX

    def _enter(self, waiting: _Waiting) -> None:
        self._inside.append(waiting)
        self._rows += waiting.rows
        self._bytes += waiting.size
        self._stir()

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
