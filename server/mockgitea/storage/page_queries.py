"""Reads behind the page: runs with their jobs and attempts, a task with its steps, parts of a log for downloads.

Every function takes a reader connection and runs inside the caller's snapshot, so positions and rows of one answer
belong together. It decides nothing about what is shown; `core.slicing` and `core.page_shapes` do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Select, bindparam, func, select

from actionswire.result import Status
from mockgitea.core.slicing import StepSlice, TaskLog
from mockgitea.storage import schema

Row = dict[str, Any]
"""A stored row by column name; treat it as read-only."""

_run, _job, _task, _step, _repository, _attempt = (
    schema.run.c, schema.job.c, schema.task.c, schema.step.c, schema.repository.c, schema.run_attempt.c,
)  # fmt: skip
RUN_COLUMNS: Final = [column for column in _run if column.name not in ("workflow_source", "event_payload", "inputs")]
JOB_COLUMNS: Final = [column for column in _job if column.name not in ("payload", "concurrency")]

# A watched job is asked about once a second by every watcher, so the statements of a poll are built once.
_runs, _jobs = select(*RUN_COLUMNS), select(*JOB_COLUMNS).order_by(_job.id)
_REPOSITORY_NAMED: Final = select(schema.repository).where(
    _repository.owner_name == bindparam("owner"), _repository.name == bindparam("repo")
)
_REPOSITORY: Final = select(schema.repository).where(_repository.id == bindparam("repo_id"))
_RUN: Final = _runs.where(_run.id == bindparam("run_id"))
_RUN_NUMBERED: Final = _runs.where(_run.repo_id == bindparam("in_repo"), _run.number == bindparam("nth"))
_LATEST_RUN: Final = _runs.where(_run.repo_id == bindparam("in_repo")).order_by(_run.id.desc()).limit(1)
_JOBS_LATEST: Final = _jobs.where(_job.run_id == bindparam("of_run"), _job.is_latest)
_JOBS_OF_ATTEMPT: Final = _jobs.where(_job.run_id == bindparam("of_run"), _job.attempt == bindparam("nth"))
_JOB: Final = _jobs.where(_job.id == bindparam("job_row"), _job.run_id == bindparam("of_run"))
_ATTEMPTS: Final = select(schema.run_attempt).where(_attempt.run_id == bindparam("of_run")).order_by(_attempt.number)
_TASK: Final = select(schema.task).where(_task.id == bindparam("task_row"))
_TASKS: Final = (
    select(schema.task).where(_task.job_id == bindparam("of_job")).order_by(_task.attempt.desc(), _task.id.desc())
)
_TASK_OF_ATTEMPT: Final = _TASKS.where(_task.attempt == bindparam("nth"))
_STEPS: Final = (
    select(_step.name, _step.status, _step.log_index, _step.log_length, _step.started_us, _step.stopped_us)
    .where(_step.task_id == bindparam("of_task"))
    .order_by(_step.number)
)


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """One task with its steps, ready for slicing."""

    row: Row
    log: TaskLog
    steps: Sequence[StepSlice]


def repository_named(conn: Connection, owner: str, name: str) -> Row | None:
    """Return the repository's row; names match without regard to case, as in Gitea, exact ones first."""
    if (found := _first(conn, _REPOSITORY_NAMED, owner=owner, repo=name)) is not None:
        return found
    any_case = select(schema.repository).where(
        func.lower(_repository.owner_name) == owner.lower(), func.lower(_repository.name) == name.lower()
    )
    return _first(conn, any_case)


def repository_by_id(conn: Connection, repo_id: int) -> Row | None:
    """Return the repository's row."""
    return _first(conn, _REPOSITORY, repo_id=repo_id)


def run_by_id(conn: Connection, run_id: int, *, repo_id: int | None = None) -> Row | None:
    """Return the run with this id, of this repository if one is named."""
    run = _first(conn, _RUN, run_id=run_id)
    return run if run is None or repo_id in (None, run["repo_id"]) else None


def run_by_number(conn: Connection, repo_id: int, number: int) -> Row | None:
    """Return the repository's run with this number (the index of old URLs)."""
    return _first(conn, _RUN_NUMBERED, in_repo=repo_id, nth=number)


def latest_run(conn: Connection, repo_id: int) -> Row | None:
    """Return the repository's newest run."""
    return _first(conn, _LATEST_RUN, in_repo=repo_id)


def list_runs(conn: Connection, *, repo_id: int | None = None, before_id: int = 0, limit: int) -> Sequence[Row]:
    """Return runs, newest first, with their repository's names as `owner_name` and `repo_name`.

    Args:
        conn: reader connection.
        repo_id: only this repository's.
        before_id: only runs older than this id; 0 = from the newest.
        limit: at most so many.
    """
    query = (
        select(*RUN_COLUMNS, schema.repository.c.owner_name, schema.repository.c.name.label("repo_name"))
        .join(schema.repository, schema.repository.c.id == schema.run.c.repo_id)
        .order_by(schema.run.c.id.desc())
        .limit(limit)
    )
    if repo_id is not None:
        query = query.where(schema.run.c.repo_id == repo_id)
    if before_id:
        query = query.where(schema.run.c.id < before_id)
    return _all(conn, query)


