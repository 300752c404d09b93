"""The state of one task as UpdateTask tells it: results, times, and which rows belong to which step.

Owns the row arithmetic of steps; knows neither the rows' text nor when anything is sent.
"""

from typing import NamedTuple

from actionswire.result import Result


class StepReport(NamedTuple):
    """One step; ``log_index`` is the absolute number of its first row. Times are microseconds since 1970."""

    result: Result = Result.UNSPECIFIED
    started_us: int | None = None
    stopped_us: int | None = None
    log_index: int = 0
    log_length: int = 0


class TaskReport(NamedTuple):
    """What one UpdateTask says; ``steps`` are in file order, all of them, every time."""

    task_id: int
    result: Result
    started_us: int
    stopped_us: int | None
    steps: tuple[StepReport, ...]


class TaskState:
    """Follows one task from its first event to its result. Times are arguments."""

    def __init__(self, task_id: int, started_us: int) -> None:
        self._task_id = task_id
        self._started_us = started_us
        self._stopped_us: int | None = None
        self._result = Result.UNSPECIFIED
        self._steps: list[StepReport] = []
        self._active: int | None = None
        self._first = 0
        self._length = 0
        """The active step's rows that `_steps` does not count yet; a row costs no more than a number."""

    @property
    def result(self) -> Result:
        """The job's result; UNSPECIFIED until it is closed."""
        return self._result

    def steps_known(self, count: int) -> None:
        """Open ``count`` steps, none of which has started."""
        assert not self._steps, "the number of steps is said once"
        self._steps = [StepReport() for _ in range(count)]

    def row_appended(self, index: int) -> None:
        """Count the row at absolute ``index`` for the active step, if there is one."""
        if self._active is None:
            return
        if not self._length:
            self._first = index
        self._length += 1

    def step_started(self, index: int, at_us: int) -> None:
        """Make the step at ``index`` the active one."""
        self._count_rows()
        self._steps[index] = self._steps[index]._replace(started_us=at_us)
        self._active = index

    def step_finished(self, index: int, result: Result, *, at_us: int, next_row: int) -> None:
        """Record a conclusion; a step without rows stands where the next row will be."""
        self._count_rows()
        step = self._steps[index]
        self._steps[index] = step._replace(
            result=result,
            started_us=step.started_us if step.started_us is not None else at_us,
            stopped_us=at_us,
            log_index=step.log_index if step.log_length else next_row,
        )
        self._active = None

    def close(self, result: Result, *, at_us: int, next_row: int) -> None:
        """Record the job's result; steps without one become cancelled, or skipped if the whole job was."""
        assert result is not Result.UNSPECIFIED
        self._result = result
        self._stopped_us = at_us
        self._count_rows()
        self._active = None
        unfinished = Result.SKIPPED if result is Result.SKIPPED else Result.CANCELLED
        for index, step in enumerate(self._steps):
            if step.result is Result.UNSPECIFIED:
                self._steps[index] = step._replace(
                    result=unfinished,
                    stopped_us=at_us if step.started_us is not None else None,
                    log_index=step.log_index if step.log_length else next_row,
                )

    def report(self, *, final: bool) -> TaskReport:
        """Return the state to send; the result and the stop time are in it only if ``final``."""
        self._count_rows()
        return TaskReport(
            task_id=self._task_id,
            result=self._result if final else Result.UNSPECIFIED,
            started_us=self._started_us,
            stopped_us=self._stopped_us if final else None,
            steps=tuple(self._steps),
        )

    def _count_rows(self) -> None:
        """Give the active step the rows that came since the last look."""
        if self._active is None or not self._length:
            return
        step = self._steps[self._active]
        first = step.log_index if step.log_length else self._first
        self._steps[self._active] = step._replace(log_index=first, log_length=step.log_length + self._length)
        self._length = 0
