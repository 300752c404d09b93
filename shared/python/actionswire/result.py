"""Statuses of runs, jobs, tasks and steps, and the results that travel on the wire.

The numbers are those of the wire enum `runner.v1.Result` for the first five, and of Gitea's database for the rest.
Source: docs/protocol.md, "Statuses".
"""

from enum import IntEnum
from typing import Final


class Result(IntEnum):
    """`runner.v1.Result`."""

    UNSPECIFIED = 0
    SUCCESS = 1
    FAILURE = 2
    CANCELLED = 3
    SKIPPED = 4

    @property
    def text(self) -> str:
        """The word used in `needs.X.result` and in the page, e.g. ``success``."""
        return self.name.lower()


class Status(IntEnum):
    """One status vocabulary for runs, jobs, tasks and steps."""

    UNKNOWN = 0
    SUCCESS = 1
    FAILURE = 2
    CANCELLED = 3
    SKIPPED = 4
    WAITING = 5
    RUNNING = 6
    BLOCKED = 7
    CANCELLING = 8
    """Gitea >= 1.27 only: cancelled by a person, the runner is still running its post steps."""

    @property
    def is_final(self) -> bool:
        """True for success, failure, cancelled and skipped."""
        return self in FINAL

    @property
    def has_run(self) -> bool:
        """True for success and failure: the only statuses that count as "has run" when a log is sliced."""
        return self in HAS_RUN

    @property
    def as_result(self) -> Result:
        """What UpdateTask answers for a task of this status."""
        if self is Status.CANCELLING:
            return Result.CANCELLED
        return Result(int(self)) if self in FINAL else Result.UNSPECIFIED

    @property
    def text(self) -> str:
        """The word used in JSON, e.g. ``cancelling``."""
        return self.name.lower()


FINAL: Final = frozenset({Status.SUCCESS, Status.FAILURE, Status.CANCELLED, Status.SKIPPED})
HAS_RUN: Final = frozenset({Status.SUCCESS, Status.FAILURE})