def jobs_of_run(conn: Connection, run_id: int, *, attempt: int | None = None) -> Sequence[Row]:
    """Return the run's jobs in order of birth: of one attempt, or the latest ones."""
    if attempt is None:
        return _all(conn, _JOBS_LATEST, of_run=run_id)
    return _all(conn, _JOBS_OF_ATTEMPT, of_run=run_id, nth=attempt)


def job_by_id(conn: Connection, job_id: int, *, run_id: int) -> Row | None:
    """Return the run's job with this row id, of whatever attempt."""
    return _first(conn, _JOB, job_row=job_id, of_run=run_id)


def attempts_of_run(conn: Connection, run_id: int) -> Sequence[Row]:
    """Return the run's attempt records, first one first; empty where reruns keep the job rows."""
    return _all(conn, _ATTEMPTS, of_run=run_id)


def pull_request_number(conn: Connection, run_id: int) -> int:
    """Return the number of the pull request in the run's event payload, 0 when there is none."""
    payload = conn.execute(select(schema.run.c.event_payload).where(schema.run.c.id == run_id)).scalar_one_or_none()
    if not isinstance(payload, dict):
        return 0
    pull = payload.get("pull_request")
    number = payload.get("number") or (pull.get("number") if isinstance(pull, dict) else 0)
    return number if isinstance(number, int) else 0


def effective_task_id(job: Row) -> int:
    """Return the task whose log a job shows: its own, or the one of the attempt it was kept from."""
    return int(job["task_id"] or job["source_task_id"])


def task_by_id(conn: Connection, task_id: int) -> TaskRecord | None:
    """Return a task with its steps."""
    return _with_steps(conn, _first(conn, _TASK, task_row=task_id))


def task_of_attempt(conn: Connection, job_id: int, attempt: int) -> TaskRecord | None:
    """Return the task of this attempt at a job, the newest if there should be several."""
    return _with_steps(conn, _first(conn, _TASK_OF_ATTEMPT, of_job=job_id, nth=attempt))


def tasks_of_job(conn: Connection, job_id: int) -> Sequence[Row]:
    """Return every task of a job, newest attempt first."""
    return _all(conn, _TASKS, of_job=job_id)


def list_runners(conn: Connection, *, limit: int) -> Sequence[Row]:
    """Return runners that are not deleted, oldest first, with `scope_owner` or `scope_repository` if they have one."""
    runner, owner, repository = schema.runner, schema.owner, schema.repository
    query = (
        select(
            *[column for column in runner.c if column.name not in ("token_hash", "token_salt")],
            owner.c.name.label("scope_owner"),
            (repository.c.owner_name + "/" + repository.c.name).label("scope_repository"),
        )
        .outerjoin(owner, owner.c.id == runner.c.owner_id)
        .outerjoin(repository, repository.c.id == runner.c.repo_id)
        .where(runner.c.deleted_us == 0)
        .order_by(runner.c.id)
        .limit(limit)
    )
    return _all(conn, query)


def log_size(conn: Connection, task_id: int, rows: int) -> int:
    """Return the bytes of the first ``rows`` stored rows, a number of rows that some append ended at."""
    table = schema.log_chunk
    query = select(func.sum(func.length(table.c.body))).where(table.c.task_id == task_id, table.c.first_row < rows)
    return int(conn.execute(query).scalar_one_or_none() or 0)


def read_log_part(conn: Connection, task_id: int, first: int, end: int, *, chunks: int) -> tuple[bytes, int]:
    """Read a part of a log for a download.

    Returns:
        The bytes of at most ``chunks`` stored chunks from row ``first`` on, none from row ``end`` on, and the row
        where the next part begins (``first`` again when there is nothing left).
    """
    table = schema.log_chunk
    query = (
        select(table.c.first_row, table.c.row_count, table.c.body)
        .where(table.c.task_id == task_id, table.c.first_row >= first, table.c.first_row < end)
        .order_by(table.c.first_row)
        .limit(chunks)
    )
    parts, following = [], first
    for first_row, row_count, body in conn.execute(query):
        parts.append(body)
        following = first_row + row_count
    return b"".join(parts), following


def _with_steps(conn: Connection, row: Row | None) -> TaskRecord | None:
    if row is None:
        return None
    steps = [
        StepSlice(
            name=name,
            status=Status(status),
            log_index=log_index,
            log_length=log_length,
            started_us=started_us,
            stopped_us=stopped_us,
        )
        for name, status, log_index, log_length, started_us, stopped_us in conn.execute(_STEPS, {"of_task": row["id"]})
    ]
    log = TaskLog(
        status=Status(row["status"]),
        log_rows=row["log_rows"],
        started_us=row["started_us"],
        stopped_us=row["stopped_us"],
    )
    return TaskRecord(row, log, steps)


def _first(conn: Connection, query: Select[Any], **parameters: Any) -> Row | None:
    row = conn.execute(query, parameters).first()
    return None if row is None else row._asdict()


def _all(conn: Connection, query: Select[Any], **parameters: Any) -> Sequence[Row]:
    return [row._asdict() for row in conn.execute(query, parameters)]
