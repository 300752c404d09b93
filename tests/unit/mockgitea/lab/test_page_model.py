"""When a page shows a row, computed from what was stored when."""

from collections.abc import Sequence
from typing import Any

from actionswire.result import Result, Status
from mockgitea.core.messages import StepReport
from mockgitea.lab.page_model import PageModel, next_tick

SECOND = 1_000_000
PHASE = 100_000


class Page:
    """A model opened at 0 whose page polls at 0.1 s, 1.1 s, 2.1 s and so on."""

    def __init__(self) -> None:
        self.seen: list[float] = []
        self.model = PageModel(assigned_us=0, phase_us=PHASE, any_step=True, on_rows=self._seen)

    def _seen(self, times_us: Sequence[int], seen_us: int) -> None:
        assert max(times_us) < seen_us
        self.seen += [seen_us / SECOND] * len(times_us)

    def rows(self, count: int, at_s: float) -> None:
        at_us = round(at_s * SECOND)
        self.model.stored([at_us] * count, at_us)

    def report(self, at_s: float, *steps: dict[str, Any], status: Status = Status.RUNNING) -> None:
        reports = [StepReport(number=number, **step) for number, step in enumerate(steps)]
        self.model.reported(reports, status, round(at_s * SECOND))

    def end(self, at_s: float = 100.0) -> list[float]:
        self.model.look(round(at_s * SECOND))
        return self.seen


STARTED = {"started_us": SECOND}


def test_the_next_tick_is_at_or_after() -> None:
    assert [next_tick(at, PHASE) for at in (0, 100_000, 100_001, 1_099_999)] == [100_000, 100_000, 1_100_000, 1_100_000]


def test_a_row_is_seen_at_the_first_tick_after_rows_and_state_are_stored() -> None:
    page = Page()
    page.report(3.0, STARTED, {})
    page.rows(2, 5.0)
    page.report(8.0, STARTED | {"log_length": 2}, {})
    assert page.end() == [8.1, 8.1]


def test_a_covered_row_that_is_stored_later_is_seen_after_it_is_stored() -> None:
    page = Page()
    page.report(3.0, STARTED | {"log_length": 3}, {})
    page.rows(1, 5.0)
    page.rows(2, 9.0)
    assert page.end() == [5.1, 9.1, 9.1]


def test_rows_before_the_first_step_need_no_state() -> None:
    page = Page()
    page.rows(2, 4.0)
    assert page.end() == [4.1, 4.1]


def test_the_very_first_poll_brings_no_rows() -> None:
    page = Page()
    page.rows(1, 0.05)
    assert page.end() == [1.1]


def test_two_changes_between_two_ticks_are_seen_together() -> None:
    page = Page()
    page.report(2.0, STARTED, {})
    page.rows(1, 4.2)
    page.report(4.3, STARTED | {"log_length": 1}, {})
    page.rows(1, 5.2)
    page.report(6.5, STARTED | {"log_length": 2}, {})
    assert page.end() == [5.1, 7.1]


def test_the_page_stops_after_the_answer_that_says_done_so_later_rows_stay_unseen() -> None:
    page = Page()
    done = STARTED | {"result": Result.SUCCESS, "stopped_us": 5 * SECOND, "log_length": 1}
    page.rows(1, 4.0)
    page.report(5.0, done, status=Status.SUCCESS)
    page.rows(1, 9.0)
    assert page.end() == [4.1]
    assert page.model.unseen == 1


def test_rows_after_the_last_step_appear_once_its_end_is_stored() -> None:
    page = Page()
    page.report(2.0, STARTED)
    page.rows(3, 4.0)
    page.report(6.0, STARTED | {"result": Result.SUCCESS, "stopped_us": 6 * SECOND, "log_length": 2})
    assert page.end() == [6.1, 6.1, 6.1]


def test_a_task_that_the_server_stops_shows_uncovered_rows_under_the_last_step_that_ran() -> None:
    page = Page()
    page.report(2.0, STARTED, {})
    page.rows(1, 4.0)
    page.model.stopped(Status.FAILURE, 8 * SECOND)
    assert page.end() == [8.1]
