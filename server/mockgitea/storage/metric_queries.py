"""What a scrape reads from the database: counts by status and the queue. Served by indexes alone."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, select

from actionswire.result import Status
from mockgitea.storage.schema import job, task


@dataclass(frozen=True, slots=True)
class Counts:
    """Rows by status, and the waiting jobs that no runner has."""

    jobs: dict[Status, int]
    tasks: dict[Status, int]
    queued: int
    oldest_us: int
    """Since when the oldest queued job waits; 0 when there is none."""


def counts(conn: Connection) -> Counts:
    """Count once."""
    jobs = conn.execute(select(job.c.status, func.count()).group_by(job.c.status)).all()
    tasks = conn.execute(select(task.c.status, func.count()).group_by(task.c.status)).all()
    is_queued = (job.c.status == Status.WAITING) & (job.c.task_id == 0)
    queued, oldest = conn.execute(select(func.count(), func.min(job.c.updated_us)).where(is_queued)).one()
    return Counts(
        jobs={Status(status): number for status, number in jobs},
        tasks={Status(status): number for status, number in tasks},
        queued=queued,
        oldest_us=oldest or 0,
    )
