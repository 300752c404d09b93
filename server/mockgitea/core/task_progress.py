"""What one UpdateTask report does to a task and its steps: pure arithmetic on stored and sent values.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from actionswire.result import Result, Status
from mockgitea.core.messages import StepReport
from mockgitea.core.task_times import whole_seconds

OUTPUT_KEY_BYTES_MAX: Final = 255
OUTPUT_VALUE_BYTES_MAX: Final = 1_048_576


@dataclass(frozen=True, slots=True)
class StepRow:
    """One stored step."""

    number: int
    status: Status
    log_index: int
    log_length: int
    started_us: int
    stopped_us: int


def advance_steps(stored: Sequence[StepRow], reports: Sequence[StepReport]) -> list[StepRow]:
    """Return the stored steps that a report changes, in order.

    Zero values never erase anything, a non-zero result becomes the status, and a step without one that has a start
    time is (again) running. The start time looked at is the report's if the step is in it, else the stored one: so
    a step that is left out falls back to running once it had started, even when it was finished.

    Args:
        stored: every step of the task.
        reports: what the runner sent; the last of several reports of one step counts, unknown numbers are ignored.
    """
    by_number = {report.number: report for report in reports}
    moved = [_advanced(row, by_number.get(row.number)) for row in stored]
    return [new for old, new in zip(stored, moved, strict=True) if new != old]


def _advanced(row: StepRow, report: StepReport | None) -> StepRow:
    if report is None:
        return replace(row, status=Status.RUNNING) if row.started_us else row
    started, stopped = whole_seconds(report.started_us), whole_seconds(report.stopped_us)
    status = row.status
    if report.result is not Result.UNSPECIFIED:
        status = Status(int(report.result))
    elif started:
        status = Status.RUNNING
    return StepRow(
        number=row.number,
        status=status,
        log_index=report.log_index or row.log_index,
        log_length=report.log_length or row.log_length,
        started_us=started or row.started_us,
        stopped_us=stopped or row.stopped_us,
    )


def closing_status(stored: Status, result: Result) -> Status:
    """Return the final status a result gives a task: a cancelling one ends as cancelled whatever is reported."""
    assert result is not Result.UNSPECIFIED, "a heartbeat closes nothing"
    return Status.CANCELLED if stored is Status.CANCELLING else Status(int(result))


def storable_outputs(outputs: Mapping[str, str]) -> dict[str, str]:
    """Return the outputs that fit; keys over 255 bytes and values over 1 MiB are left out without an error."""
    return {
        key: value
        for key, value in outputs.items()
        if len(key.encode()) <= OUTPUT_KEY_BYTES_MAX and len(value.encode()) <= OUTPUT_VALUE_BYTES_MAX
    }
