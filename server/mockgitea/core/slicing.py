"""Step slicing: which rows of a task's log the page shows under which step.

The server keeps one log per task and, per step, a position and a length that only UpdateTask changes. The page shows
two artificial steps around the job's own, `Set up job` and `Complete job`, whose rows and status are derived here from
the stored task and step rows. Two leaks are kept on purpose, because every real server has them: rows that no stored
step covers yet appear under `Set up job` while no step has started, and under `Complete job` while the last step that
ran has failed. This module knows nothing of the database, of JSON or of time zones.
Source: docs/protocol.md, "Page".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from actionswire.result import Status

SET_UP_NAME: Final = "Set up job"
COMPLETE_NAME: Final = "Complete job"


class NoSuchStep(Exception):
    """A cursor names a step that the page does not have; a real server answers 500.

    Args:
        step: the index asked for.
        count: how many steps the page shows, artificial ones included.
    """

    def __init__(self, step: int, count: int) -> None:
        super().__init__(f"logCursors: there is no step {step}; the job shows {count} steps, numbered from 0")
        self.step = step
        self.count = count


class TaskLog(NamedTuple):
    """What slicing needs of a stored task. Times are microseconds, 0 = not yet; ``log_rows`` counts stored rows."""

    status: Status
    log_rows: int
    started_us: int = 0
    stopped_us: int = 0


class StepSlice(NamedTuple):
    """One step with its rows ``log_index .. log_index + log_length - 1``; stored steps and shown ones look alike."""

    name: str
    status: Status
    log_index: int = 0
    log_length: int = 0
    started_us: int = 0
    stopped_us: int = 0


@dataclass(frozen=True, slots=True)
class Cursor:
    """One entry of the page's request: from which row of which step it wants to go on, if that step is expanded."""

    step: int
    cursor: int = 0
    expanded: bool = False


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Rows to read for one cursor: ``count`` rows from absolute row ``first``; ``count`` 0 = nothing to serve."""

    first: int
    count: int


def shown_steps(task: TaskLog, steps: Sequence[StepSlice], *, set_up_ends_at_any_step: bool) -> list[StepSlice]:
    """Return the steps as the page shows them: `Set up job`, the job's own, `Complete job`.

    Args:
        task: the stored task.
        steps: its stored steps in order; may be empty.
        set_up_ends_at_any_step: `Set up job` ends where the first step that has started begins; False = only
            step 0 can end it (servers before 2024-09).

    Returns:
        ``len(steps) + 2`` steps, statuses as displayed.

    Source: docs/protocol.md, "Page".
    """
    shown = _around(task, steps, any_step=set_up_ends_at_any_step) if steps else _without_steps(task)
    if task.status is not Status.CANCELLING:
        return shown
    return [_as_cancelling(step) for step in shown]


def window(step: StepSlice, cursor: int, stored_rows: int) -> RowWindow:
    """Decide which rows an expanded cursor gets.

    Rows are served when the cursor lies inside the step and the row it points at is stored; then everything the step
    covers from there on that is stored. Otherwise nothing, and the page asks again with the same cursor.

    Args:
        step: a step as `shown_steps` returned it.
        cursor: rows of this step that the reader already holds; any integer.
        stored_rows: rows of the task that are stored.
    """
    first = step.log_index + cursor
    if not 0 <= cursor < step.log_length or not 0 <= first < stored_rows:
        return RowWindow(first=0, count=0)
    return RowWindow(first=first, count=min(step.log_length - cursor, stored_rows - first))


def step_at(shown: Sequence[StepSlice], index: int) -> StepSlice:
    """Return the shown step with this 0-based index.

    Raises:
        NoSuchStep: the index is negative or too large.
    """
    if not 0 <= index < len(shown):
        raise NoSuchStep(index, len(shown))
    return shown[index]


def _around(task: TaskLog, steps: Sequence[StepSlice], *, any_step: bool) -> list[StepSlice]:
    set_up = _set_up(task, steps, any_step=any_step)
    return [set_up, *steps, _complete(task, steps, set_up)]


def _set_up(task: TaskLog, steps: Sequence[StepSlice], *, any_step: bool) -> StepSlice:
    started = next((step for step in steps if _has_started(step)), None)
    ends_at = started if any_step or started is steps[0] else None
    return StepSlice(
        name=SET_UP_NAME,
        status=task.status if started is None else Status.SUCCESS,
        log_length=task.log_rows if ends_at is None else ends_at.log_index,
        started_us=task.started_us,
        stopped_us=task.stopped_us if ends_at is None else ends_at.started_us,
    )


def _complete(task: TaskLog, steps: Sequence[StepSlice], set_up: StepSlice) -> StepSlice:
    last_run = next((step for step in reversed(steps) if step.status.has_run), set_up)
    has_begun = last_run.status is Status.FAILURE or last_run is steps[-1]
    index = set_up.log_length + sum(step.log_length for step in steps) if has_begun else 0
    status = Status.RUNNING if has_begun else Status.WAITING
    return StepSlice(
        name=COMPLETE_NAME,
        status=task.status if task.status.is_final else status,
        log_index=index,
        log_length=task.log_rows - index if has_begun else 0,
        started_us=last_run.stopped_us if has_begun else 0,
        stopped_us=task.stopped_us if task.status.is_final else 0,
    )


def _without_steps(task: TaskLog) -> list[StepSlice]:
    first, second = Status.RUNNING, Status.WAITING
    if task.status.is_final:
        first = task.status
        second = Status.SUCCESS if task.status is Status.SUCCESS else Status.CANCELLED
    return [
        StepSlice(
            name=SET_UP_NAME,
            status=first,
            log_length=task.log_rows,
            started_us=task.started_us,
            stopped_us=task.stopped_us,
        ),
        StepSlice(
            name=COMPLETE_NAME,
            status=second,
            log_index=task.log_rows,
            started_us=task.stopped_us,
            stopped_us=task.stopped_us,
        ),
    ]


def _has_started(step: StepSlice) -> bool:
    return step.status is Status.RUNNING or step.status.has_run


def _as_cancelling(step: StepSlice) -> StepSlice:
    if step.status is not Status.RUNNING:
        return step
    return StepSlice(
        name=step.name,
        status=Status.CANCELLING,
        log_index=step.log_index,
        log_length=step.log_length,
        started_us=step.started_us,
        stopped_us=step.stopped_us,
    )
