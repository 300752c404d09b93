"""Log rows on disk: append whole calls in one go, read any slice, read everything.

One `log_chunk` row holds the lines of one call (or a part of it), so an append is one insert and a download is a
concatenation.
Source: docs/protocol.md, "UpdateLog".
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from sqlalchemy import Connection, func, select

from mockgitea.core.errors import LogSealed, Refusal, ServerFault
from mockgitea.core.log_append import judge
from mockgitea.core.logformat import format_rows
from mockgitea.core.messages import LogRow
from mockgitea.core.profiles import Profile
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import log_chunk

CHUNK_ROWS_MAX: Final = 1000
"""Most rows in one chunk, so that reading one row never loads a whole huge call."""

_Chunk = tuple[int, int, int, bytes, int]
"""The columns of a `log_chunk` row."""


class LogCall(NamedTuple):
    """One UpdateLog call of a runner."""

    task_id: int
    runner_id: int
    index: int  # type: ignore[assignment]  # hides a method of tuples that nobody calls here
    rows: Sequence[LogRow]
    no_more: bool


@dataclass(slots=True)
class _Log:
    """A task's log while a batch is applied."""

    runner_id: int
    held: int
    size: int
    is_sealed: bool
    is_changed: bool = False


def append_all(tx: Tx, calls: Sequence[LogCall], *, profile: Profile) -> list[int | Refusal]:
    """Apply calls in order: one look-up, one insert of chunks and one update of tasks for all of them together.

    Returns:
        For each call its ack index, or the refusal to raise at its caller.
    """
    if len(calls) == 1:
        return [_append_one(tx, calls[0], profile)]
    logs = _load(tx.driver, {call.task_id for call in calls})
    chunks: list[_Chunk] = []
    outcomes = [_append(call, logs.get(call.task_id), chunks, profile, tx.now_us) for call in calls]
    if chunks:
        tx.driver.executemany(_INSERT_CHUNK, chunks)
    changed = [
        (log.held, log.size, log.is_sealed, tx.now_us, task_id) for task_id, log in logs.items() if log.is_changed
    ]
    if changed:
        tx.driver.executemany(_UPDATE_TASK, changed)
    return outcomes


def _append_one(tx: Tx, call: LogCall, profile: Profile) -> int | Refusal:
    """Do what `append_all` does for a call that comes alone, as it does where nothing waits for the writer."""
    driver = tx.driver
    row = driver.execute(_SELECT_LOG, (call.task_id,)).fetchone()
    log = None if row is None else _Log(row[1], row[2], row[3], bool(row[4]))
    chunks: list[_Chunk] = []
    outcome = _append(call, log, chunks, profile, tx.now_us)
    if log is not None and log.is_changed:
        for chunk in chunks:
            driver.execute(_INSERT_CHUNK, chunk)
        driver.execute(_UPDATE_TASK, (log.held, log.size, log.is_sealed, tx.now_us, call.task_id))
    return outcome


def read_rows(conn: Connection, task_id: int, first: int, count: int) -> list[bytes]:
    """Return up to ``count`` stored lines from row ``first`` on, without their line feeds."""
    if count <= 0:
        return []
    first = max(first, 0)
    of_task = log_chunk.c.task_id == task_id
    start = select(func.max(log_chunk.c.first_row)).where(of_task, log_chunk.c.first_row <= first).scalar_subquery()
    query = (
        select(log_chunk.c.first_row, log_chunk.c.body)
        .where(of_task, log_chunk.c.first_row >= func.coalesce(start, 0), log_chunk.c.first_row < first + count)
        .order_by(log_chunk.c.first_row)
    )
    lines: list[bytes] = []
    for row in conn.execute(query):
        of_chunk = row.body.split(b"\n")[:-1]
        lines += of_chunk[max(first - row.first_row, 0) :]
    return lines[:count]


def read_text(conn: Connection, task_id: int) -> Iterator[bytes]:
    """Yield the whole log in parts, each some complete lines; the connection must stay open meanwhile."""
    query = select(log_chunk.c.body).where(log_chunk.c.task_id == task_id).order_by(log_chunk.c.first_row)
    for row in conn.execute(query):
        yield row.body


def _load(driver: sqlite3.Connection, task_ids: Iterable[int]) -> dict[int, _Log]:
    ids = sorted(task_ids)
    rows = driver.execute(_SELECT_LOGS, (json.dumps(ids),))
    return {row[0]: _Log(row[1], row[2], row[3], bool(row[4])) for row in rows}


def _append(call: LogCall, log: _Log | None, chunks: list[_Chunk], profile: Profile, now_us: int) -> int | Refusal:
    if log is None:
        return ServerFault(f"get task: task with id {call.task_id}: resource does not exist")
    if log.runner_id != call.runner_id and profile.requires_task_owner:
        return ServerFault("invalid runner for task")
    if not call.rows and not call.no_more:
        return log.held  # what the rules say of it in any case
    verdict = judge(
        held=log.held,
        sealed=log.is_sealed,
        index=call.index,
        count=len(call.rows),
        no_more=call.no_more,
        rule=profile.log_seal,
    )
    if verdict.is_refused:
        return LogSealed()
    for start in range(verdict.skip, verdict.skip + verdict.take, CHUNK_ROWS_MAX):
        rows = call.rows[start : start + CHUNK_ROWS_MAX]
        body = format_rows(rows)
        chunks.append((call.task_id, log.held, len(rows), body, now_us))
        log.held += len(rows)
        log.size += len(body)
    log.is_sealed = log.is_sealed or verdict.seals
    log.is_changed = log.is_changed or verdict.take > 0 or verdict.seals
    return verdict.ack_index


# The hot path: plain SQL skips the expression compiler, which would cost more than the statements themselves.
_SELECT_LOG: Final = "SELECT id, runner_id, log_rows, log_bytes, is_log_sealed FROM task WHERE id = ?"
_SELECT_LOGS: Final = (
    "SELECT id, runner_id, log_rows, log_bytes, is_log_sealed FROM task WHERE id IN (SELECT value FROM json_each(?))"
)
_INSERT_CHUNK: Final = "INSERT INTO log_chunk (task_id, first_row, row_count, body, stored_us) VALUES (?, ?, ?, ?, ?)"
_UPDATE_TASK: Final = "UPDATE task SET log_rows = ?, log_bytes = ?, is_log_sealed = ?, updated_us = ? WHERE id = ?"
