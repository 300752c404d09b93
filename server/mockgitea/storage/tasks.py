"""Task rows as UpdateTask and the ephemeral rules see them: look up, report, age.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from sqlalchemy import RowMapping, bindparam, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.task_progress import StepRow
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job, step, task

_FINAL: Final = tuple(int(status) for status in FINAL)


def find(tx: Tx, task_id: int) -> RowMapping | None:
    """Return the task's row with its run's id as ``run_id``."""
    query = select(task, job.c.run_id).join(job, job.c.id == task.c.job_id).where(task.c.id == task_id)
    return tx.conn.execute(query).mappings().first()


def has_any(tx: Tx, runner_id: int, *, final: bool) -> bool:
    """Tell whether the runner has a task that is final, or one that is not."""
    kind = task.c.status.in_(_FINAL) if final else task.c.status.not_in(_FINAL)
    return tx.conn.execute(select(task.c.id).where(task.c.runner_id == runner_id, kind).limit(1)).first() is not None


def set_columns(tx: Tx, task_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of one task; its "updated" time becomes now."""
    tx.conn.execute(update(task).where(task.c.id == task_id).values(**values, updated_us=tx.now_us))


def steps(tx: Tx, task_id: int) -> list[StepRow]:
    """Return the stored steps in order."""
    query = select(*(step.c[name] for name in StepRow.__slots__)).where(step.c.task_id == task_id)
    rows = tx.conn.execute(query.order_by(step.c.number)).mappings()
    return [StepRow(**{**row, "status": Status(row["status"])}) for row in rows]


def write_steps(tx: Tx, task_id: int, changed: Iterable[StepRow]) -> None:
    """Write steps back."""
    rows = [
        {
            "of_task": task_id,
            "of_number": row.number,
            "new_status": int(row.status),
            "new_index": row.log_index,
            "new_length": row.log_length,
            "new_started": row.started_us,
            "new_stopped": row.stopped_us,
        }
        for row in changed
    ]
    if rows:
        tx.conn.execute(_WRITE_STEP, rows)


_WRITE_STEP: Final = (
    update(step)
    .where(step.c.task_id == bindparam("of_task"), step.c.number == bindparam("of_number"))
    .values(
        status=bindparam("new_status"),
        log_index=bindparam("new_index"),
        log_length=bindparam("new_length"),
        started_us=bindparam("new_started"),
        stopped_us=bindparam("new_stopped"),
    )
)


def age(tx: Tx, task_id: int, by_us: int) -> bool:
    """Make one task older: its created, started and updated times move back; False when there is no such task."""
    moved = {name: task.c[name] - by_us for name in ("created_us", "updated_us", "started_us")}
    return tx.conn.execute(update(task).where(task.c.id == task_id).values(moved)).rowcount == 1
