"""`event-driven`: rows and states go out when something happens, and only then."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporting import Ending, Retry, SendLog, SendState, StopCause, StopJob, Tell, Trouble
from actionsrunner.core.strategies.change_report import ChangePolicy, ChangeReporter
from actionswire.result import Result
from reportbench import Reaction, ReportBench, S, Sent, fail


def bench(react: Callable[[float, Sent], Reaction] | None = None, *, rtt_us: int = 0, **policy: Any) -> ReportBench:
    machine = ChangeReporter(ChangePolicy(**policy), random.Random(1))
    return ReportBench(machine, react, rtt_us=rtt_us) if react else ReportBench(machine, rtt_us=rtt_us)


def test_silent_job_sends_nothing_between_two_steps() -> None:
    job = bench()
    job.move()
    job.until(1200)
    job.move()
    assert job.kinds == [(0, "state"), (1200, "state")]


def test_job_that_never_does_anything_is_never_heard() -> None:
    job = bench()
    job.until(3600)
    assert job.calls == []


def test_row_goes_out_after_the_latency_and_marks_the_state_changed() -> None:
    job = bench()
    job.until(0.5)
    job.rows()
    job.until(60)
    assert job.kinds == [(3.5, "log"), (5, "state")]


def test_row_goes_out_at_the_tick_when_that_comes_first() -> None:
    job = bench()
    job.until(23)
    job.rows()
    job.until(60)
    assert job.kinds == [(25, "log"), (25, "state")]


def test_ticks_that_found_nothing_do_not_send_a_later_row_at_once() -> None:
    job = bench()
    job.until(61)
    job.rows()
    job.until(80)
    assert job.kinds == [(64, "log"), (65, "state")]


def test_hundred_rows_go_out_at_once() -> None:
    job = bench()
    job.until(1)
    job.rows(250)
    assert [(call.index, call.rows) for call in job.logs] == [(0, 100), (100, 100)]


def test_step_sends_rows_then_state_at_once() -> None:
    job = bench()
    job.until(1)
    job.rows(2)
    job.move()
    assert job.kinds == [(1, "log"), (1, "state")]
    job.until(60)
    assert len(job.calls) == 2, "nothing is left that a tick could send"


def test_rows_that_come_during_the_call_do_not_go_before_the_state() -> None:
    job = bench(rtt_us=1000)
    job.rows()
    job.during = lambda call: job.rows(200) if len(job.calls) == 1 else None
    job.move()
    assert [kind for _, kind in job.kinds] == ["log", "state", "log"]


@pytest.mark.parametrize(
    ("period_s", "per_minute"), [(1, 36), (30, 4)], ids=["a row each second", "a row each half minute"]
)
def test_rate_of_a_job_that_logs_evenly(period_s: float, per_minute: int) -> None:
    job = bench()
    job.until(0.5)
    job.log_every(period_s, 1300)
    assert job.count(60, 1260) == pytest.approx(20 * per_minute, rel=0.05)


def test_failed_state_is_sent_again_at_the_next_tick_only() -> None:
    job = bench(fail(end_s=1))
    job.move()
    job.until(60)
    assert job.kinds == [(0, "state"), (5, "state")]


def test_every_further_row_is_another_call_once_a_batch_is_buffered() -> None:
    job = bench(fail())
    job.log_every(0.1, 30)
    # A batch is there after 10 s; from then on ten rows a second are ten calls a second, more than `fixed` makes.
    assert job.count(20, 30, SendLog) == pytest.approx(100, abs=4)
    assert job.count(20, 30, SendState) == 2


def test_with_retry_by_interval_only_ticks_try_again() -> None:
    job = bench(fail(), retry=Retry.INTERVAL)
    job.log_every(0.1, 30)
    assert job.count(20, 30, SendLog) == 2
    job.until(31)
    job.move()
    assert job.kinds[-2:] == [(31, "log"), (31, "state")]


def test_few_rows_that_failed_wait_for_the_tick_or_the_latency_of_a_new_one() -> None:
    job = bench(fail(end_s=3.5))
    job.rows()
    job.until(3.2)
    assert job.kinds == [(3, "log")]
    job.until(6)
    assert job.kinds[1:] == [(5, "log"), (5, "state")]


def test_ack_without_progress_is_no_reason_to_hurry() -> None:
    job = bench(lambda at_s, call: 0 if isinstance(call, SendLog) else None)
    job.rows(100)
    job.until(4)
    assert job.count(0, 4, SendLog) == 1


def test_large_backlog_travels_in_bounded_calls_one_after_the_other() -> None:
    job = bench(fail(end_s=4), log_batch_rows=10**9)
    job.rows(25_000)
    job.until(5)
    assert [call.rows for call in job.logs if call.index or call.rows] == [10_000, 10_000, 10_000, 5_000]


def test_cancel_stops_the_job_and_nothing_is_sent_any_more() -> None:
    job = bench(lambda at_s, call: Result.CANCELLED if isinstance(call, SendState) else None)
    job.move()
    assert job.others == [StopJob(StopCause.SERVER, Result.CANCELLED)]
    job.rows(500)
    job.move()
    job.do(interrupted=True)
    assert job.close() is Ending.GAVE_UP
    assert len(job.calls) == 1
    assert job.others[1:] == [Tell(Trouble.STATE_GIVEN_UP)]


@pytest.mark.parametrize("result", [Result.FAILURE, Result.SUCCESS])
def test_task_that_was_reaped_runs_on(result: Result) -> None:
    job = bench(lambda at_s, call: result if isinstance(call, SendState) else None)
    job.move()
    assert job.others == []
    assert job.close() is Ending.DELIVERED


def test_silent_job_learns_of_a_cancel_with_its_next_row() -> None:
    job = bench(lambda at_s, call: Result.CANCELLED if isinstance(call, SendState) and at_s > 10 else None)
    job.move()
    job.until(900)
    assert job.others == []
    job.rows()
    job.until(905)
    assert job.others == [StopJob(StopCause.SERVER, Result.CANCELLED)]


def test_closing_sends_rows_then_result_without_a_sentinel() -> None:
    job = bench()
    job.move()
    assert job.close() is Ending.DELIVERED
    (log, state) = (call for _, call in job.calls[1:])
    assert isinstance(log, SendLog)
    assert isinstance(state, SendState)
    assert (log.rows, log.no_more, state.final) == (0, True, True)


def test_result_is_sent_although_the_rows_were_given_up() -> None:
    job = bench(lambda at_s, call: Failure.RETRY if isinstance(call, SendLog) else None)
    job.rows()
    assert job.close() is Ending.DELIVERED
    assert len(job.logs) == 10
    assert job.others == [Tell(Trouble.LOG_GIVEN_UP)]


def test_closing_gives_up_after_ten_tries_each() -> None:
    job = bench(fail())
    assert job.close() is Ending.GAVE_UP
    assert (job.count(0, 1e9, SendLog), job.count(0, 1e9, SendState)) == (10, 10)


def test_nothing_is_sent_once_the_jobs_time_is_up() -> None:
    job = bench(job_limit_us=10 * S)
    job.log_every(1, 30)
    assert job.count(10.1, 40) == 0
