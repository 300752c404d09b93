"""Jobs whose matrix or `runs-on` reads their needs: planned once those are done.

Until then one placeholder row stands for the job; afterwards it holds the first combination and new rows the others.
Source: docs/workflows.md, "Matrix".
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from actionswire.result import Status
from mockgitea.core.plan import PlannedJob, plan_job, reads_needs
from mockgitea.core.profiles import Profile
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow import parse_workflow
from mockgitea.storage import jobs
from mockgitea.storage.commit_status import write_job_statuses
from mockgitea.storage.interface import Tx
from mockgitea.storage.job_rows import insert_jobs, job_values
from mockgitea.storage.schema import job


def planned_late(
    conn: Connection,
    row: RowMapping,
    run: RowMapping,
    surroundings: Surroundings,
    needs: Mapping[str, Any],
    *,
    profile: Profile,
) -> tuple[PlannedJob, ...]:
    """Plan the job that a placeholder row stands for; nothing when the row is no placeholder.

    Args:
        conn: an open connection.
        row: a job row whose needs are final.
        run: its run.
        surroundings: contexts of the run.
        needs: the finished needs.
        profile: whether the server plans late at all.
    """
    if not profile.plans_from_needs:
        return ()
    payload = conn.execute(select(job.c.payload).where(job.c.id == row["id"])).scalar_one()
    if not reads_needs(parse_workflow(payload).jobs[0]):
        return ()
    workflow = parse_workflow(run["workflow_source"])
    return plan_job(workflow, workflow.job(row["job_id"]), surroundings, needs=needs)


def replace_placeholder(
    tx: Tx,
    run: RowMapping,
    row: RowMapping,
    planned: Sequence[PlannedJob],
    *,
    profile: Profile,
    handle_seed: str,
) -> None:
    """Turn a placeholder row into its first combination and add rows for the others, all of them still blocked."""
    first, *others = planned
    tx.conn.execute(update(job).where(job.c.id == row["id"]).values(job_values(first)))
    if first.failure_reason:
        jobs.finish_job(tx, row["id"], Status.FAILURE, profile=profile)
    added = insert_jobs(tx, run, others, is_blocked=True, profile=profile, handle_seed=handle_seed)
    write_job_statuses(tx, [row["id"], *added], profile=profile)
