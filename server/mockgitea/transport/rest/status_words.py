"""Statuses in REST's words: `queued`, `in_progress`, `completed` with a conclusion. Pure tables."""

from typing import Final

from actionswire.result import FINAL, Status

_WORDS: Final = {
    Status.WAITING: "queued",
    Status.BLOCKED: "waiting",
    Status.RUNNING: "in_progress",
    Status.CANCELLING: "in_progress",
    Status.UNKNOWN: "waiting",
}

_FILTERS: Final[dict[str, frozenset[Status]]] = {
    "queued": frozenset({Status.WAITING}),
    "waiting": frozenset({Status.BLOCKED}),
    "pending": frozenset({Status.BLOCKED}),
    "requested": frozenset({Status.BLOCKED}),
    "action_required": frozenset({Status.BLOCKED}),
    # A cancelling job is shown as in progress, yet this filter does not find it: so does the real server.
    "in_progress": frozenset({Status.RUNNING}),
    "completed": FINAL,
    "success": frozenset({Status.SUCCESS}),
    "failure": frozenset({Status.FAILURE}),
    "skipped": frozenset({Status.SKIPPED}),
    "neutral": frozenset({Status.SKIPPED}),
    "cancelled": frozenset({Status.CANCELLED}),
    "timed_out": frozenset({Status.CANCELLED}),
}


def status_and_conclusion(status: int) -> tuple[str, str]:
    """Return REST's two words for a status; the conclusion is empty until the end."""
    held = Status(status)
    return ("completed", held.text) if held.is_final else (_WORDS[held], "")


def statuses_of_filter(word: str) -> frozenset[Status] | None:
    """Return what Gitea's `?status=` means, or None for a word it does not know."""
    return _FILTERS.get(word)


def status_named(word: str) -> Status | None:
    """Return what Forgejo's `?status=` means: the plain names, `cancelling` excepted."""
    if word == Status.CANCELLING.text:
        return None
    return Status[word.upper()] if word.upper() in Status.__members__ and word.islower() else None
