"""Make a run with all its jobs, in one transaction; delete one.

Source: docs/protocol.md, "Lifecycle".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, bindparam, delete, insert, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.concurrency import cancels_previous, run_group
from mockgitea.core.context import RunFacts
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.core.plan import PlannedJob, evaluated_text, plan_jobs
from mockgitea.core.profiles import Profile
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow_model import Workflow
from mockgitea.storage import job_rows, jobs, versions
from mockgitea.storage.commit_status import write_job_statuses
from mockgitea.storage.concurrency import Member, cancel_previous_runs, enter_group
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Tx
from mockgitea.storage.repositories import RepositoryRecord
from mockgitea.storage.run_facts import run_facts, surroundings_of
from mockgitea.storage.schema import (
    job,
    log_chunk,
    repository,
    run,
    run_attempt,
    secret,
    step,
    task,
    task_output,
    variable,
)
from mockgitea.storage.vault import put
from mockgitea.storage.workflows import is_disabled, remember_workflow

TITLE_CHARS_MAX: Final = 255


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """A run about to be made; everything is checked but what only the database knows."""

    repository: RepositoryRecord
    workflow: Workflow
    workflow_file: str
    source: bytes
    event: str
    event_payload: Mapping[str, Any]
    inputs: Mapping[str, Any]
    ref: str
    base_ref: str = ""
    head_ref: str = ""
    sha: str
    actor: str
    title: str = ""
    is_fork_pull_request: bool = False
    needs_approval: bool = False
    secrets: Mapping[str, str] = field(repr=False)
    vars: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RunPlaces:
    """What rows need to know of the server around them."""

    app_url: str
    """The instance address with a trailing slash."""
    handle_seed: str


def create_run(tx: Tx, new: NewRun, *, places: RunPlaces, profile: Profile) -> int:
    """Insert a run, its jobs and all that follows from them.

    Returns:
        The run's row.

    Raises:
        InvalidInput: the workflow file is disabled in this repository.
    """
    if is_disabled(tx.conn, new.repository.id, new.workflow_file):
        raise InvalidInput(
            f"workflow_file: {new.workflow_file} is disabled in {new.repository.full_name}; enable it first",
            field="workflow_file",
        )
    _store_files(tx, new)
    run_id = _insert_run(tx, new)
    row = get_run(tx.conn, run_id)
    facts = run_facts(tx.conn, row, attempt=1)
    surroundings = surroundings_of(tx.conn, row, facts, app_url=places.app_url, profile=profile)
    is_blocked, planned = _plan(tx, new, facts, surroundings, profile)
    job_ids = job_rows.insert_jobs(
        tx, row, planned, is_blocked=is_blocked, profile=profile, handle_seed=places.handle_seed
    )
    job_rows.enter_job_groups(tx, job_ids, surroundings, profile=profile)
    announce_jobs(tx, row, job_ids, profile=profile)
    return run_id


def announce_jobs(tx: Tx, row: RowMapping, job_ids: list[int], *, profile: Profile) -> None:
    """Do what follows when job rows of a run were made or reset: run status, versions, commit statuses, dependants."""
    jobs.refresh_run(tx, row["id"], profile.run_status)
    statuses = {Status(one) for one in tx.conn.execute(_STATUSES, {"ids": job_ids}).scalars()}
    if Status.WAITING in statuses:
        versions.bump(tx, row["owner_id"], row["repo_id"])
    write_job_statuses(tx, job_ids, profile=profile)
    if not statuses.isdisjoint(FINAL):
        tx.announce(RunNeedsResolving(row["id"]))


def get_run(conn: Connection, run_id: int) -> RowMapping:
    """Return a run's row.

    Raises:
        NotFound: there is none.
    """
    row = conn.execute(_RUN, {"of_run": run_id}).mappings().first()
    if row is None:
        raise NotFound(f"run_id: no run {run_id}", field="run_id")
    return row


def latest_jobs(conn: Connection, run_id: int) -> list[RowMapping]:
    """Return the job rows of a run's latest attempt, in order, without their payloads."""
    return list(conn.execute(_LATEST_JOBS, {"of_run": run_id}).mappings())


def delete_run(tx: Tx, run_id: int) -> None:
    """Delete a finished run with its jobs, tasks, steps, outputs and logs.

    Raises:
        NotFound: there is none.
        InvalidInput: a job of it is not final.
    """
    get_run(tx.conn, run_id)
    if any(row["status"] not in FINAL for row in latest_jobs(tx.conn, run_id)):
        raise InvalidInput(f"run_id: run {run_id} is not finished; cancel it first", field="run_id")
    tasks = select(task.c.id).join(job, task.c.job_id == job.c.id).where(job.c.run_id == run_id)
    for table in (log_chunk, task_output, step):
        tx.conn.execute(delete(table).where(table.c.task_id.in_(tasks)))
    tx.conn.execute(delete(task).where(task.c.job_id.in_(select(job.c.id).where(job.c.run_id == run_id))))
    tx.conn.execute(delete(job).where(job.c.run_id == run_id))
    tx.conn.execute(delete(run_attempt).where(run_attempt.c.run_id == run_id))
    tx.conn.execute(delete(run).where(run.c.id == run_id))


