"""What a job's status looks like beside its commit: context, state, description and target.

Source: docs/protocol.md, "Commit statuses".
"""

from typing import Final

from actionswire.result import Status
from mockgitea.core.durations import duration_text
from mockgitea.core.profiles import Profile

CONTEXT_CHARS_MAX: Final = 255

_EVENTS: Final = frozenset({"push", "pull_request", "pull_request_target", "release"})
_REVIEW_EVENTS: Final = frozenset(
    {
        "pull_request_review",
        "pull_request_review_approved",
        "pull_request_review_rejected",
        "pull_request_review_comment",
    }
)
_STATES: Final = {Status.SUCCESS: "success", Status.FAILURE: "failure", Status.CANCELLED: "failure"}
_SHORT: Final = {
    Status.CANCELLING: "Canceling",
    Status.WAITING: "Waiting to run",
    Status.BLOCKED: "Blocked by required conditions",
}
_NEW: Final = {Status.SKIPPED: "Skipped", Status.RUNNING: "In progress"}
_OLD: Final = {
    Status.SKIPPED: "Has been skipped",
    Status.RUNNING: "Has started running",
    Status.CANCELLED: "Has been cancelled",
}
_TIMED: Final = {Status.SUCCESS: "Successful in", Status.FAILURE: "Failing after", Status.CANCELLED: "Canceled after"}


def has_commit_status(event: str, profile: Profile) -> bool:
    """Tell whether runs of this event show beside their commit."""
    return event in _EVENTS or (profile.commit_status_reviews and event in _REVIEW_EVENTS)


def status_context(*, workflow_name: str, workflow_file: str, job_name: str, event: str, profile: Profile) -> str:
    """Return the name under which a job's status is kept, e.g. ``CI / build (push)``.

    Source: docs/protocol.md, "Commit statuses".
    """
    first = workflow_name or (workflow_file if profile.commit_status_unnamed == "file" else "")
    return f"{first} / {job_name} ({event})"[:CONTEXT_CHARS_MAX].strip()


def status_state(status: Status, profile: Profile) -> str:
    """Return ``success``, ``failure``, ``pending`` or ``skipped``."""
    if status is Status.SKIPPED:
        return profile.commit_status_skipped
    return _STATES.get(status, "pending")


def status_description(status: Status, profile: Profile, *, started_us: int, stopped_us: int) -> str:
    """Return the sentence beside the state, e.g. ``Successful in 3s``.

    Source: docs/protocol.md, "Commit statuses".
    """
    words = _OLD if profile.commit_status_wording == "old" else _NEW
    if status in words:
        return words[status]
    if status in _TIMED:
        return f"{_TIMED[status]} {duration_text(started_us, stopped_us, status, stopped_us)}"
    return _SHORT.get(status, "")
