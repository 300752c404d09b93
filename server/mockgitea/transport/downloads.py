"""Log downloads: every stored row of a task, exactly as stored, streamed part by part.

Source: docs/protocol.md, "Page".
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from sqlalchemy import Connection
from starlette.responses import Response, StreamingResponse

from mockgitea.core.errors import NotFound
from mockgitea.core.profiles import Profile
from mockgitea.storage import page_queries
from mockgitea.storage.interface import Store
from mockgitea.transport.page_target import Target

CHUNKS_PER_PART: Final = 64
"""Stored chunks read in one go; a download never holds the whole log in memory."""


@dataclass(frozen=True, slots=True)
class LogFile:
    """One task's log as it stood when the download began."""

    task_id: int
    rows: int
    size_bytes: int
    filename: str


def log_file(conn: Connection, profile: Profile, target: Target) -> LogFile:
    """Return what a download of this job's log holds.

    Raises:
        NotFound: no task yet, the log is expired, or (Gitea) no row is stored yet.
    Source: docs/protocol.md, "Page".
    """
    task = target.task
    if target.job is None or task is None:
        raise NotFound("log: the job has not started")
    if task.row["is_log_expired"]:
        raise NotFound("log: it has been cleaned up")
    if profile.log_download_needs_row and not task.log.log_rows:
        raise NotFound("log: nothing is stored yet")
    task_id = task.row["id"]
    workflow_file = target.view.run["workflow_file"]
    stem = workflow_file.partition(".")[0] or workflow_file
    return LogFile(
        task_id=task_id,
        rows=task.log.log_rows,
        size_bytes=page_queries.log_size(conn, task_id, task.log.log_rows),
        filename=f"{stem}-{target.job['name']}-{task_id}.log",
    )


def log_response(store: Store, file: LogFile) -> Response:
    """Return the download itself."""
    return StreamingResponse(
        _parts(store, file),
        media_type="text/plain; charset=utf-8",
        headers={
            "content-length": str(file.size_bytes),
            "content-disposition": _attachment(file.filename),
            "x-content-type-options": "nosniff",
        },
    )


async def _parts(store: Store, file: LogFile) -> AsyncIterator[bytes]:
    first = 0
    while first < file.rows:
        begin = first

        def read(conn: Connection, begin: int = begin) -> tuple[bytes, int]:
            return page_queries.read_log_part(conn, file.task_id, begin, file.rows, chunks=CHUNKS_PER_PART)

        body, first = await store.read(read)
        if first == begin:
            return
        yield body


def _attachment(filename: str) -> str:
    plain = "".join(letter if letter.isascii() and letter.isprintable() else "_" for letter in filename)
    plain = plain.replace("\\", "_").replace('"', "_")
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
