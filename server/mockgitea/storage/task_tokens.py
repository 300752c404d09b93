"""Which task a caller speaks for: the lookup behind a task's own token and behind its runtime token."""

from typing import NamedTuple

from sqlalchemy import Connection, select

from actionswire.result import Status
from mockgitea.core.secret_hash import last_eight, token_matches
from mockgitea.storage.schema import job, run_attempt, step, task


class TaskPlace(NamedTuple):
    """Where a task belongs. ``attempt_id`` is the row of the run's attempt; 0 where there are none."""

    task_id: int
    job_id: int
    run_id: int
    attempt_id: int
    status: Status


def by_token(conn: Connection, token: str) -> TaskPlace | None:
    """Return the task that was handed out with this token; None when there is none."""
    query = select(task.c.id, task.c.token_salt, task.c.token_hash).where(task.c.token_last_eight == last_eight(token))
    for row in conn.execute(query):
        if token_matches(token, row.token_salt, row.token_hash):
            return by_id(conn, row.id)
    return None


def by_id(conn: Connection, task_id: int) -> TaskPlace | None:
    """Return where the task belongs; None when there is no such task."""
    query = (
        select(task.c.id, task.c.job_id, job.c.run_id, run_attempt.c.id.label("attempt_id"), task.c.status)
        .join(job, job.c.id == task.c.job_id)
        .outerjoin(run_attempt, (run_attempt.c.run_id == job.c.run_id) & (run_attempt.c.number == job.c.attempt))
        .where(task.c.id == task_id)
    )
    row = conn.execute(query).first()
    return None if row is None else TaskPlace(row.id, row.job_id, row.run_id, row.attempt_id or 0, Status(row.status))


def step_numbers(conn: Connection, task_id: int) -> frozenset[int]:
    """Return the numbers of the task's steps."""
    return frozenset(conn.execute(select(step.c.number).where(step.c.task_id == task_id)).scalars())
