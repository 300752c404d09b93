"""Reads for the control API: runs, jobs, tasks and commit statuses as plain dictionaries without secrets.

Each function is one query for `Store.read`; times stay integer microseconds here.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, Select, func, select

from mockgitea.storage import schema as s

RUN_COLUMNS: Final = (
    s.run.c.id,
    s.run.c.number,
    (s.repository.c.owner_name + "/" + s.repository.c.name).label("repository"),
    s.run.c.workflow_file,
    s.run.c.workflow_name,
    s.run.c.title,
    s.run.c.event,
    s.run.c.ref,
    s.run.c.commit_sha.label("sha"),
    s.run.c.actor,
    s.run.c.triggering_actor,
    s.run.c.status,
    s.run.c.attempt,
    s.run.c.needs_approval,
    s.run.c.is_fork_pull_request,
    s.run.c.created_us,
    s.run.c.started_us,
    s.run.c.stopped_us,
)
_JOB_COLUMNS: Final = tuple(column for column in s.job.c if column.name not in ("payload", "concurrency"))
_SECRETIVE_TASK_COLUMNS: Final = frozenset({"token_hash", "token_salt", "token_last_eight", "request_key"})
_TASK_COLUMNS: Final = tuple(column for column in s.task.c if column.name not in _SECRETIVE_TASK_COLUMNS)
_ROW_BATCH: Final = 64


def find_run(conn: Connection, run_id: int) -> dict[str, Any] | None:
    """Return one run with the jobs of its latest attempt under ``jobs``, or None."""
    run = conn.execute(_runs().where(s.run.c.id == run_id)).mappings().first()
    if run is None:
        return None
    rows = conn.execute(select(*_JOB_COLUMNS).where(s.job.c.run_id == run_id, s.job.c.is_latest).order_by(s.job.c.id))
    return {**run, "jobs": _with_tasks(conn, rows.mappings().all())}


def list_runs(
    conn: Connection, *, repo_id: int | None, status: int | None, limit: int, offset: int
) -> tuple[list[dict[str, Any]], int]:
    """Return runs, newest first, and how many there are without the limit."""
    wanted = []
    if repo_id is not None:
        wanted.append(s.run.c.repo_id == repo_id)
    if status is not None:
        wanted.append(s.run.c.status == status)
    total = conn.execute(select(func.count()).select_from(s.run).where(*wanted)).scalar_one()
    rows = conn.execute(_runs().where(*wanted).order_by(s.run.c.id.desc()).limit(limit).offset(offset))
    return [dict(row) for row in rows.mappings()], total


def find_job(conn: Connection, job_id: int) -> dict[str, Any] | None:
    """Return one job row with its latest task under ``task``, or None."""
    rows = conn.execute(select(*_JOB_COLUMNS).where(s.job.c.id == job_id)).mappings().all()
    return _with_tasks(conn, rows)[0] if rows else None


def find_task(conn: Connection, task_id: int) -> dict[str, Any] | None:
    """Return one task with ``run_id``, ``steps`` and ``outputs``, or None."""
    return _tasks(conn, [task_id]).get(task_id)


def list_repositories(conn: Connection) -> list[dict[str, Any]]:
    """Return all repositories, oldest first."""
    return [dict(row) for row in conn.execute(select(s.repository).order_by(s.repository.c.id)).mappings()]


def list_commit_statuses(conn: Connection, *, repo_id: int | None, sha: str | None) -> list[dict[str, Any]]:
    """Return commit statuses in order of commit and context."""
    query = select(s.commit_status).order_by(s.commit_status.c.commit_sha, s.commit_status.c.context)
    if repo_id is not None:
        query = query.where(s.commit_status.c.repo_id == repo_id)
    if sha is not None:
        query = query.where(s.commit_status.c.commit_sha == sha)
    return [dict(row) for row in conn.execute(query).mappings()]


def _runs() -> Select[Any]:
    return select(*RUN_COLUMNS).join_from(s.run, s.repository, s.run.c.repo_id == s.repository.c.id)


def _with_tasks(conn: Connection, jobs: Sequence[RowMapping]) -> list[dict[str, Any]]:
    wanted = {job["id"]: job["task_id"] or job["source_task_id"] for job in jobs}
    tasks = _tasks(conn, [task_id for task_id in wanted.values() if task_id])
    return [{**job, "task": tasks.get(wanted[job["id"]])} for job in jobs]


def _tasks(conn: Connection, ids: Sequence[int]) -> dict[int, dict[str, Any]]:
    found: dict[int, dict[str, Any]] = {}
    for batch in _batches(ids):
        query = select(*_TASK_COLUMNS, s.job.c.run_id).join_from(s.task, s.job, s.task.c.job_id == s.job.c.id)
        rows = conn.execute(query.where(s.task.c.id.in_(batch))).mappings()
        found.update({row["id"]: {**row, "steps": [], "outputs": {}} for row in rows})
        steps = select(s.step).where(s.step.c.task_id.in_(batch)).order_by(s.step.c.task_id, s.step.c.number)
        by_task: defaultdict[int, list[dict[str, Any]]] = defaultdict(list)
        for step in conn.execute(steps).mappings():
            by_task[step["task_id"]].append(dict(step))
        for task_id, held in by_task.items():
            if task_id in found:
                found[task_id]["steps"] = held
        for output in conn.execute(select(s.task_output).where(s.task_output.c.task_id.in_(batch))):
            if output.task_id in found:
                found[output.task_id]["outputs"][output.key] = output.value
    return found


def _batches(ids: Sequence[int]) -> Iterator[list[int]]:
    for start in range(0, len(ids), _ROW_BATCH):
        yield list(ids[start : start + _ROW_BATCH])
