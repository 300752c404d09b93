"""From stored rows to the control API's answers. Pure; what must not be shown is not read in the first place."""

from collections.abc import Mapping
from typing import Any

from actionswire.result import Status
from mockgitea.service.directory import RunnerRecord
from mockgitea.transport.times import precise

Row = Mapping[str, Any]


def run_summary(row: Row) -> dict[str, Any]:
    """Show a run without its jobs."""
    return {**_timed(row), "status": Status(row["status"]).text}


def run(row: Row) -> dict[str, Any]:
    """Show a run with the jobs under ``jobs``."""
    return {**run_summary(row), "jobs": [job(each) for each in row["jobs"]]}


def job(row: Row) -> dict[str, Any]:
    """Show a job with its latest task under ``task``."""
    held = row["task"]
    return {**_timed(row), "status": Status(row["status"]).text, "task": None if held is None else task(held)}


def task(row: Row) -> dict[str, Any]:
    """Show a task with its steps and outputs."""
    return {
        **_timed(row),
        "status": Status(row["status"]).text,
        "steps": [{**_timed(step), "status": Status(step["status"]).text} for step in row["steps"]],
    }


def new_job(row: Row) -> dict[str, Any]:
    """Show a job of a run that was just made."""
    return {"id": row["id"], "job_id": row["job_id"], "name": row["name"], "status": Status(row["status"]).text}


def repository(row: Row) -> dict[str, Any]:
    """Show a repository row."""
    return {
        "id": row["id"],
        "owner": row["owner_name"],
        "name": row["name"],
        "full_name": f"{row['owner_name']}/{row['name']}",
        "default_branch": row["default_branch"],
    }


def commit_status(row: Row) -> dict[str, Any]:
    """Show a commit status row."""
    return {**_timed(row), "sha": row["commit_sha"]}


def runner(record: RunnerRecord, now_us: int) -> dict[str, Any]:
    """Show a runner as it stands at ``now_us``."""
    return {
        "id": record.id,
        "uuid": record.uuid,
        "name": record.name,
        "version": record.version,
        "description": record.description,
        "owner_id": record.owner_id,
        "repository_id": record.repo_id,
        "labels": list(record.labels),
        "status": record.status(now_us),
        "is_ephemeral": record.is_ephemeral,
        "is_disabled": record.is_disabled,
        "has_cancelling": record.has_cancelling,
        "last_online_at": precise(record.last_online_us),
        "last_active_at": precise(record.last_active_us),
        "created_at": precise(record.created_us),
    }


def _timed(row: Row) -> dict[str, Any]:
    return {
        (f"{key.removesuffix('_us')}_at" if key.endswith("_us") else key): (
            precise(value) if key.endswith("_us") else value
        )
        for key, value in row.items()
    }
