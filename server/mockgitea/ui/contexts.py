"""What the templates are given: plain values made of stored rows, on either port.

A `Trail` says where links lead, because the same pages live under Gitea's paths on the runner port and under our own
on the control port. Everything here also serves as the page's JSON twin, so it holds JSON-like values only.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol

from actionswire.result import Status
from mockgitea.core.durations import duration_text, seconds_text
from mockgitea.core.page_links import PageLinks
from mockgitea.core.page_shapes import JobView, Json, RunView
from mockgitea.core.page_words import detail_text, status_word

_SECOND_US = 1_000_000


class Trail(Protocol):
    """Where the pages of one port are."""

    def run(self, run: Mapping[str, Any]) -> str:
        """Path of a run's page."""

    def job(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job's page; its POST is the polling endpoint."""

    def log(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job's log download."""

    def actions(self, run: Mapping[str, Any]) -> str:
        """Path below which cancel and rerun are posted; empty where the port has none."""

    def runs(self) -> str:
        """Path of the list of runs."""


class WebTrail:
    """Gitea's own paths, on the runner port."""

    def __init__(self, links: PageLinks) -> None:
        self._links = links

    def run(self, run: Mapping[str, Any]) -> str:
        """Path of a run's page."""
        return self._links.run(run)

    def job(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job's page."""
        return self._links.job(run, job, index)

    def log(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job's log download."""
        return f"{self._links.job(run, job, index)}/logs"

    def actions(self, run: Mapping[str, Any]) -> str:
        """Path below which cancel and rerun are posted."""
        return self._links.run(run)

    def runs(self) -> str:
        """Path of the repository's runs."""
        return self._links.actions


class ControlTrail:
    """Our own paths, on the control port; read-only, changes go through the control API."""

    def run(self, run: Mapping[str, Any]) -> str:
        """Path of a run's page."""
        return f"/runs/{run['id']}"

    def job(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:  # noqa: ARG002,RUF100 - Trail
        """Path of a job's page."""
        return f"/runs/{run['id']}/jobs/{job['id']}"

    def log(self, run: Mapping[str, Any], job: Mapping[str, Any], index: int) -> str:
        """Path of a job's log download."""
        return f"{self.job(run, job, index)}/logs"

    def actions(self, run: Mapping[str, Any]) -> str:  # noqa: ARG002,RUF100 - Trail
        """Nothing is changed from here."""
        return ""

    def runs(self) -> str:
        """Path of all runs."""
        return "/"


def run_list(rows: Sequence[Mapping[str, Any]], trail_of: Any, now_us: int) -> list[Json]:
    """Return one entry per run.

    Args:
        rows: runs with `owner_name` and `repo_name`.
        trail_of: function from a row to its `Trail`.
        now_us: the clock.
    """
    return [_run_entry(row, trail_of(row).run(row), now_us) for row in rows]


def run_page(view: RunView, trail: Trail) -> Json:
    """Return the run with its jobs, each with its needs."""
    run = view.run
    repository = f"{view.links.owner}/{view.links.name}"
    entry = _run_entry(
        {**run, "owner_name": view.links.owner, "repo_name": view.links.name}, trail.run(run), view.now_us
    )
    entry["status"], entry["status_word"] = view.status.text, status_word(view.status)
    entry["needs_approval"] = bool(run["needs_approval"])
    return {
        "title": f"{run['title'] or run['workflow_file']} · {repository} #{run['number']}",
        "run": entry,
        "jobs": [_job_entry(view, trail, index) for index in range(len(view.jobs))],
        "summaries": [(job["name"], html) for job, html in view.job_summaries()],
        "runs_url": trail.runs(),
        "poll_url": trail.run(run) if view.is_latest else view.links.attempt(run, view.timed["number"]),
        "actions_url": trail.actions(run),
    }


def job_page(view: RunView, job: JobView, index: int, trail: Trail) -> Json:
    """Return the job among its siblings, with its steps but without rows: those come by polling."""
    page = run_page(view, trail)
    page["job"] = page["jobs"][index]
    page["title"] = f"{job.job['name']} · {page['title']}"
    page["poll_url"] = trail.job(view.run, job.job, index)
    page["log_url"] = trail.log(view.run, job.job, index)
    page["detail"] = detail_text(view.run, job.job, view.jobs)
    page["steps"] = [
        {
            "name": step.name,
            "status": step.status.text,
            "status_word": status_word(step.status),
            "duration": duration_text(step.started_us, step.stopped_us, step.status, view.now_us),
        }
        for step in job.steps
    ]
    return page


def runner_list(rows: Sequence[Mapping[str, Any]], status_of: Mapping[int, str], now_us: int) -> list[Json]:
    """Return one entry per runner; ``status_of`` holds offline, idle or active by runner id."""
    return [
        {
            "id": row["id"],
            "name": row["name"],
            "version": row["version"],
            "labels": list(row["labels"]),
            "scope": row["scope_repository"] or row["scope_owner"] or "all repositories",
            "status": status_of.get(row["id"], "offline"),
            "is_ephemeral": bool(row["is_ephemeral"]),
            "is_disabled": bool(row["is_disabled"]),
            "last_online": _ago(row["last_online_us"], now_us),
        }
        for row in rows
    ]


def _run_entry(row: Mapping[str, Any], link: str, now_us: int) -> Json:
    status = Status(row["status"])
    return {
        "id": row["id"],
        "number": row["number"],
        "repository": f"{row['owner_name']}/{row['repo_name']}",
        "name": row["title"] or row["workflow_name"] or row["workflow_file"],
        "workflow": row["workflow_file"],
        "event": row["event"],
        "ref": row["ref"].removeprefix("refs/heads/").removeprefix("refs/tags/"),
        "sha": row["commit_sha"][:10],
        "actor": row["actor"],
        "attempt": row["attempt"],
        "status": status.text,
        "status_word": status_word(status),
        "created": _time(row["created_us"]),
        "created_ago": _ago(row["created_us"], now_us),
        "duration": duration_text(row["started_us"], row["stopped_us"], status, now_us),
        "link": link,
    }


def _job_entry(view: RunView, trail: Trail, index: int) -> Json:
    job = view.jobs[index]
    status = Status(job["status"])
    return {
        "id": job["id"],
        "job_id": job["job_id"],
        "name": job["name"],
        "status": status.text,
        "status_word": status_word(status),
        "needs": list(job["needs"]),
        "runs_on": list(job["runs_on"]),
        "failure_reason": job["failure_reason"],
        "duration": duration_text(job["started_us"], job["stopped_us"], status, view.now_us),
        "link": trail.job(view.run, job, index),
    }


def _time(at_us: int) -> str:
    return datetime.fromtimestamp(at_us / _SECOND_US, UTC).strftime("%Y-%m-%d %H:%M:%S UTC") if at_us else ""


def _ago(at_us: int, now_us: int) -> str:
    if not at_us:
        return "never"
    seconds = max(0, now_us - at_us) // _SECOND_US
    if seconds < 1:
        return "now"
    return f"{seconds_text(seconds)} ago" if seconds < 86_400 else f"{seconds // 86_400} days ago"
