"""The one table of legal status changes of jobs, tasks and steps.

Storage guards its updates with it, the state-machine document shows it, and the model tests watch that nothing else
ever happens. A run has no machine of its own: its status is computed from its jobs (`run_status`).
Source: docs/state-machines.md.
"""

from collections.abc import Mapping
from typing import Final

from actionswire.result import FINAL, Status

Machine = Mapping[Status, frozenset[Status]]
"""From each status to those that may follow it."""


def _to(*statuses: Status) -> frozenset[Status]:
    return frozenset(statuses)


JOB: Final[Machine] = {
    Status.BLOCKED: _to(Status.WAITING, Status.SKIPPED, Status.CANCELLED, Status.FAILURE),
    Status.WAITING: _to(Status.RUNNING, Status.CANCELLED, Status.FAILURE),
    Status.RUNNING: _to(*FINAL, Status.CANCELLING, Status.WAITING),
    Status.CANCELLING: _to(Status.CANCELLED),
    **{status: _to(Status.WAITING, Status.BLOCKED) for status in sorted(FINAL)},
}
"""Final jobs move only in a rerun on servers that keep the rows; running to waiting is a released claim."""

TASK: Final[Machine] = {
    Status.RUNNING: _to(*FINAL, Status.CANCELLING),
    Status.CANCELLING: _to(Status.CANCELLED),
    **{status: _to() for status in sorted(FINAL)},
}

STEP: Final[Machine] = {
    Status.WAITING: _to(*FINAL, Status.RUNNING),
    Status.RUNNING: _to(*FINAL),
    **{status: _to(*FINAL - {status}, Status.RUNNING) for status in sorted(FINAL)},
}
"""A step says whatever the last report says, but never waits again."""


def origins(machine: Machine, target: Status) -> tuple[int, ...]:
    """Return the statuses, as stored numbers, from which ``target`` may be reached."""
    return tuple(sorted(int(status) for status, following in machine.items() if target in following))
