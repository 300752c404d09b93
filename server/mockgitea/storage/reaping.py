"""Find and stop what has been silent, running or waiting for too long, and tidy what nobody needs any more.

Each intent takes at most a given number of rows, so one turn never holds the writer for long.
Source: docs/protocol.md, "Periodic jobs".
"""

from typing import Final

from sqlalchemy import Select, delete, exists, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.profiles import Profile
from mockgitea.storage import jobs, runners, stops
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job, log_chunk, run, runner, task

ROWS_PER_INTENT: Final = 100
LINGERING_LOGS_PER_TURN: Final = 3000
_FINAL: Final = tuple(int(status) for status in FINAL)
_OPEN: Final = (int(Status.RUNNING), int(Status.CANCELLING))
_UNBEGUN: Final = (int(Status.WAITING), int(Status.BLOCKED))


def stop_silent(tx: Tx, before_us: int, *, profile: Profile) -> int:
    """Fail tasks without an update since ``before_us``; return how many."""
    query = select(task.c.id, task.c.job_id).where(task.c.status.in_(_OPEN), task.c.updated_us < before_us)
    return _stop(tx, query.order_by(task.c.id), profile)


def stop_endless(tx: Tx, before_us: int, *, profile: Profile) -> int:
    """Fail tasks that started before ``before_us``; return how many."""
    query = select(task.c.id, task.c.job_id).where(task.c.status.in_(_OPEN), task.c.started_us < before_us)
    return _stop(tx, query.order_by(task.c.id), profile)


def cancel_abandoned(tx: Tx, before_us: int, *, profile: Profile) -> int:
    """Cancel waiting and blocked jobs that have not changed since ``before_us``; return how many."""
    query = select(job.c.id, job.c.run_id).where(job.c.status.in_(_UNBEGUN), job.c.updated_us < before_us)
    if not profile.abandons_unapproved:
        query = query.join(run, run.c.id == job.c.run_id).where(run.c.needs_approval.is_(False))
    rows = tx.conn.execute(query.order_by(job.c.id).limit(ROWS_PER_INTENT)).all()
    for row in rows:
        jobs.finish_job(tx, row.id, Status.CANCELLED, profile=profile)
    _announce(tx, {row.run_id for row in rows}, profile)
    return len(rows)


def seal_lingering(tx: Tx, before_us: int) -> int:
    """Seal logs of final tasks that were not touched since ``before_us``; return how many, at most one turn's worth."""
    lingering = (
        select(task.c.id)
        .where(task.c.status.in_(_FINAL), task.c.updated_us < before_us, task.c.is_log_sealed.is_(False))
        .where(task.c.log_rows > 0)
        .limit(LINGERING_LOGS_PER_TURN)
    )
    return tx.conn.execute(update(task).where(task.c.id.in_(lingering)).values(is_log_sealed=True)).rowcount


def expire_logs(tx: Tx, before_us: int) -> int:
    """Drop the rows of tasks that stopped before ``before_us``; return how many logs expired."""
    # A runner may end a task without saying when (0); such a log has no age.
    query = (
        select(task.c.id)
        .where(task.c.status.in_(_FINAL), task.c.stopped_us > 0, task.c.stopped_us < before_us)
        .where(task.c.is_log_expired.is_(False), task.c.log_rows > 0)
    )
    ids = list(tx.conn.execute(query.limit(ROWS_PER_INTENT)).scalars())
    tx.conn.execute(delete(log_chunk).where(log_chunk.c.task_id.in_(ids)))
    tx.conn.execute(update(task).where(task.c.id.in_(ids)).values(is_log_expired=True, is_log_sealed=True))
    return len(ids)


def remove_used_ephemeral(tx: Tx) -> int:
    """Remove ephemeral runners whose one task is over; return how many."""
    own = task.c.runner_id == runner.c.id
    query = select(runner.c.id).where(
        runner.c.is_ephemeral.is_(True),
        runner.c.deleted_us == 0,
        exists().where(own, task.c.status.in_(_FINAL)),
        ~exists().where(own, task.c.status.not_in(_FINAL)),
    )
    ids = list(tx.conn.execute(query.limit(ROWS_PER_INTENT)).scalars())
    return sum(runners.remove(tx, runner_id) for runner_id in ids)


def remove_offline(tx: Tx, before_us: int) -> int:
    """Remove global runners that were neither online nor made since ``before_us``; return how many."""
    query = select(runner.c.id).where(
        runner.c.owner_id == 0,
        runner.c.repo_id == 0,
        runner.c.deleted_us == 0,
        runner.c.last_online_us < before_us,
        runner.c.created_us < before_us,
    )
    ids = list(tx.conn.execute(query.limit(ROWS_PER_INTENT)).scalars())
    return sum(runners.remove(tx, runner_id) for runner_id in ids)


def _stop(tx: Tx, query: Select[int, int], profile: Profile) -> int:
    """Fail the tasks that ``query`` finds as (task id, job id)."""
    found = tx.conn.execute(query.limit(ROWS_PER_INTENT)).all()
    for task_id, _ in found:
        stops.stop_task(tx, task_id, Status.FAILURE, profile=profile, seal=True)
    job_ids = [job_id for _, job_id in found]
    runs = set(tx.conn.execute(select(job.c.run_id).where(job.c.id.in_(job_ids))).scalars())
    _announce(tx, runs, profile)
    return len(found)


def _announce(tx: Tx, run_ids: set[int], profile: Profile) -> None:
    if profile.resolves_after_server_stop:
        for run_id in sorted(run_ids):
            tx.announce(RunNeedsResolving(run_id))
