"""JSON objects of Forgejo's REST v1 where they differ from Gitea's. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from actionswire.result import Status
from mockgitea.service.directory import RunnerRecord
from mockgitea.transport.rest import shapes
from mockgitea.transport.times import rfc3339

Row = Mapping[str, Any]


def runner(record: RunnerRecord, now_us: int) -> dict[str, Any]:
    """Show a runner."""
    return {
        "id": record.id,
        "uuid": record.uuid,
        "name": record.name,
        "version": record.version,
        "status": record.status(now_us),
        "labels": list(record.labels),
        "description": record.description,
        "ephemeral": record.is_ephemeral,
        "owner_id": record.owner_id,
        "repo_id": record.repo_id,
    }


def run(row: Row, links: shapes.Links) -> dict[str, Any]:
    """Show a run with `owner_name` and `repo_name`."""
    return {
        "id": row["id"],
        "title": row["title"],
        "repository": shapes.repository(row, links),
        "workflow_id": row["workflow_file"],
        "index_in_repo": row["number"],
        "trigger_user": shapes.user(row["actor"], links),
        "ScheduleID": 0,
        "prettyref": links.page.branch(row["ref"])[0],
        "is_ref_deleted": False,
        "commit_sha": row["commit_sha"],
        "is_fork_pull_request": row["is_fork_pull_request"],
        "need_approval": row["needs_approval"],
        "approved_by": 0,
        "event": row["event"],
        "event_payload": json.dumps(row["event_payload"]),
        "trigger_event": row["event"],
        "status": Status(row["status"]).text,
        "started": rfc3339(row["started_us"]),
        "stopped": rfc3339(row["stopped_us"]),
        "created": rfc3339(row["created_us"]),
        "updated": rfc3339(row["updated_us"]),
        **shapes.given("duration", _duration_ns(row)),
        "html_url": links.run_html(row),
    }


def job(row: Row) -> dict[str, Any]:
    """Show a job as the autoscaler's list does."""
    return {
        "id": row["id"],
        "run_id": row["run_id"],
        "attempt": row["attempt"],
        "handle": row["handle"],
        "repo_id": row["repo_id"],
        "owner_id": row["owner_id"],
        "name": row["name"],
        "needs": list(row["needs"]) or None,
        "runs_on": list(row["runs_on"]),
        "task_id": row["task_id"],
        "status": Status(row["status"]).text,
    }


def _duration_ns(row: Row) -> int:
    if not row["started_us"] or not row["stopped_us"]:
        return 0
    return int(max(row["stopped_us"] - row["started_us"], 0) * 1000)
