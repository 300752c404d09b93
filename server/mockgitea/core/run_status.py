"""One status out of many: a run's from its jobs, and a matrix job's from its siblings.

Source: docs/protocol.md, "Statuses".
"""

from collections.abc import Iterable
from typing import Final

from actionswire.result import Status
from mockgitea.core.profiles import RunStatusRule

_GOOD: Final = frozenset({Status.SUCCESS, Status.SKIPPED})
_UNBEGUN: Final = frozenset({Status.WAITING, Status.BLOCKED})

_PRECEDENCE: Final[dict[RunStatusRule, tuple[Status, ...]]] = {
    RunStatusRule.GITEA_1_27: (
        Status.CANCELLING,
        Status.RUNNING,
        Status.WAITING,
        Status.BLOCKED,
        Status.CANCELLED,
        Status.FAILURE,
    ),
    RunStatusRule.GITEA_1_25: (
        Status.CANCELLED,
        Status.RUNNING,
        Status.WAITING,
        Status.FAILURE,
        Status.BLOCKED,
    ),
    RunStatusRule.FORGEJO: (
        Status.CANCELLED,
        Status.FAILURE,
        Status.RUNNING,
        Status.WAITING,
        Status.BLOCKED,
    ),
}
"""After "all skipped" and "all success or skipped": the first of these that any job has is the run's."""


def aggregate(statuses: Iterable[Status], rule: RunStatusRule) -> Status:
    """Return the status of the whole; ``UNKNOWN`` for nothing.

    Args:
        statuses: one per job, each as `counted` returns it.
        rule: the imitated server's order of precedence.
    """
    present = frozenset(statuses)
    if not present:
        return Status.UNKNOWN
    if rule in (RunStatusRule.GITEA_1_20, RunStatusRule.GITEA_1_21):
        return _before_1_23(present)
    if present == {Status.SKIPPED}:
        return Status.SKIPPED
    if present <= _GOOD:
        return Status.SUCCESS
    for status in _PRECEDENCE[rule]:
        if status in present:
            return status
    return Status.FAILURE


def counted(status: Status, rule: RunStatusRule, *, continues_on_error: bool) -> Status:
    """Return what a job's status counts as: a tolerated failure is a success where the server reads that key."""
    if continues_on_error and status is Status.FAILURE and rule is RunStatusRule.GITEA_1_27:
        return Status.SUCCESS
    return status


def _before_1_23(present: frozenset[Status]) -> Status:
    if all(status.is_final for status in present):
        return Status.FAILURE if present & {Status.FAILURE, Status.CANCELLED} else Status.SUCCESS
    return Status.WAITING if present <= _UNBEGUN else Status.RUNNING
