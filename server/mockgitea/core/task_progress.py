"""What one UpdateTask report does to a task and its steps: pure arithmetic on stored and sent values.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from actionswire.outputs import OUTPUT_KEY_BYTES_MAX, OUTPUT_VALUE_BYTES_MAX
from actionswire.result import Result, Status
from mockgitea.core.messages import StepReport
from mockgitea.core.task_times import whole_seconds

_STATUS_OF: Final = {result: Status(int(result)) for result in Result if result}


class StepRow(NamedTuple):
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
    return [new for row in stored if (new := _advanced(row, by_number.get(row.number))) != row]


def advance_again(
    stored: Sequence[StepRow], before: Sequence[StepReport], reports: Sequence[StepReport]
) -> list[StepRow]:
    """Return what `advance_steps` does for steps to which the report ``before`` was applied last, at less cost.

    Applying a report twice changes nothing, so only what differs from ``before`` can change a step.
    """
    if not len(stored) == len(before) == len(reports):
        return advance_steps(stored, reports)
    changed: list[StepRow] = []
    for row, old, new in zip(stored, before, reports, strict=True):
        if not row.number == old.number == new.number:
            return advance_steps(stored, reports)
        if new is not old and new != old and (advanced := _advanced(row, new)) != row:
            changed.append(advanced)
    return changed


def with_changes(stored: Sequence[StepRow], changed: Sequence[StepRow]) -> tuple[StepRow, ...]:
    """Return the stored steps after a change."""
    if not changed:
        return tuple(stored)
    by_number = {row.number: row for row in changed}
    return tuple([by_number.get(row.number, row) for row in stored])


def _advanced(row: StepRow, report: StepReport | None) -> StepRow:
    if report is None:
        return row._replace(status=Status.RUNNING) if row.started_us else row
    number, result, started_us, stopped_us, log_index, log_length = report
    started = whole_seconds(started_us) if started_us else 0
    status = row.status
    if result is not Result.UNSPECIFIED:
        status = _STATUS_OF[result]
    elif started:
        status = Status.RUNNING
    return StepRow(
        number,
        status,
        log_index or row.log_index,
        log_length or row.log_length,
        started or row.started_us,
        (whole_seconds(stopped_us) if stopped_us else 0) or row.stopped_us,
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
