"""Short English texts of the page: status words, why a job does not run yet, descriptions as safe HTML.

Everything that ends in HTML escapes what people wrote. Source: docs/protocol.md, "Page".
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape as html_escape
from typing import Any, Final

from actionswire.result import Status
from mockgitea.core.page_links import PageLinks

_WORDS: Final = {
    Status.UNKNOWN: "Unknown",
    Status.SUCCESS: "Success",
    Status.FAILURE: "Failure",
    Status.CANCELLED: "Canceled",
    Status.SKIPPED: "Skipped",
    Status.WAITING: "Waiting",
    Status.RUNNING: "Running",
    Status.BLOCKED: "Blocked",
    Status.CANCELLING: "Canceling",
}
_NEEDS_APPROVAL: Final = "This run needs approval before its jobs may start."


def escape(text: str) -> str:
    """Return text made safe for HTML, attributes included."""
    return html_escape(text, quote=True)


def status_word(status: Status) -> str:
    """Return the word for a status as a person reads it."""
    return _WORDS[status]


def pending_needs(job: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return those of a job's `needs` that are not final yet, in the order of the workflow file."""
    unfinished = {other["job_id"] for other in jobs if not Status(other["status"]).is_final}
    known = {other["job_id"] for other in jobs}
    return [need for need in job["needs"] if need in unfinished or need not in known]


def detail_text(run: Mapping[str, Any], job: Mapping[str, Any], jobs: Sequence[Mapping[str, Any]]) -> str:
    """Return the one line under a job's title: why it does not run yet, or its status."""
    status = Status(job["status"])
    if run["needs_approval"]:
        return _NEEDS_APPROVAL
    if status is Status.BLOCKED and (pending := pending_needs(job, jobs)):
        return f"Waiting for other jobs to finish: {', '.join(pending)}"
    if status is Status.WAITING:
        return f"Waiting for a runner with the labels: {', '.join(job['runs_on']) or '(any)'}"
    return job["failure_reason"] or status_word(status)


def forgejo_details(run: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """Return Forgejo's lines under a job's title, as HTML."""
    status = Status(job["status"])
    if status is Status.WAITING:
        labels = escape(", ".join(job["runs_on"])) or "(any)"
        lines = [f"Waiting for a runner with the labels: {labels}"]
    else:
        lines = [escape(job["failure_reason"]) or status_word(status)]
    return [*lines, _NEEDS_APPROVAL] if run["needs_approval"] else lines


def forgejo_description(run: Mapping[str, Any], links: PageLinks) -> str:
    """Return Forgejo's line under a run's title, as HTML."""
    sha, actor = run["commit_sha"], run["actor"]
    commit = f'<a href="{escape(links.commit(sha))}">{escape(sha[:10])}</a>'
    if run["event"] == "schedule":
        return f"Scheduled run of commit {commit}"
    verb = "dispatched" if run["event"] == "workflow_dispatch" else "pushed"
    return f'Commit {commit} {verb} by <a href="{escape(links.user(actor))}">{escape(actor)}</a>'


def time_since_html(at_us: int) -> str:
    """Return Forgejo's element for a moment in the past."""
    if not at_us:
        return "-"
    text = datetime.fromtimestamp(at_us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return f'<relative-time prefix="" tense="past" datetime="{text}">{text}</relative-time>'
