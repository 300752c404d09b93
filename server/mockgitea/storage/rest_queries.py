"""Reads for REST v1: runs, jobs, tasks, workflows, secrets and variables of a scope, page by page.

Each function is one query for `Store.read`. A scope of (0, 0) is the whole server. Secret values are never read here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, Table, func, select

from mockgitea.storage import schema as s

SEARCHED_JOBS_MAX: Final = 10_000
"""Waiting and running jobs that a search for labels looks at; the oldest ones first."""
_PARAMETERS_MAX: Final = 500
"""Ids in one `IN (...)`; SQLite takes more, but a page of REST never holds as many."""

Page = tuple[int, int]
"""(limit, offset)."""
Found = tuple[list[dict[str, Any]], int]
"""The rows of one page and how many there are in all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs or jobs a list holds; empty fields do not restrict."""

    owner_id: int = 0
    repo_id: int = 0
    run_id: int = 0
    statuses: tuple[int, ...] = ()
    events: tuple[str, ...] = ()
    ref: str = ""
    actor: str = ""
    sha: str = ""
    workflow_file: str = ""
    number: int = 0
    attempt: int = 0
    only_latest: bool = False
    is_descending: bool = False


_RUN: Final = tuple(column for column in s.run.c if column.name not in ("workflow_source", "inputs"))
_JOB: Final = tuple(column for column in s.job.c if column.name not in ("payload", "concurrency"))
_REPOSITORY: Final = (s.repository.c.owner_name, s.repository.c.name.label("repo_name"))
_RUN_OF_JOB: Final = tuple(
    s.run.c[name].label(f"run_{name}")
    for name in ("number", "ref", "event", "title", "workflow_file", "needs_approval")
)


def list_runs(conn: Connection, wanted: RunFilter, page: Page) -> Found:
    """Return runs, newest first, each with ``owner_name`` and ``repo_name``."""
    where = _run_conditions(wanted)
    query = select(*_RUN, *_REPOSITORY).join_from(s.run, s.repository, s.run.c.repo_id == s.repository.c.id)
    return _page(conn, query.where(*where).order_by(s.run.c.id.desc()), page, _count(conn, s.run, where))


def find_run(conn: Connection, repo_id: int, run_id: int) -> dict[str, Any] | None:
    """Return one run of a repository, or None."""
    query = select(*_RUN, *_REPOSITORY).join_from(s.run, s.repository, s.run.c.repo_id == s.repository.c.id)
    return _first(conn, query.where(s.run.c.repo_id == repo_id, s.run.c.id == run_id))


def find_attempt(conn: Connection, run_id: int, number: int) -> dict[str, Any] | None:
    """Return one attempt of a run, or None."""
    query = select(s.run_attempt).where(s.run_attempt.c.run_id == run_id, s.run_attempt.c.number == number)
    return _first(conn, query)


def list_jobs(conn: Connection, wanted: RunFilter, page: Page) -> Found:
    """Return jobs in order of id, each with its run's columns as ``run_*``, its task, steps and runner."""
    where = _job_conditions(wanted)
    order = s.job.c.id.desc() if wanted.is_descending else s.job.c.id
    rows, total = _page(conn, _jobs().where(*where).order_by(order), page, _count(conn, s.job, where))
    return _with_tasks(conn, rows), total


def find_job(conn: Connection, repo_id: int, job_id: int) -> dict[str, Any] | None:
    """Return one job of a repository as `list_jobs` does, or None."""
    row = _first(conn, _jobs().where(s.job.c.repo_id == repo_id, s.job.c.id == job_id))
    return None if row is None else _with_tasks(conn, [row])[0]


def list_waiting_or_running(conn: Connection, wanted: RunFilter) -> list[dict[str, Any]]:
    """Return the jobs of a scope that wait for or have a runner, in order of id."""
    where = _job_conditions(wanted)
    query = _jobs().where(*where).order_by(s.job.c.id).limit(SEARCHED_JOBS_MAX)
    return [dict(row) for row in conn.execute(query).mappings()]


def list_tasks(conn: Connection, repo_id: int, page: Page) -> Found:
    """Return a repository's tasks, newest first, each with its job's name and its run's columns as ``run_*``."""
    columns = [column for column in s.task.c if column.name in _TASK_COLUMNS]
    query = (
        select(*columns, s.job.c.name, s.job.c.run_id, *_RUN_OF_JOB)
        .join_from(s.task, s.job, s.task.c.job_id == s.job.c.id)
        .join(s.run, s.job.c.run_id == s.run.c.id)
    )
    where = [s.task.c.repo_id == repo_id]
    return _page(conn, query.where(*where).order_by(s.task.c.id.desc()), page, _count(conn, s.task, where))


def list_workflows(conn: Connection, repo_id: int) -> list[dict[str, Any]]:
    """Return a repository's workflow files in order of name."""
    query = select(s.workflow).where(s.workflow.c.repo_id == repo_id).order_by(s.workflow.c.file)
    return [dict(row) for row in conn.execute(query).mappings()]


