"""Job rows: make them from plans, and let them into concurrency groups of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import RowMapping, bindparam, func, insert, select, update

from actionswire.result import Status
from mockgitea.core.concurrency import Group, blocks_members, job_group
from mockgitea.core.errors import InvalidInput
from mockgitea.core.handles import job_handle
from mockgitea.core.plan import PlannedJob
from mockgitea.core.profiles import Profile
from mockgitea.core.scopes import Surroundings
from mockgitea.core.task_times import whole_seconds
from mockgitea.core.workflow_model import ConcurrencySpec
from mockgitea.storage.concurrency import Member, enter_group
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job


def insert_jobs(
    tx: Tx, run: RowMapping, planned: Sequence[PlannedJob], *, is_blocked: bool, profile: Profile, handle_seed: str
) -> list[int]:
    """Insert planned jobs of a run and return their rows' ids, in order.

    Args:
        tx: the open transaction.
        run: the run's row.
        planned: the jobs; one with a failure reason is final from the start.
        is_blocked: something about the run keeps every job from starting.
        profile: the imitated server.
        handle_seed: see `core.handles`.
    """
    if not planned:
        return []
    first = tx.conn.execute(_COUNT, {"of_run": run["id"]}).scalar_one()
    common = {
        "run_id": run["id"],
        "owner_id": run["owner_id"],
        "repo_id": run["repo_id"],
        "commit_sha": run["commit_sha"],
        "is_fork_pull_request": run["is_fork_pull_request"],
        "attempt": 0 if profile.attempt_counted_at_claim else 1,
        "created_us": tx.now_us,
        "updated_us": tx.now_us,
    }
    rows = []
    for number, each in enumerate(planned, first):
        status = Status.BLOCKED if is_blocked or each.needs else Status.WAITING
        stopped_us = 0
        if each.failure_reason:
            status, stopped_us = Status.FAILURE, whole_seconds(tx.now_us)
        handle = job_handle(handle_seed, run["id"], number, 1, 0) if profile.has_handles else ""
        rows.append(job_values(each) | common | {"status": int(status), "stopped_us": stopped_us, "handle": handle})
    return list(tx.conn.execute(_INSERT, rows).scalars())


_INSERT: Final = insert(job).returning(job.c.id, sort_by_parameter_order=True)
_COUNT: Final = select(func.count()).where(job.c.run_id == bindparam("of_run"))
_WAITING: Final = (
    select(job)
    .where(job.c.id.in_(bindparam("ids", expanding=True)), job.c.status == int(Status.WAITING))
    .order_by(job.c.id)
)


def job_values(planned: PlannedJob) -> dict[str, Any]:
    """Return the columns of a job row that its plan decides."""
    concurrency = None
    if planned.concurrency is not None:
        spec = planned.concurrency
        concurrency = {"group": spec.group, "cancel": spec.cancel, "matrix": planned.matrix}
    return {
        "name": planned.name,
        "job_id": planned.job_id,
        "payload": planned.payload,
        "needs": list(planned.needs),
        "runs_on": list(planned.runs_on),
        "if_text": planned.if_text,
        "continues_on_error": planned.continues_on_error,
        "concurrency": concurrency,
        "failure_reason": planned.failure_reason,
    }


def spoilt(planned: PlannedJob, reason: str) -> PlannedJob:
    """Return a planned job that fails at once for ``reason``, unless it already has one."""
    return planned if planned.failure_reason else replace(planned, failure_reason=reason)


def enter_job_groups(tx: Tx, job_ids: Sequence[int], surroundings: Surroundings, *, profile: Profile) -> None:
    """Let the waiting ones of new job rows into their own concurrency groups; some of them may become blocked."""
    if not blocks_members(profile):
        return
    waiting = tx.conn.execute(_WAITING, {"ids": list(job_ids)}).mappings()
    for row in [row for row in waiting if row["concurrency"]]:
        values: dict[str, Any] = {"status": int(Status.BLOCKED)}
        try:
            is_kept = enter_own_group(tx, row, surroundings, profile=profile)
        except InvalidInput as error:
            stopped = whole_seconds(tx.now_us)
            values = {"status": int(Status.FAILURE), "failure_reason": error.message, "stopped_us": stopped}
            is_kept = True
        if is_kept:
            tx.conn.execute(update(job).where(job.c.id == row["id"]).values(values))


def enter_own_group(
    tx: Tx,
    row: RowMapping,
    surroundings: Surroundings,
    *,
    profile: Profile,
    needs: Mapping[str, Any] | None = None,
) -> bool:
    """Let a job that could start now into its own concurrency group.

    Returns:
        True when it has to wait for others.

    Raises:
        InvalidInput: an expression of its `concurrency` fails.
    """
    group = own_group(row, surroundings, profile=profile, needs=needs)
    if group is None:
        return False
    values = {"concurrency_group": group.name, "concurrency_cancel": group.cancels}
    tx.conn.execute(update(job).where(job.c.id == row["id"]).values(values))
    member = Member(repo_id=row["repo_id"], run_id=row["run_id"], job_id=row["id"])
    return enter_group(tx, member, group, profile=profile)


def own_group(
    row: RowMapping, surroundings: Surroundings, *, profile: Profile, needs: Mapping[str, Any] | None = None
) -> Group | None:
    """Evaluate the `concurrency` of a job row.

    Raises:
        InvalidInput: an expression fails.
    """
    stored = row["concurrency"]
    if not stored:
        return None
    spec = ConcurrencySpec(stored["group"], stored["cancel"])
    scope = surroundings.scope(needs=needs, matrix=stored["matrix"])
    return job_group(spec, scope, profile, field=f"jobs.{row['job_id']}.concurrency")
