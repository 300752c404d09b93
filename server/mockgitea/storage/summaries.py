"""Job summaries: the Markdown of each step of a job.

Source: docs/protocol.md, "Job summaries".
"""

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.sqlite import insert

from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job_summary


def put(tx: Tx, *, run_id: int, job_id: int, step: int, body: bytes) -> None:
    """Store the summary of a step in place of the one before; an empty one removes it."""
    place = {"job_id": job_id, "step_number": step}
    if not body:
        where = (job_summary.c.job_id == job_id, job_summary.c.step_number == step)
        tx.conn.execute(delete(job_summary).where(*where))
        return
    statement = insert(job_summary).values(run_id=run_id, body=body, **place)
    tx.conn.execute(statement.on_conflict_do_update(index_elements=list(place), set_={"body": body}))


def size_beside(conn: Connection, *, job_id: int, step: int) -> int:
    """Return the bytes of the summaries of a job's other steps."""
    sizes = select(func.coalesce(func.sum(func.length(job_summary.c.body)), 0))
    found: int = conn.execute(
        sizes.where(job_summary.c.job_id == job_id, job_summary.c.step_number != step)
    ).scalar_one()
    return found


def of_run(conn: Connection, run_id: int) -> dict[int, bytes]:
    """Return the summary of every job of a run that has one, its steps' in order with an empty line in between."""
    query = select(job_summary.c.job_id, job_summary.c.body).where(job_summary.c.run_id == run_id)
    parts: dict[int, list[bytes]] = {}
    for row in conn.execute(query.order_by(job_summary.c.job_id, job_summary.c.step_number)):
        parts.setdefault(row.job_id, []).append(row.body)
    return {job_id: b"\n\n".join(bodies) for job_id, bodies in parts.items()}
