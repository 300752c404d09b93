"""The queue of waiting jobs as one runner sees it, in pages, oldest first.

The cost depends on the number of waiting jobs only: finished ones are never read.
Source: docs/protocol.md, "FetchTask".
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from sqlalchemy import ColumnElement, Connection, Select, exists, literal_column, or_, select, tuple_

from actionswire.result import FINAL, Status
from mockgitea.core.dispatch import Candidate
from mockgitea.core.profiles import ConcurrencyRule, Profile
from mockgitea.storage.schema import job, repository, run

FIRST_PAGE_ROWS: Final = 10
"""Most claims take one of the first few, and each row read costs the decoding of its labels."""
PAGE_ROWS: Final = 100
_QUERIES_REMEMBERED: Final = 64
"""Built statements, one per runner scope: building one costs more than running it."""
_OPEN: Final = tuple(int(status) for status in Status if status not in FINAL)
_UPDATED_S: Final[ColumnElement[int]] = literal_column("job.updated_us / 1000000")
"""Whole seconds, spelled exactly as in the index `ix_job_queue`."""


@dataclass(frozen=True, slots=True)
class RunnerScope:
    """Whose jobs a runner may take; zeros mean everybody's."""

    owner_id: int
    repo_id: int


def candidates(conn: Connection, scope: RunnerScope, profile: Profile, *, handle: str = "") -> Iterator[Candidate]:
    """Yield the waiting jobs in scope by whole second of their last change, then by id.

    Args:
        conn: the open transaction's connection.
        scope: the runner's.
        profile: says whether jobs of queued runs are left out.
        handle: only the job with this handle, when not empty.
    """
    query = _query(scope, handle, is_forgejo_queue=profile.concurrency is ConcurrencyRule.FORGEJO)
    page, page_rows = query, FIRST_PAGE_ROWS
    while True:
        rows = conn.execute(page).all()
        for row in rows:
            yield Candidate(row.id, tuple(row.runs_on))
        if len(rows) < page_rows:
            return
        cursor = (rows[-1].updated_s, rows[-1].id)
        # The first condition says less than the second, but SQLite can seek in the index with it.
        page = query.where(cursor[0] <= _UPDATED_S, tuple_(_UPDATED_S, job.c.id) > cursor).limit(PAGE_ROWS)
        page_rows = PAGE_ROWS


@lru_cache(maxsize=_QUERIES_REMEMBERED)
def _query(scope: RunnerScope, handle: str, *, is_forgejo_queue: bool) -> Select[int, list[str], int]:
    query = (
        select(job.c.id, job.c.runs_on, _UPDATED_S.label("updated_s"))
        .where(job.c.status == literal_column(str(int(Status.WAITING))), job.c.task_id == 0)
        .order_by(_UPDATED_S, job.c.id)
        .limit(FIRST_PAGE_ROWS)
    )
    if scope.repo_id:
        query = query.where(job.c.repo_id == scope.repo_id)
    elif scope.owner_id:
        with_actions = select(repository.c.id).where(
            repository.c.owner_id == scope.owner_id, repository.c.has_actions.is_(True)
        )
        query = query.where(job.c.owner_id == scope.owner_id, job.c.repo_id.in_(with_actions))
    if handle:
        query = query.where(job.c.handle == handle)
    if is_forgejo_queue:
        query = query.where(~_is_queued())
    return query


def _is_queued() -> ColumnElement[bool]:
    """True for a job whose run queues behind another of its group: one that runs, or an older unfinished one."""
    mine, other = run.alias("mine"), run.alias("other")
    ahead = or_(other.c.status == int(Status.RUNNING), other.c.number < mine.c.number)
    return exists(
        select(mine.c.id)
        .join(other, (other.c.repo_id == mine.c.repo_id) & (other.c.concurrency_group == mine.c.concurrency_group))
        .where(mine.c.id == job.c.run_id, mine.c.concurrency_queues.is_(True), mine.c.concurrency_group != "")
        .where(other.c.id != mine.c.id, other.c.status.in_(_OPEN), ahead)
    )
