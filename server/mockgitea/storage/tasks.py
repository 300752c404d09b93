"""Task rows as UpdateTask and the ephemeral rules see them: look up, report, age.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from sqlalchemy import bindparam, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.task_progress import StepRow
from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared
from mockgitea.storage.schema import job, step, task

_FINAL: Final = tuple(int(status) for status in FINAL)
_STATUSES: Final = {int(status): status for status in Status}
"""Looked up, because calling an enumeration costs more than the rest of reading a row."""


class TaskHead(NamedTuple):
    """What a report needs to know of its task."""

    runner_id: int
    job_id: int
    run_id: int
    status: Status


def find(tx: Tx, task_id: int) -> TaskHead | None:
    """Return what is known of the task; None when there is none."""
    row = _FIND.first(tx.driver, task_id=task_id)
    return None if row is None else TaskHead(row[0], row[1], row[2], _STATUSES[row[3]])


def has_any(tx: Tx, runner_id: int, *, final: bool) -> bool:
    """Tell whether the runner has a task that is final, or one that is not."""
    kind = task.c.status.in_(_FINAL) if final else task.c.status.not_in(_FINAL)
    return tx.conn.execute(select(task.c.id).where(task.c.runner_id == runner_id, kind).limit(1)).first() is not None


def touch(tx: Tx, task_id: int) -> None:
    """Note a sign of life: the task's "updated" time becomes now."""
    _TOUCH.run(tx.driver, task_id=task_id, now=tx.now_us)


def touch_if(tx: Tx, task_id: int, head: TaskHead) -> bool:
    """Note a sign of life of a task of which ``head`` is still true; False, and nothing is written, otherwise."""
    return (
        _TOUCH_IF.run(
            tx.driver,
            task_id=task_id,
            of_runner=head.runner_id,
            of_job=head.job_id,
            held_status=int(head.status),
            now=tx.now_us,
        )
        == 1
    )


def set_columns(tx: Tx, task_id: int, values: Mapping[str, Any]) -> None:
    """Set columns of one task; its "updated" time becomes now."""
    tx.conn.execute(update(task).where(task.c.id == task_id).values(**values, updated_us=tx.now_us))


def steps(tx: Tx, task_id: int) -> list[StepRow]:
    """Return the stored steps in order."""
    return [
        StepRow(number, _STATUSES[status], *rest) for number, status, *rest in _STEPS.all(tx.driver, of_task=task_id)
    ]


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
        _WRITE_STEP.run_many(tx.driver, rows)


_FIND: Final = Prepared(
    select(task.c.runner_id, task.c.job_id, job.c.run_id, task.c.status)
    .join(job, job.c.id == task.c.job_id)
    .where(task.c.id == bindparam("task_id"))
)
_TOUCH: Final = Prepared(update(task).where(task.c.id == bindparam("task_id")).values(updated_us=bindparam("now")))
_TOUCH_IF: Final = Prepared(
    update(task)
    .where(
        task.c.id == bindparam("task_id"),
        task.c.runner_id == bindparam("of_runner"),
        task.c.job_id == bindparam("of_job"),
        task.c.status == bindparam("held_status"),
    )
    .values(updated_us=bindparam("now"))
)
_STEPS: Final = Prepared(
    select(*(step.c[name] for name in StepRow._fields))
    .where(step.c.task_id == bindparam("of_task"))
    .order_by(step.c.number)
)
_WRITE_STEP: Final = Prepared(
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
