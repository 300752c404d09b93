"""Job and run status: finish jobs, make them waiting, bring their run up to date.

Every change of a job's status in the server goes through here or through `claims`, so versions and commit statuses
cannot be forgotten.
Source: docs/protocol.md, "Statuses" and "tasks_version".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import RowMapping, bindparam, func, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.profiles import Profile, RunStatusRule
from mockgitea.core.run_status import aggregate, counted
from mockgitea.core.task_times import whole_seconds
from mockgitea.core.transitions import JOB, origins
from mockgitea.storage import versions
from mockgitea.storage.commit_status import write_job_statuses
from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import Prepared
from mockgitea.storage.schema import job, run, run_attempt

_FINAL: Final = tuple(int(status) for status in FINAL)


def finish_job(
    tx: Tx, job_id: int, status: Status, *, profile: Profile, stopped_us: int | None = None, task_id: int | None = None
) -> bool:
    """Give an unfinished job its final status and refresh its run.

    Args:
        tx: the open transaction.
        job_id: the job's row.
        status: a final one.
        profile: the imitated server.
        stopped_us: when it ended, as the runner says; None means now.
        task_id: finish only if this task still holds the job.

    Returns:
        False when the job was final already, or another task holds it.
    """
    assert status.is_final, status
    stopped = whole_seconds(tx.now_us if stopped_us is None else stopped_us)
    return _move(tx, job_id, {"status": int(status), "stopped_us": stopped}, profile=profile, task_id=task_id)


def start_cancelling(tx: Tx, job_id: int, *, profile: Profile) -> bool:
    """Mark a running job as cancelling and refresh its run; False when it is final."""
    return _move(tx, job_id, {"status": int(Status.CANCELLING)}, profile=profile)


def finish_unstarted(tx: Tx, run_id: int, job_ids: Sequence[int], status: Status, *, profile: Profile) -> int:
    """Give waiting or blocked jobs of one run a final status, as `finish_job` does, at the price of one refresh.

    Returns:
        How many changed; those that are running or final already do not.
    """
    assert status.is_final, status
    values = {"status": int(status), "stopped_us": whole_seconds(tx.now_us), "updated_us": tx.now_us}
    moved = _move_many(tx, run_id, job_ids, (Status.WAITING, Status.BLOCKED), values, profile)
    if moved:
        _bump_after_finish(tx, moved[0], profile)
    return len(moved)


def set_jobs_waiting(tx: Tx, run_id: int, job_ids: Sequence[int], *, profile: Profile) -> int:
    """Move blocked jobs of one run to the end of the queue, bump their versions and refresh the run.

    Returns:
        How many changed; those that are not blocked do not.
    """
    values = {"status": int(Status.WAITING), "updated_us": tx.now_us, "task_id": 0}
    moved = _move_many(tx, run_id, job_ids, (Status.BLOCKED,), values, profile)
    if moved:
        versions.bump(tx, moved[0]["owner_id"], moved[0]["repo_id"])
    return len(moved)


def follow_job(tx: Tx, job_id: int, run_id: int, *, profile: Profile) -> None:
    """Bring run and commit status up to date after a change of a job's status."""
    refresh_run(tx, run_id, profile.run_status)
    write_job_statuses(tx, [job_id], profile=profile)


def refresh_run(tx: Tx, run_id: int, rule: RunStatusRule) -> Status:
    """Recompute a run's status from its latest jobs, note its start and stop, and return it."""
    found = _JOB_STATUSES.all(tx.driver, of_run=run_id)
    status = aggregate([counted(Status(one), rule, continues_on_error=bool(goes_on)) for one, goes_on in found], rule)
    [(attempt, before, started_us, stopped_us)] = _RUN_STATUS.all(tx.driver, of_run=run_id)
    now = whole_seconds(tx.now_us)
    start = now if not started_us and status in (Status.RUNNING, Status.CANCELLING) else None
    stop = now if not stopped_us and status.is_final else None
    if start is not None or stop is not None or status != before:
        changes = {"of_run": run_id, "new_status": int(status), "start": start, "stop": stop}
        _CHANGE_RUN.run(tx.driver, now=tx.now_us, **changes)
        _CHANGE_ATTEMPT.run(tx.driver, of_number=attempt, **changes)
    return status


def has_waiting_jobs(tx: Tx, repo_id: int) -> bool:
    """Tell whether a job of the repository waits for a runner."""
    return tx.conn.execute(_WAITING_JOB, {"of_repo": repo_id}).first() is not None


_JOB_STATUSES: Final = Prepared(
    select(job.c.status, job.c.continues_on_error)
    .where(job.c.run_id == bindparam("of_run"), job.c.is_latest.is_(True))
    .distinct()
)
_RUN_STATUS: Final = Prepared(
    select(run.c.attempt, run.c.status, run.c.started_us, run.c.stopped_us).where(run.c.id == bindparam("of_run"))
)
# A start or stop of None leaves what is stored.
_CHANGE_RUN: Final = Prepared(
    update(run)
    .where(run.c.id == bindparam("of_run"))
    .values(
        status=bindparam("new_status"),
        started_us=func.coalesce(bindparam("start"), run.c.started_us),
        stopped_us=func.coalesce(bindparam("stop"), run.c.stopped_us),
        updated_us=bindparam("now"),
    )
)
_CHANGE_ATTEMPT: Final = Prepared(
    update(run_attempt)
    .where(run_attempt.c.run_id == bindparam("of_run"), run_attempt.c.number == bindparam("of_number"))
    .values(
        status=bindparam("new_status"),
        started_us=func.coalesce(bindparam("start"), run_attempt.c.started_us),
        stopped_us=func.coalesce(bindparam("stop"), run_attempt.c.stopped_us),
    )
)
_WAITING_JOB: Final = (
    select(job.c.id).where(job.c.repo_id == bindparam("of_repo"), job.c.status == int(Status.WAITING)).limit(1)
)
_RETURNED: Final = (job.c.run_id, job.c.owner_id, job.c.repo_id)


def _move(tx: Tx, job_id: int, values: Mapping[str, Any], *, profile: Profile, task_id: int | None = None) -> bool:
    guard = [job.c.id == job_id, job.c.status.in_(origins(JOB, Status(values["status"])))]
    if task_id is not None:
        guard.append(job.c.task_id == task_id)
    changed = update(job).where(*guard).values(**values, updated_us=tx.now_us).returning(*_RETURNED)
    row = tx.conn.execute(changed).mappings().first()
    if row is None:
        return False
    if values["status"] in _FINAL:
        _bump_after_finish(tx, row, profile)
    follow_job(tx, job_id, row["run_id"], profile=profile)
    return True


def _move_many(
    tx: Tx,
    run_id: int,
    job_ids: Sequence[int],
    origins: tuple[Status, ...],
    values: Mapping[str, Any],
    profile: Profile,
) -> Sequence[RowMapping]:
    if not job_ids:
        return []
    guard = (job.c.id.in_(job_ids), job.c.run_id == run_id, job.c.status.in_([int(status) for status in origins]))
    rows = tx.conn.execute(update(job).where(*guard).values(values).returning(job.c.id, *_RETURNED)).mappings().all()
    if rows:
        refresh_run(tx, run_id, profile.run_status)
        write_job_statuses(tx, [row["id"] for row in rows], profile=profile)
    return rows


def _bump_after_finish(tx: Tx, row: RowMapping, profile: Profile) -> None:
    if profile.bump_on_finish and has_waiting_jobs(tx, row["repo_id"]):
        versions.bump(tx, row["owner_id"], row["repo_id"])
