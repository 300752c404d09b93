"""Which rows belong to which step, and what a report says."""

from actionsrunner.core.taskstate import TaskState
from actionswire.result import Result


def test_rows_belong_to_the_active_step_only() -> None:
    state = TaskState(9, 0)
    state.steps_known(2)
    state.row_appended(0)
    state.row_appended(1)
    state.step_started(0, 10)
    state.row_appended(2)
    state.row_appended(3)
    state.step_finished(0, Result.SUCCESS, at_us=20, next_row=4)
    state.row_appended(4)
    first, second = state.report(final=False).steps
    assert (first.log_index, first.log_length, first.started_us, first.stopped_us) == (2, 2, 10, 20)
    assert (second.log_index, second.log_length, second.started_us) == (0, 0, None)


def test_step_without_rows_stands_at_the_next_row() -> None:
    state = TaskState(9, 0)
    state.steps_known(1)
    state.step_finished(0, Result.SKIPPED, at_us=20, next_row=7)
    (step,) = state.report(final=False).steps
    assert (step.log_index, step.log_length, step.started_us, step.stopped_us) == (7, 0, 20, 20)


def test_result_is_told_only_in_the_final_report() -> None:
    state = TaskState(9, 5)
    state.close(Result.FAILURE, at_us=50, next_row=0)
    early, final = state.report(final=False), state.report(final=True)
    assert (early.result, early.stopped_us) == (Result.UNSPECIFIED, None)
    assert (final.result, final.started_us, final.stopped_us) == (Result.FAILURE, 5, 50)


def test_unfinished_steps_become_cancelled() -> None:
    state = TaskState(9, 0)
    state.steps_known(3)
    state.step_finished(0, Result.FAILURE, at_us=1, next_row=3)
    state.step_started(1, 2)
    state.close(Result.CANCELLED, at_us=9, next_row=5)
    steps = state.report(final=True).steps
    assert [step.result for step in steps] == [Result.FAILURE, Result.CANCELLED, Result.CANCELLED]
    assert [step.stopped_us for step in steps] == [1, 9, None]
    assert [step.log_index for step in steps] == [3, 5, 5]


def test_steps_of_a_skipped_job_are_skipped() -> None:
    state = TaskState(9, 0)
    state.steps_known(2)
    state.close(Result.SKIPPED, at_us=9, next_row=1)
    assert {step.result for step in state.report(final=True).steps} == {Result.SKIPPED}
