"""Read needed jobs with the outputs of the tasks that stand for them."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, RowMapping, select

from actionswire.result import Status
from mockgitea.core.needs import Needed, Sibling
from mockgitea.storage.schema import job, task_output


def load_needed(conn: Connection, run_id: int, job_ids: Iterable[str]) -> Needed:
    """Return the latest rows of these job ids of a run, in row order.

    Args:
        conn: an open connection.
        run_id: the run.
        job_ids: ids in the workflow; one without rows has none.
    """
    names = tuple(job_ids)
    query = select(job).where(job.c.run_id == run_id, job.c.is_latest.is_(True), job.c.job_id.in_(names))
    return needed_among(conn, conn.execute(query.order_by(job.c.id)).mappings().all(), names)


def needed_among(conn: Connection, rows: Sequence[RowMapping], job_ids: Iterable[str]) -> Needed:
    """Pick the rows of these job ids out of a run's job rows, with their outputs."""
    found: dict[str, list[Sibling]] = {job_id: [] for job_id in job_ids}
    for row in rows:
        if row["job_id"] in found:
            task_id = row["task_id"] or row["source_task_id"]
            found[row["job_id"]].append(
                Sibling(
                    status=Status(row["status"]),
                    continues_on_error=row["continues_on_error"],
                    has_task=bool(task_id),
                    outputs=_outputs(conn, task_id) if task_id else {},
                )
            )
    return found


def _outputs(conn: Connection, task_id: int) -> dict[str, str]:
    query = select(task_output.c.key, task_output.c.value).where(task_output.c.task_id == task_id)
    return {row.key: row.value for row in conn.execute(query.order_by(task_output.c.key))}
