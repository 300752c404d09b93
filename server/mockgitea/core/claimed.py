"""What a claim hands to whoever builds the task message, and how that may fail."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedTask:
    """A task that was just given to a runner, with the rows it came from (column name -> value)."""

    task: Mapping[str, Any]
    job: Mapping[str, Any]
    run: Mapping[str, Any]
    token: str
    """The task's plain token; the row holds only its hash."""
    runner_name: str


class AssignmentFailed(Exception):
    """The task message of this job can never be built; the job fails alone with this text as its reason."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
