"""Step slicing, sentence by sentence, as docs/protocol.md tells it under "Page"."""

import pytest

from actionswire.result import Status
from mockgitea.core.slicing import (
    NoSuchStep,
    RowWindow,
    StepSlice,
    TaskLog,
    shown_steps,
    step_at,
    window,
)

WAITING, RUNNING, SUCCESS, FAILURE = Status.WAITING, Status.RUNNING, Status.SUCCESS, Status.FAILURE
CANCELLED, SKIPPED, CANCELLING = Status.CANCELLED, Status.SKIPPED, Status.CANCELLING


def task(status: Status = RUNNING, rows: int = 0) -> TaskLog:
    return TaskLog(status=status, log_rows=rows, started_us=1, stopped_us=9 if status.is_final else 0)


def steps(*parts: tuple[Status, int, int]) -> list[StepSlice]:
    return [
        StepSlice(name=f"step {place}", status=status, log_index=index, log_length=length, started_us=2, stopped_us=3)
        for place, (status, index, length) in enumerate(parts)
    ]


def shown(a_task: TaskLog, own: list[StepSlice], *, any_step: bool = True) -> list[tuple[Status, int, int]]:
    cut = shown_steps(a_task, own, set_up_ends_at_any_step=any_step)
    return [(step.status, step.log_index, step.log_length) for step in cut]


def test_shown_steps_frame_the_jobs_own_with_two_artificial_ones() -> None:
    cut = shown_steps(task(), steps((WAITING, 0, 0)), set_up_ends_at_any_step=True)
    assert [step.name for step in cut] == ["Set up job", "step 0", "Complete job"]


@pytest.mark.parametrize(
    ("own", "length"),
    [
        ([(WAITING, 0, 0), (WAITING, 0, 0)], 7),
        ([(RUNNING, 2, 0), (WAITING, 0, 0)], 2),
        ([(SUCCESS, 2, 3), (RUNNING, 5, 0)], 2),
        ([(SKIPPED, 0, 0), (SUCCESS, 4, 1)], 4),
        ([(SKIPPED, 0, 0), (SKIPPED, 0, 0)], 7),
        ([(CANCELLED, 0, 0), (CANCELLED, 0, 0)], 7),
    ],
)
def test_set_up_job_ends_at_first_step_that_runs_or_has_run_else_holds_all(
    own: list[tuple[Status, int, int]], length: int
) -> None:
    status, index, count = shown(task(rows=7), steps(*own))[0]
    assert (index, count) == (0, length)
    assert status is (SUCCESS if length != 7 else RUNNING)


@pytest.mark.parametrize(("first", "length"), [(WAITING, 7), (SKIPPED, 7), (RUNNING, 2), (SUCCESS, 2), (FAILURE, 2)])
def test_set_up_job_on_old_servers_ends_at_step_0_only(first: Status, length: int) -> None:
    cut = shown(task(rows=7), steps((first, 2, 0), (SUCCESS, 4, 1)), any_step=False)
    assert cut[0] == (SUCCESS, 0, length)


@pytest.mark.parametrize("status", [RUNNING, SUCCESS, FAILURE, CANCELLED, SKIPPED, CANCELLING])
def test_set_up_job_without_started_step_shows_the_tasks_status(status: Status) -> None:
    assert shown(task(status, rows=3), steps((WAITING, 0, 0)))[0] == (status, 0, 3)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([(SUCCESS, 2, 3), (RUNNING, 5, 0)], (WAITING, 0, 0)),
        ([(SUCCESS, 2, 3), (SUCCESS, 5, 1)], (RUNNING, 6, 4)),
        ([(SUCCESS, 2, 3), (FAILURE, 5, 1)], (RUNNING, 6, 4)),
        ([(FAILURE, 2, 3), (WAITING, 0, 0)], (RUNNING, 5, 5)),
        ([(SUCCESS, 2, 3), (SKIPPED, 0, 0)], (WAITING, 0, 0)),
        ([(SUCCESS, 2, 3), (CANCELLED, 5, 1)], (WAITING, 0, 0)),
        ([(FAILURE, 2, 3), (SKIPPED, 0, 0)], (RUNNING, 5, 5)),
        ([(FAILURE, 2, 3), (SUCCESS, 5, 2), (WAITING, 0, 0)], (WAITING, 0, 0)),
    ],
)
def test_complete_job_begins_when_the_last_step_that_ran_failed_or_is_the_final_one(
    own: list[tuple[Status, int, int]], expected: tuple[Status, int, int]
) -> None:
    assert shown(task(rows=10), steps(*own))[-1] == expected


@pytest.mark.parametrize("status", [SUCCESS, FAILURE, CANCELLED, SKIPPED])
def test_complete_job_of_final_task_shows_the_tasks_status(status: Status) -> None:
    assert shown(task(status, rows=6), steps((SUCCESS, 1, 2)))[-1] == (status, 3, 3)