def list_secrets(conn: Connection, owner_id: int, repo_id: int) -> list[dict[str, Any]]:
    """Return a scope's secrets without their values, in order of id."""
    shown = (s.secret.c.name, s.secret.c.description, s.secret.c.created_us)
    where = (s.secret.c.owner_id == owner_id, s.secret.c.repo_id == repo_id)
    return [dict(row) for row in conn.execute(select(*shown).where(*where).order_by(s.secret.c.id)).mappings()]


def list_variables(conn: Connection, owner_id: int, repo_id: int) -> list[dict[str, Any]]:
    """Return a scope's variables with their values, in order of id."""
    where = (s.variable.c.owner_id == owner_id, s.variable.c.repo_id == repo_id)
    query = select(s.variable).where(*where).order_by(s.variable.c.id)
    return [dict(row) for row in conn.execute(query).mappings()]


_TASK_COLUMNS: Final = frozenset(
    (
        *("id", "job_id", "attempt", "runner_id", "repo_id", "commit_sha", "status", "log_rows", "is_log_expired"),
        *("created_us", "updated_us", "started_us", "stopped_us"),
    )
)


def _jobs() -> Select[Any]:
    return (
        select(*_JOB, *_RUN_OF_JOB, *_REPOSITORY)
        .join_from(s.job, s.run, s.job.c.run_id == s.run.c.id)
        .join(s.repository, s.job.c.repo_id == s.repository.c.id)
    )


def _run_conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    run = s.run.c
    given: list[tuple[Any, ColumnElement[bool]]] = [
        (wanted.owner_id, run.owner_id == wanted.owner_id),
        (wanted.repo_id, run.repo_id == wanted.repo_id),
        (wanted.statuses, run.status.in_(wanted.statuses)),
        (wanted.events, run.event.in_(wanted.events)),
        (wanted.ref, run.ref == wanted.ref),
        (wanted.actor, run.actor == wanted.actor),
        (wanted.sha, run.commit_sha == wanted.sha),
        (wanted.workflow_file, run.workflow_file == wanted.workflow_file),
        (wanted.number, run.number == wanted.number),
    ]
    return [condition for is_given, condition in given if is_given]


def _job_conditions(wanted: RunFilter) -> list[ColumnElement[bool]]:
    job = s.job.c
    given: list[tuple[Any, ColumnElement[bool]]] = [
        (wanted.owner_id, job.owner_id == wanted.owner_id),
        (wanted.repo_id, job.repo_id == wanted.repo_id),
        (wanted.run_id, job.run_id == wanted.run_id),
        (wanted.statuses, job.status.in_(wanted.statuses)),
        (wanted.attempt, job.attempt == wanted.attempt),
        (wanted.only_latest, job.is_latest.is_(True)),
    ]
    return [condition for is_given, condition in given if is_given]


def _count(conn: Connection, table: Table, where: Sequence[ColumnElement[bool]]) -> int:
    total: int = conn.execute(select(func.count()).select_from(table).where(*where)).scalar_one()
    return total


def _page(conn: Connection, query: Select[Any], page: Page, total: int) -> Found:
    limit, offset = page
    rows = conn.execute(query.limit(limit).offset(offset)).mappings()
    return [dict(row) for row in rows], total


def _first(conn: Connection, query: Select[Any]) -> dict[str, Any] | None:
    row = conn.execute(query).mappings().first()
    return None if row is None else dict(row)


def _with_tasks(conn: Connection, jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add ``task`` (None without one), ``steps`` and ``runner_name`` to each job row."""
    ids = [task_id for job in jobs if (task_id := job["task_id"] or job["source_task_id"])][:_PARAMETERS_MAX]
    columns = [column for column in s.task.c if column.name in _TASK_COLUMNS]
    tasks = {row["id"]: row for row in conn.execute(select(*columns).where(s.task.c.id.in_(ids))).mappings()}
    steps: dict[int, list[RowMapping]] = {}
    for step in conn.execute(
        select(s.step).where(s.step.c.task_id.in_(ids)).order_by(s.step.c.task_id, s.step.c.number)
    ).mappings():
        steps.setdefault(step["task_id"], []).append(step)
    runner_ids = {row["runner_id"] for row in tasks.values()}
    live = select(s.runner.c.id, s.runner.c.name).where(s.runner.c.id.in_(runner_ids), s.runner.c.deleted_us == 0)
    names = {row.id: row.name for row in conn.execute(live)}
    filled = []
    for job in jobs:
        task = tasks.get(job["task_id"] or job["source_task_id"])
        extra = {"task": task, "steps": steps.get(task["id"], []) if task else [], "runner_name": ""}
        if task is not None:
            extra["runner_name"] = names.get(task["runner_id"], "")
        filled.append({**job, **extra})
    return filled
