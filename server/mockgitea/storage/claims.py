"""Give a waiting job to a runner, give it back, and find what a request key was given.

Choice and claim are one intent, and the claim is guarded in its WHERE, so no job has two tasks.
Source: docs/protocol.md, "FetchTask".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, func, insert, select, update

from actionswire.result import Status
from mockgitea.core.claimed import ClaimedTask
from mockgitea.core.profiles import Profile
from mockgitea.core.secret_hash import hash_token, last_eight
from mockgitea.core.task_times import whole_seconds
from mockgitea.storage import jobs, stops, versions
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job, repository, run, step, task


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimant:
    """The runner that asks, and the secrets its task would get (drawn beforehand, an intent may run twice)."""

    runner_id: int
    runner_name: str
    request_key: str
    token: str
    salt: str


def insert_task(
    tx: Tx, job_id: int, claimant: Claimant, *, step_names: Callable[[bytes], Sequence[str]], profile: Profile
) -> ClaimedTask | None:
    """Make a running task with its steps and hand the job to it.

    Returns:
        None when the job is no longer free; nothing is left behind then.

    Raises:
        AssignmentFailed: the steps cannot be read; nothing was written.
    """
    found = tx.conn.execute(_SELECT_JOB, {"job_row": job_id}).mappings().one()
    names = step_names(found["payload"])
    attempt = found["attempt"]
    if profile.attempt_counted_at_claim:
        attempt = 1 + tx.conn.execute(_COUNT_TASKS, {"job_row": job_id}).scalar_one()
    row = _insert_task_row(tx, found, claimant, attempt)
    if names:
        steps = [{"task_id": row["id"], "number": n, "name": name, "status": 5} for n, name in enumerate(names)]
        tx.conn.execute(_INSERT_STEP, steps)
    taken = _take_job(tx, found, row)
    if taken is None:
        _delete_task(tx, row["id"])
        return None
    jobs.follow_job(tx, job_id, taken["run_id"], profile=profile)
    found_run = tx.conn.execute(_SELECT_RUN, {"run_row": taken["run_id"]}).mappings().one()
    return _claimed(row, taken, found_run, claimant)


def fail_job(tx: Tx, claimed: ClaimedTask, reason: str, *, profile: Profile) -> None:
    """Undo a claim whose task message cannot be built, and fail the job alone."""
    _delete_task(tx, claimed.task["id"])
    fail_unread_job(tx, claimed.job["id"], reason, profile=profile)


def fail_unread_job(tx: Tx, job_id: int, reason: str, *, profile: Profile) -> None:
    """Fail a job that no runner could ever be given."""
    changed = update(job).where(job.c.id == job_id).values(task_id=0, failure_reason=reason)
    run_id = int(tx.conn.execute(changed.returning(job.c.run_id)).scalar_one())
    jobs.finish_job(tx, job_id, Status.FAILURE, profile=profile)
    tx.announce(RunNeedsResolving(run_id))


def release(tx: Tx, task_id: int, *, profile: Profile) -> bool:
    """Undo a claim whose answer nobody will read: delete task and steps, put the job back at the queue's end.

    Returns:
        False when the task is final already. A task that was cancelled meanwhile ends as cancelled.
    """
    row = tx.conn.execute(select(task.c.job_id, task.c.status).where(task.c.id == task_id)).first()
    if row is None or Status(row.status).is_final:
        return False
    if row.status == Status.CANCELLING:
        return stops.stop_task(tx, task_id, Status.CANCELLED, profile=profile) is not None
    values = {"status": int(Status.WAITING), "task_id": 0, "started_us": 0, "updated_us": tx.now_us}
    freed = update(job).where(job.c.id == row.job_id, job.c.task_id == task_id).values(values)
    back = tx.conn.execute(freed.returning(job.c.run_id, job.c.owner_id, job.c.repo_id)).first()
    _delete_task(tx, task_id)
    if back is None:
        return False
    jobs.follow_job(tx, row.job_id, back.run_id, profile=profile)
    versions.bump(tx, back.owner_id, back.repo_id)
    return True


def tasks_of_key(conn: Connection, runner_id: int, request_key: str) -> list[int]:
    """Return the ids of the tasks this runner was given under this request key, oldest first."""
    query = select(task.c.id).where(task.c.request_key == request_key, task.c.runner_id == runner_id)
    return list(conn.execute(query.order_by(task.c.id)).scalars())


def used_request_keys(conn: Connection) -> list[tuple[int, str]]:
    """Return every (runner id, request key) under which a task was handed out."""
    rows = conn.execute(select(task.c.runner_id, task.c.request_key).where(task.c.request_key != ""))
    return [(row.runner_id, row.request_key) for row in rows]


def renew_token(tx: Tx, task_id: int, claimant: Claimant) -> ClaimedTask:
    """Give a task that was handed out before a fresh token; the older one stops working."""
    renewed = update(task).where(task.c.id == task_id).values(_token_columns(claimant)).returning(task)
    row = tx.conn.execute(renewed).mappings().one()
    found = tx.conn.execute(_SELECT_JOB, {"job_row": row["job_id"]}).mappings().one()
    found_run = tx.conn.execute(_SELECT_RUN, {"run_row": found["run_id"]}).mappings().one()
    return _claimed(row, found, found_run, claimant)


def _insert_task_row(tx: Tx, found: RowMapping, claimant: Claimant, attempt: int) -> RowMapping:
    values = {
        "job_id": found["id"],
        "attempt": attempt,
        "runner_id": claimant.runner_id,
        **{name: found[name] for name in _COPIED},
        "status": int(Status.RUNNING),
        "request_key": claimant.request_key,
        "created_us": tx.now_us,
        "updated_us": tx.now_us,
        "started_us": whole_seconds(tx.now_us),
        **_token_columns(claimant),
    }
    task_id = tx.conn.execute(_INSERT_TASK, values).scalar_one()
    place = tx.conn.execute(_SELECT_PLACE, {"repo": found["repo_id"]}).first()
    folder = f"{place.owner_name}/{place.name}" if place else "unknown/unknown"
    name = f"{folder}/{task_id % 256:02x}/{task_id}.log"
    return tx.conn.execute(_NAME_LOG, {"task_row": task_id, "name": name}).mappings().one()


_COPIED: Final = ("owner_id", "repo_id", "commit_sha", "is_fork_pull_request")


def _token_columns(claimant: Claimant) -> dict[str, str]:
    return {
        "token_hash": hash_token(claimant.token, claimant.salt),
        "token_salt": claimant.salt,
        "token_last_eight": last_eight(claimant.token),
    }


def _take_job(tx: Tx, found: RowMapping, row: RowMapping) -> RowMapping | None:
    values = {
        "job_row": found["id"],
        "new_task": row["id"],
        "new_attempt": row["attempt"],
        "start": row["started_us"],
        "now": tx.now_us,
    }
    return tx.conn.execute(_TAKE_JOB, values).mappings().first()


def _delete_task(tx: Tx, task_id: int) -> None:
    tx.conn.execute(delete(step).where(step.c.task_id == task_id))
    tx.conn.execute(delete(task).where(task.c.id == task_id))


def _claimed(row: RowMapping, job_row: RowMapping, run_row: RowMapping, claimant: Claimant) -> ClaimedTask:
    return ClaimedTask(
        task=_columns(row),
        job=_columns(job_row),
        run=_columns(run_row),
        token=claimant.token,
        runner_name=claimant.runner_name,
    )


def _columns(row: RowMapping) -> Mapping[str, Any]:
    return {str(name): value for name, value in row.items()}


# Built once: a claim runs them every time, and building a statement costs more than running it.
_SELECT_JOB: Final = select(job).where(job.c.id == bindparam("job_row"))
_SELECT_RUN: Final = select(run).where(run.c.id == bindparam("run_row"))
_SELECT_PLACE: Final = select(repository.c.owner_name, repository.c.name).where(repository.c.id == bindparam("repo"))
_COUNT_TASKS: Final = select(func.count()).where(task.c.job_id == bindparam("job_row"))
_INSERT_TASK: Final = insert(task).returning(task.c.id)
_INSERT_STEP: Final = insert(step)
_NAME_LOG: Final = (
    update(task).where(task.c.id == bindparam("task_row")).values(log_filename=bindparam("name")).returning(task)
)
_TAKE_JOB: Final = (
    update(job)
    .where(job.c.id == bindparam("job_row"), job.c.task_id == 0, job.c.status == int(Status.WAITING))
    .values(
        status=int(Status.RUNNING),
        task_id=bindparam("new_task"),
        attempt=bindparam("new_attempt"),
        started_us=bindparam("start"),
        updated_us=bindparam("now"),
    )
    .returning(job)
)
