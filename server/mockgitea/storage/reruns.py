"""Run a finished run again, in one of the two styles of the servers.

New rows: every job of the latest attempt is copied, the copies that do not run again point to their old task.
Same rows: the rows themselves go back to waiting with the next attempt number.
Source: docs/protocol.md, "Rerun".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import RowMapping, insert, select, update

from actionswire.result import Status
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.core.handles import job_handle
from mockgitea.core.profiles import Profile
from mockgitea.core.rerun import FinishedJob, failed_rows, jobs_to_rerun
from mockgitea.core.workflow import parse_workflow
from mockgitea.storage.interface import Tx
from mockgitea.storage.job_rows import enter_job_groups
from mockgitea.storage.run_facts import run_facts, surroundings_of
from mockgitea.storage.runs import RunPlaces, add_attempt, announce_jobs, get_run, join_run_group, latest_jobs
from mockgitea.storage.schema import job, run
from mockgitea.storage.workflows import is_disabled


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunWish:
    """What shall run again: everything, unless one of the two is given."""

    run_id: int
    job_row_id: int | None = None
    failed_only: bool = False
    actor: str = ""


@dataclass(frozen=True, slots=True)
class Rerun:
    """A new attempt of a run."""

    run_id: int
    attempt: int
    rows: Mapping[int, int]
    """Each job row of the earlier attempt to the row that stands for it now; the same one where rows are kept."""
    started: tuple[int, ...]
    """The rows that run again."""


def rerun(tx: Tx, wish: RerunWish, *, places: RunPlaces, profile: Profile) -> Rerun:
    """Start a new attempt.

    Raises:
        NotFound: no such run, or no such job in its latest attempt.
        InvalidInput: not finished, file disabled, limit reached, or nothing to run.
    Source: docs/protocol.md, "Rerun".
    """
    row = get_run(tx.conn, wish.run_id)
    rows = latest_jobs(tx.conn, wish.run_id)
    again = _chosen(wish, row, rows, profile)
    _check_run(tx, row, profile)
    attempt = row["attempt"] + 1
    actor = wish.actor or row["actor"]
    values = {"attempt": attempt, "triggering_actor": actor, "started_us": 0, "stopped_us": 0, "updated_us": tx.now_us}
    tx.conn.execute(update(run).where(run.c.id == wish.run_id).values(values))
    if profile.rerun_clones_jobs:
        add_attempt(tx, wish.run_id, number=attempt, actor=actor)
    new_rows = {
        each["id"]: (_copy(tx, each, again, attempt) if profile.rerun_clones_jobs else _reset(tx, each, again, profile))
        for each in rows
    }
    started = [new_rows[row_id] for row_id in again]
    if profile.has_handles:
        for row_id in started:
            handle = job_handle(places.handle_seed, wish.run_id, row_id, attempt, 1)
            tx.conn.execute(update(job).where(job.c.id == row_id).values(handle=handle))
    _enter_groups(tx, wish.run_id, started, places, profile)
    announce_jobs(tx, get_run(tx.conn, wish.run_id), started, profile=profile)
    return Rerun(wish.run_id, attempt, new_rows, tuple(started))


def _chosen(wish: RerunWish, row: RowMapping, rows: list[RowMapping], profile: Profile) -> dict[int, bool]:
    jobs = [
        FinishedJob(
            each["id"],
            each["job_id"],
            tuple(each["needs"]),
            Status(each["status"]),
            is_spoilt=bool(each["failure_reason"]) and not (each["task_id"] or each["source_task_id"]),
        )
        for each in rows
    ]
    if wish.job_row_id is not None:
        again = _one_job(wish.job_row_id, row, jobs, profile)
    else:
        _check_final(Status(row["status"]), f"run {row['id']}")
        failed = failed_rows(jobs) if wish.failed_only else []
        if wish.failed_only and not failed and profile.rerun_failed_needs_failure:
            raise InvalidInput(f"run_id: run {row['id']} has no failed job; rerun all of it", field="run_id")
        again = jobs_to_rerun(jobs, failed or [each.id for each in jobs])
    if not again:
        reason = next((each["failure_reason"] for each in rows if each["failure_reason"]), "no job has ended")
        raise InvalidInput(f"run_id: nothing of run {row['id']} can run again: {reason}", field="run_id")
    return again


def _one_job(job_row_id: int, row: RowMapping, jobs: list[FinishedJob], profile: Profile) -> dict[int, bool]:
    found = next((each for each in jobs if each.id == job_row_id), None)
    if found is None:
        known = ", ".join(str(each.id) for each in jobs)
        raise NotFound(
            f"job_id: run {row['id']} has no job {job_row_id} in its latest attempt; it has {known}", field="job_id"
        )
    if profile.rerun_needs_final_run:
        _check_final(Status(row["status"]), f"run {row['id']}")
    else:
        _check_final(found.status, f"job {job_row_id}")
    return jobs_to_rerun(jobs, [job_row_id])


def _check_final(status: Status, what: str) -> None:
    if not status.is_final:
        raise InvalidInput(f"run_id: {what} is {status.text}; wait until it is finished or cancel it", field="run_id")


def _check_run(tx: Tx, row: RowMapping, profile: Profile) -> None:
    if is_disabled(tx.conn, row["repo_id"], row["workflow_file"]):
        raise InvalidInput(f"run_id: workflow {row['workflow_file']} is disabled; enable it first", field="run_id")
    if profile.rerun_attempts_max and row["attempt"] >= profile.rerun_attempts_max:
        raise InvalidInput(
            f"run_id: run {row['id']} has had {row['attempt']} attempts, the limit; enqueue it anew", field="run_id"
        )


def _copy(tx: Tx, row: RowMapping, again: Mapping[int, bool], attempt: int) -> int:
    """Copy a job row into the new attempt and return the copy's id."""
    values: dict[str, Any] = {key: value for key, value in row.items() if key != "id"}
    values["payload"] = tx.conn.execute(select(job.c.payload).where(job.c.id == row["id"])).scalar_one()
    values |= {"created_us": tx.now_us, "updated_us": tx.now_us, "task_id": 0, "attempt": attempt}
    if row["id"] in again:
        values |= _fresh(blocked=again[row["id"]]) | {"source_task_id": 0}
    else:
        values["source_task_id"] = row["task_id"] or row["source_task_id"]
    tx.conn.execute(update(job).where(job.c.id == row["id"]).values(is_latest=False))
    copy_id: int = tx.conn.execute(insert(job).values(values).returning(job.c.id)).scalar_one()
    return copy_id


