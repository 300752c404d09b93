"""Steps and outputs of one report, as arithmetic."""

import random

from actionswire.result import Result, Status
from mockgitea.core.messages import StepReport
from mockgitea.core.task_progress import (
    StepRow,
    advance_again,
    advance_steps,
    closing_status,
    storable_outputs,
    with_changes,
)
from mockgitea.core.task_times import EARLIEST_US, LATEST_US, whole_seconds

S = 1_000_000
FRESH = StepRow(0, Status.WAITING, 0, 0, 0, 0)
ENDED = StepRow(1, Status.SUCCESS, 2, 3, 5 * S, 9 * S)


def test_advance_steps_returns_only_what_changed() -> None:
    assert advance_steps([FRESH], []) == []
    assert advance_steps([FRESH], [StepReport(number=0)]) == []
    assert advance_steps([FRESH], [StepReport(number=7, result=Result.SUCCESS)]) == []


def test_advance_steps_start_time_makes_a_step_running() -> None:
    (row,) = advance_steps([FRESH], [StepReport(number=0, started_us=5 * S + 3)])
    assert row == StepRow(0, Status.RUNNING, 0, 0, 5 * S, 0)


def test_advance_steps_zero_never_erases() -> None:
    (row,) = advance_steps([ENDED], [StepReport(number=1, result=Result.FAILURE)])
    assert row == StepRow(1, Status.FAILURE, 2, 3, 5 * S, 9 * S)


def test_advance_steps_ended_step_falls_back_to_running_when_left_out_or_sent_without_result() -> None:
    fallen = StepRow(1, Status.RUNNING, 2, 3, 5 * S, 9 * S)
    assert advance_steps([ENDED], []) == [fallen]
    assert advance_steps([ENDED], [StepReport(number=1, started_us=5 * S)]) == [fallen]
    assert advance_steps([ENDED], [StepReport(number=1)]) == [], "in the report without start and result: untouched"


def test_advance_steps_last_of_several_reports_counts() -> None:
    reports = [StepReport(number=0, result=Result.SUCCESS), StepReport(number=0, result=Result.FAILURE)]
    assert advance_steps([FRESH], reports)[0].status is Status.FAILURE


def test_closing_status_of_a_cancelling_task_is_cancelled() -> None:
    assert closing_status(Status.CANCELLING, Result.SUCCESS) is Status.CANCELLED
    assert closing_status(Status.RUNNING, Result.SKIPPED) is Status.SKIPPED


def test_storable_outputs_limits_are_in_bytes() -> None:
    kept = storable_outputs(
        {"a": "1", "k" * 255: "", "k" * 256: "", "ä" * 128: "", "v": "x" * 1_048_576, "w": "x" * 1_048_577}
    )
    assert sorted(kept) == ["a", "k" * 255, "v"]


def test_whole_seconds_cuts_down_and_stays_in_the_calendar() -> None:
    assert whole_seconds(1_999_999) == S
    assert whole_seconds(-1) == -S
    assert whole_seconds(2**80) == LATEST_US
    assert whole_seconds(-(2**80)) == EARLIEST_US


def drawn_reports(rng: random.Random) -> tuple[StepReport, ...]:
    """Return a report as runners send it, or with steps left out, repeated or unknown."""
    numbers = list(range(4)) if rng.random() < 0.7 else [rng.randrange(5) for _ in range(rng.randrange(6))]
    return tuple(
        StepReport(
            number,
            rng.choice(list(Result)),
            rng.choice((0, 5 * S)),
            rng.choice((0, 9 * S)),
            rng.randrange(3),
            rng.randrange(3),
        )
        for number in numbers
    )


def test_advance_again_does_what_advance_steps_does() -> None:
    rng = random.Random(20261201)
    stored: tuple[StepRow, ...] = tuple(StepRow(number, Status.WAITING, 0, 0, 0, 0) for number in range(4))
    before = drawn_reports(rng)
    stored = with_changes(stored, advance_steps(stored, before))
    for _ in range(2000):
        reports = drawn_reports(rng)
        if rng.random() < 0.5:  # mostly like the one before, as in life
            reports = tuple(rng.choice((old, new)) for old, new in zip(before, reports, strict=False))
        changed = advance_again(stored, before, reports)
        assert changed == advance_steps(stored, reports), (stored, before, reports)
        stored, before = with_changes(stored, changed), reports


def test_with_changes_replaces_by_number() -> None:
    assert with_changes([FRESH, ENDED], []) == (FRESH, ENDED)
    assert with_changes([FRESH, ENDED], [FRESH._replace(log_length=4)]) == (FRESH._replace(log_length=4), ENDED)
