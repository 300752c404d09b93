"""When a person with the page open would have seen each row and each step: computed from what was stored when.

Follows one task through the calls that changed it and asks, at each tick of an imagined page, the same slicing rules
that the page's JSON is built with. The page is opened when the task is assigned, has every step expanded, and polls
once a second at a fixed phase. Pure; `watcher` polls the real endpoint and must come to the same result.
"""

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from actionswire.result import Status
from mockgitea.core.messages import StepReport
from mockgitea.core.slicing import StepSlice, TaskLog, shown_steps, window
from mockgitea.core.task_progress import StepRow, advance_steps

PAGE_PERIOD_US: Final = 1_000_000


def next_tick(after_us: int, phase_us: int) -> int:
    """Return the first tick of the page at or after an instant."""
    return after_us + (phase_us - after_us) % PAGE_PERIOD_US


@dataclass(slots=True, eq=False)
class PageModel:
    """One task as the server stored it and as the page shows it. Times are microseconds on one clock.

    Args:
        assigned_us: when the page is opened.
        phase_us: the page polls whenever the time modulo one second is this.
        any_step: the profile's `set_up_ends_at_any_step`.
        on_rows: called once for every row that is seen: the own times of rows that are seen together, and when.
    """

    assigned_us: int
    phase_us: int
    any_step: bool
    on_rows: Callable[[Sequence[int], int], None]
    status: Status = Status.RUNNING
    steps: list[StepRow] = field(default_factory=list)
    row_us: "array[int]" = field(default_factory=lambda: array("q"))
    seen: bytearray = field(default_factory=bytearray)
    _slices: list[StepSlice] = field(default_factory=list)
    """The steps as the slicing rules want them."""
    _cursors: list[int] = field(default_factory=list)
    _changed_us: int | None = None
    """When the stored state changed for the first time since the page asked last."""
    _is_over: bool = False

    @property
    def rows(self) -> int:
        """Rows stored."""
        return len(self.row_us)

    @property
    def unseen(self) -> int:
        """Rows stored and not shown so far."""
        return len(self.seen) - sum(self.seen)

    def stored(self, times_us: Sequence[int], at_us: int) -> None:
        """Take rows that the server stored."""
        self.look(at_us)
        self.row_us.extend(times_us)
        self.seen.extend(bytes(len(times_us)))
        self._change(at_us)

    def reported(self, reports: Sequence[StepReport], status: Status, at_us: int) -> None:
        """Take a report that the server applied; ``status`` is the task's afterwards."""
        self.look(at_us)
        if not self.steps and reports:
            self.steps = [StepRow(number, Status.WAITING, 0, 0, 0, 0) for number in range(len(reports))]
            self._slices = [_slice(row) for row in self.steps]
        for row in advance_steps(self.steps, reports):
            self.steps[row.number] = row
            self._slices[row.number] = _slice(row)
        self.status = status
        self._change(at_us)

    def stopped(self, status: Status, at_us: int) -> None:
        """Take the server's own end of the task: unfinished steps share it."""
        self.look(at_us)
        self.status = status
        self.steps = [
            row
            if row.status.is_final
            else StepRow(row.number, status, row.log_index, row.log_length, row.started_us or at_us, at_us)
            for row in self.steps
        ]
        self._slices = [_slice(row) for row in self.steps]
        self._change(at_us)

    def look(self, before_us: int) -> None:
        """Let the page poll once if a tick has passed since the last change and before this instant."""
        if self._changed_us is None:
            return
        tick_us = next_tick(self._changed_us, self.phase_us)
        first_us = next_tick(self.assigned_us, self.phase_us)
        # The very first request names no step, so rows come with the second one.
        tick_us = max(tick_us, first_us + PAGE_PERIOD_US)
        if tick_us >= before_us:
            return
        self._changed_us = None
        if not self._is_over:
            self._is_over = self.status.is_final
            self._show(tick_us)

    def _change(self, at_us: int) -> None:
        if self._changed_us is None:
            self._changed_us = at_us

    def _show(self, tick_us: int) -> None:
        task = TaskLog(status=self.status, log_rows=len(self.row_us))
        shown = shown_steps(task, self._slices, set_up_ends_at_any_step=self.any_step)
        cursors = self._cursors
        if len(cursors) != len(shown):
            # Before the steps are known only the first artificial one can have shown anything.
            cursors = self._cursors = [*cursors[:1], *[0] * (len(shown) - len(cursors[:1]))]
        for index, step in enumerate(shown):
            wanted = window(step, cursors[index], task.log_rows)
            if wanted.count:
                cursors[index] += wanted.count
                self._mark(wanted.first, wanted.count, tick_us)

    def _mark(self, first: int, count: int, tick_us: int) -> None:
        end = first + count
        times_us: Sequence[int] = self.row_us[first:end]
        if any(self.seen[first:end]):
            times_us = [time_us for time_us, seen in zip(times_us, self.seen[first:end], strict=True) if not seen]
        if times_us:
            self.seen[first:end] = bytes((1,)) * count
            self.on_rows(times_us, tick_us)


def _slice(row: StepRow) -> StepSlice:
    return StepSlice(
        name="",
        status=row.status,
        log_index=row.log_index,
        log_length=row.log_length,
        started_us=row.started_us,
        stopped_us=row.stopped_us,
    )