def _reset(tx: Tx, row: RowMapping, again: Mapping[int, bool], profile: Profile) -> int:
    """Put a job row that runs again back to its start and return its id."""
    row_id: int = row["id"]
    if row_id in again:
        counted = 0 if profile.attempt_counted_at_claim else 1
        values = _fresh(blocked=again[row_id])
        values |= {"attempt": row["attempt"] + counted, "task_id": 0, "updated_us": tx.now_us}
        tx.conn.execute(update(job).where(job.c.id == row_id).values(values))
    return row_id


def _fresh(*, blocked: bool) -> dict[str, Any]:
    return {
        "status": int(Status.BLOCKED if blocked else Status.WAITING),
        "started_us": 0,
        "stopped_us": 0,
        "failure_reason": "",
        "concurrency_group": "",
        "concurrency_cancel": False,
    }


def _enter_groups(tx: Tx, run_id: int, started: list[int], places: RunPlaces, profile: Profile) -> None:
    """Put the run and its waiting jobs into their concurrency groups again; some may have to wait."""
    row = get_run(tx.conn, run_id)
    facts = run_facts(tx.conn, row, attempt=row["attempt"])
    surroundings = surroundings_of(tx.conn, row, facts, app_url=places.app_url, profile=profile)
    workflow = parse_workflow(row["workflow_source"])
    if join_run_group(tx, workflow, facts, surroundings, profile=profile):
        waiting = (job.c.id.in_(started), job.c.status == int(Status.WAITING))
        tx.conn.execute(update(job).where(*waiting).values(status=int(Status.BLOCKED)))
    enter_job_groups(tx, started, surroundings, profile=profile)