def test_trailing_rows_after_a_skipped_last_step_are_shown_nowhere() -> None:
    cut = shown_steps(task(SUCCESS, rows=9), steps((SUCCESS, 1, 2), (SKIPPED, 0, 0)), set_up_ends_at_any_step=True)
    covered = {row for step in cut for row in range(step.log_index, step.log_index + step.log_length)}
    assert covered == {0, 1, 2}


@pytest.mark.parametrize(
    ("status", "first", "second"),
    [
        (RUNNING, RUNNING, WAITING),
        (SUCCESS, SUCCESS, SUCCESS),
        (FAILURE, FAILURE, CANCELLED),
        (CANCELLED, CANCELLED, CANCELLED),
        (SKIPPED, SKIPPED, CANCELLED),
        (CANCELLING, CANCELLING, WAITING),
    ],
)
def test_job_without_steps_gives_all_rows_to_set_up_job(status: Status, first: Status, second: Status) -> None:
    assert shown(task(status, rows=4), []) == [(first, 0, 4), (second, 4, 0)]


def test_cancelling_task_shows_running_steps_as_cancelling_artificial_ones_too() -> None:
    cut = shown(task(CANCELLING, rows=8), steps((SUCCESS, 1, 2), (RUNNING, 3, 1), (WAITING, 0, 0)))
    assert [status for status, _, _ in cut] == [SUCCESS, SUCCESS, CANCELLING, WAITING, WAITING]
    after_last = shown(task(CANCELLING, rows=8), steps((FAILURE, 1, 2), (WAITING, 0, 0)))
    assert [status for status, _, _ in after_last] == [SUCCESS, FAILURE, WAITING, CANCELLING]


def test_started_time_of_each_shown_step_is_the_stored_one() -> None:
    cut = shown_steps(task(SUCCESS, rows=5), steps((SUCCESS, 1, 2)), set_up_ends_at_any_step=True)
    assert [(step.started_us, step.stopped_us) for step in cut] == [(1, 2), (2, 3), (3, 9)]


STEP = StepSlice(name="step", status=RUNNING, log_index=2, log_length=5)


@pytest.mark.parametrize(
    ("cursor", "stored", "expected"),
    [
        (0, 7, RowWindow(2, 5)),
        (2, 7, RowWindow(4, 3)),
        (2, 6, RowWindow(4, 2)),
        (4, 100, RowWindow(6, 1)),
        (5, 100, RowWindow(0, 0)),
        (6, 100, RowWindow(0, 0)),
        (-1, 100, RowWindow(0, 0)),
        (0, 2, RowWindow(0, 0)),
        (0, 3, RowWindow(2, 1)),
    ],
)
def test_window_serves_rows_that_are_both_covered_and_stored(cursor: int, stored: int, expected: RowWindow) -> None:
    assert window(STEP, cursor, stored) == expected


def test_window_of_negative_length_or_position_serves_nothing() -> None:
    odd = StepSlice(name="odd", status=SUCCESS, log_index=9, log_length=-3)
    assert window(odd, 0, 6).count == 0
    before = StepSlice(name="before", status=SUCCESS, log_index=-4, log_length=3)
    assert window(before, 0, 6).count == 0


def test_started_but_uncovered_step_serves_nothing_until_update_task_covers_it() -> None:
    uncovered = shown_steps(task(rows=5), steps((RUNNING, 2, 0)), set_up_ends_at_any_step=True)
    assert [window(step, 0, 5) for step in uncovered[:2]] == [RowWindow(0, 2), RowWindow(0, 0)]
    covered = shown_steps(task(rows=5), steps((RUNNING, 2, 3)), set_up_ends_at_any_step=True)
    assert window(covered[1], 0, 5) == RowWindow(2, 3)


def test_leak_before_first_step_shows_uncovered_rows_under_set_up_job_and_shrinks_later() -> None:
    before = shown_steps(task(rows=6), steps((WAITING, 0, 0)), set_up_ends_at_any_step=True)
    after = shown_steps(task(rows=6), steps((RUNNING, 2, 4)), set_up_ends_at_any_step=True)
    assert [step.log_length for step in (before[0], after[0])] == [6, 2]
    assert window(after[0], 6, 6).count == 0, "a page that drew the leak keeps its cursor and gets nothing more"


def test_leak_after_failed_step_moves_complete_job_as_the_running_step_grows() -> None:
    own = [(FAILURE, 1, 2), (RUNNING, 3, 0)]
    early = shown(task(rows=6), steps(*own))[-1]
    later = shown(task(rows=6), steps((FAILURE, 1, 2), (RUNNING, 3, 2)))[-1]
    assert early == (RUNNING, 3, 3)
    assert later == (RUNNING, 5, 1)


@pytest.mark.parametrize("index", [-1, 3, 99])
def test_step_at_unknown_index_is_refused_and_says_how_many_there_are(index: int) -> None:
    cut = shown_steps(task(), steps((WAITING, 0, 0)), set_up_ends_at_any_step=True)
    with pytest.raises(NoSuchStep, match="shows 3 steps"):
        step_at(cut, index)
    assert step_at(cut, 2).name == "Complete job"
