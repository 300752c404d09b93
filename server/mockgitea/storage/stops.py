"""The server itself stops a task: cancel by a person, reaping of a zombie or endless one.

Source: docs/protocol.md, "Statuses" and docs/state-machines.md, "Task".
"""

from typing import Any, Final

from sqlalchemy import RowMapping, bindparam, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.profiles import Profile
from mockgitea.core.task_times import whole_seconds
from mockgitea.core.transitions import TASK, origins
from mockgitea.storage import jobs, runners
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import runner, step, task

_FINAL: Final = tuple(int(status) for status in FINAL)


def stop_task(tx: Tx, task_id: int, status: Status, *, profile: Profile, seal: bool = False) -> Status | None:
    """Stop a task without its runner: unfinished steps, job and run follow, an ephemeral runner is removed.

    Args:
        tx: the open transaction.
        task_id: the task.
        status: a final one, or `Status.CANCELLING` to let a runner that can do so run its post steps first; a
            runner that cannot, or is gone, is cancelled at once. A task that is cancelling ends as cancelled
            whatever final status is asked for.
        profile: the imitated server.
        seal: also move the log to storage if it holds rows, as reaping does and cancelling does not.

    Returns:
        The task's status afterwards; None when it was final already or a second cancel changed nothing.
    """
    row = tx.conn.execute(select(task).where(task.c.id == task_id)).mappings().first()
    if row is None or row["status"] in _FINAL:
        return None
    is_cancelling = row["status"] == Status.CANCELLING
    if status is Status.CANCELLING:
        if is_cancelling:
            return None
        if profile.has_cancelling and _runner_can_cancel(tx, row["runner_id"]):
            values = {"status": int(Status.CANCELLING), "updated_us": tx.now_us}
            tx.conn.execute(update(task).where(task.c.id == task_id).values(values))
            jobs.start_cancelling(tx, row["job_id"], profile=profile)
            return status
        status = Status.CANCELLED
    if is_cancelling:
        status = Status.CANCELLED
    _end(tx, row, status, profile=profile, seal=seal)
    return status


def _end(tx: Tx, row: RowMapping, status: Status, *, profile: Profile, seal: bool) -> None:
    now = whole_seconds(tx.now_us)
    values: dict[str, Any] = {"status": int(status), "stopped_us": now, "updated_us": tx.now_us}
    if seal and row["log_rows"]:
        values["is_log_sealed"] = True
    tx.conn.execute(update(task).where(task.c.id == row["id"], task.c.status.in_(origins(TASK, status))).values(values))
    _end_steps(tx, row["id"], status, now)
    if profile.has_ephemeral:
        runners.remove_if_ephemeral(tx, row["runner_id"])
    jobs.finish_job(tx, row["job_id"], status, profile=profile, task_id=row["id"])


def _end_steps(tx: Tx, task_id: int, status: Status, now_us: int) -> None:
    unfinished = select(step.c.id, step.c.started_us).where(step.c.task_id == task_id, step.c.status.not_in(_FINAL))
    rows = [
        {"step": row.id, "end_status": int(status), "start": row.started_us or now_us, "stop": now_us}
        for row in tx.conn.execute(unfinished)
    ]
    if rows:
        tx.conn.execute(_END_STEP, rows)


_END_STEP: Final = (
    update(step)
    .where(step.c.id == bindparam("step"))
    .values(status=bindparam("end_status"), started_us=bindparam("start"), stopped_us=bindparam("stop"))
)


def _runner_can_cancel(tx: Tx, runner_id: int) -> bool:
    query = select(runner.c.id).where(
        runner.c.id == runner_id, runner.c.has_cancelling.is_(True), runner.c.deleted_us == 0
    )
    return tx.conn.execute(query).first() is not None