def _store_files(tx: Tx, new: NewRun) -> None:
    scope = (0, new.repository.id)
    for name, value in new.secrets.items():
        put(tx, secret, scope, name=name, value=value)
    for name, value in new.vars.items():
        put(tx, variable, scope, name=name, value=value)
    remember_workflow(tx, new.repository.id, new.workflow_file, name=new.workflow.name, source=new.source)


def _insert_run(tx: Tx, new: NewRun) -> int:
    values = {
        "owner_id": new.repository.owner_id,
        "repo_id": new.repository.id,
        "number": tx.conn.execute(_COUNT_RUN, {"of_repo": new.repository.id}).scalar_one(),
        "workflow_file": new.workflow_file,
        "workflow_name": new.workflow.name,
        "workflow_source": new.source,
        "event": new.event,
        "event_payload": dict(new.event_payload),
        "inputs": dict(new.inputs),
        "ref": new.ref,
        "base_ref": new.base_ref,
        "head_ref": new.head_ref,
        "commit_sha": new.sha,
        "is_fork_pull_request": new.is_fork_pull_request,
        "needs_approval": new.needs_approval,
        "actor": new.actor,
        "triggering_actor": new.actor,
        "status": int(Status.BLOCKED),
        "created_us": tx.now_us,
        "updated_us": tx.now_us,
    }
    run_id: int = tx.conn.execute(_INSERT_RUN, values).scalar_one()
    add_attempt(tx, run_id, number=1, actor=new.actor)
    return run_id


def add_attempt(tx: Tx, run_id: int, *, number: int, actor: str) -> None:
    """Record an attempt of a run."""
    values = {"run_id": run_id, "number": number, "triggering_actor": actor, "status": int(Status.BLOCKED)}
    tx.conn.execute(_INSERT_ATTEMPT, values | {"created_us": tx.now_us})


def _plan(
    tx: Tx, new: NewRun, facts: RunFacts, surroundings: Surroundings, profile: Profile
) -> tuple[bool, tuple[PlannedJob, ...]]:
    """Settle title and concurrency of a new run and plan its jobs; a bad `concurrency` fails all of them."""
    tx.conn.execute(_NAME_RUN, {"of_run": facts.run_id, "new_title": _title(new, surroundings)})
    if cancels_previous(new.event, new.event_payload, profile):
        cancel_previous_runs(tx, facts.run_id, profile=profile)
    planned = plan_jobs(new.workflow, surroundings, puts_off=profile.plans_from_needs)
    try:
        is_blocked = join_run_group(tx, new.workflow, facts, surroundings, profile=profile)
    except InvalidInput as error:
        return False, tuple(job_rows.spoilt(each, error.message) for each in planned)
    return is_blocked or new.needs_approval, planned


def join_run_group(
    tx: Tx, workflow: Workflow, facts: RunFacts, surroundings: Surroundings, *, profile: Profile
) -> bool:
    """Put a new or rerun run into its concurrency group; True when it has to wait for others.

    Raises:
        InvalidInput: an expression of the block fails.
    """
    group = run_group(workflow.concurrency, facts, surroundings.scope(), profile)
    if group is None:
        return False
    values = {"concurrency_group": group.name, "concurrency_cancel": group.cancels, "concurrency_queues": group.queues}
    tx.conn.execute(update(run).where(run.c.id == facts.run_id).values(values))
    return enter_group(tx, Member(repo_id=facts.repo_id, run_id=facts.run_id), group, profile=profile)


def _title(new: NewRun, surroundings: Surroundings) -> str:
    if new.title:
        return new.title[:TITLE_CHARS_MAX]
    try:
        named = evaluated_text(new.workflow.run_name, surroundings.scope(), "run-name").strip()
    except InvalidInput:
        named = new.workflow.run_name
    return (named or new.workflow.name or new.workflow_file)[:TITLE_CHARS_MAX]


# Built once: every new run needs them, and building a statement costs more than running it.
_RUN: Final = select(run).where(run.c.id == bindparam("of_run"))
_LATEST_JOBS: Final = (
    select(*(column for column in job.c if column is not job.c.payload))
    .where(job.c.run_id == bindparam("of_run"), job.c.is_latest.is_(True))
    .order_by(job.c.id)
)
_STATUSES: Final = select(job.c.status).where(job.c.id.in_(bindparam("ids", expanding=True))).distinct()
_COUNT_RUN: Final = (
    update(repository)
    .where(repository.c.id == bindparam("of_repo"))
    .values(last_run_number=repository.c.last_run_number + 1)
    .returning(repository.c.last_run_number)
)
_INSERT_RUN: Final = insert(run).returning(run.c.id)
_INSERT_ATTEMPT: Final = insert(run_attempt)
_NAME_RUN: Final = update(run).where(run.c.id == bindparam("of_run")).values(title=bindparam("new_title"))
