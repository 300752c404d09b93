"""What brings the next try of today's reporter after rows could not be sent: `every-row` or `interval`."""

import random

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporter import EventReporter, ReportPolicy
from actionsrunner.core.reporting import Ending, Retry, SendLog, SendState
from reportbench import ReportBench, fail


def bench(retry: Retry, *, end_s: float = 1e9, start_s: float = 0, rtt_us: int = 0) -> ReportBench:
    machine = EventReporter(ReportPolicy(retry=retry), random.Random(1))
    return ReportBench(machine, fail(start_s=start_s, end_s=end_s), rtt_us=rtt_us)


@pytest.mark.parametrize(("retry", "calls"), [(Retry.EVERY_ROW, 100), (Retry.INTERVAL, 2)])
def test_outage_with_ten_rows_a_second(retry: Retry, calls: int) -> None:
    job = bench(retry)
    job.log_every(0.1, 30)
    # `fixed` would send ten in this time; the hundred pending rows have been there since 10 s.
    assert job.count(20, 30, SendLog) == pytest.approx(calls, abs=3)
    assert job.count(20, 30, SendState) == 2


def test_every_row_with_few_rows_waits_for_the_latency_of_a_new_one() -> None:
    job = bench(Retry.EVERY_ROW)
    job.until(0.5)
    job.rows()
    job.until(3.6)
    assert [at for at, kind in job.kinds if kind == "log"] == [3.5]
    job.until(3.9)
    job.rows()
    job.until(8.5)
    # The tick comes first and fails too; the row of 3.9 s has been in that call.
    assert [at for at, kind in job.kinds if kind == "log"] == [3.5, 5]
    job.rows()
    job.until(11.6)
    assert [at for at, kind in job.kinds if kind == "log"] == [3.5, 5, 10]
    job.until(16)
    job.rows()
    job.until(19.5)
    assert [at for at, kind in job.kinds if kind == "log"] == [3.5, 5, 10, 15, 19]


def test_every_row_without_a_new_row_does_not_repeat_at_once() -> None:
    job = bench(Retry.EVERY_ROW)
    job.until(1)
    job.rows(100)
    job.until(4.9)
    assert job.count(0, 4.9, SendLog) == 1
    job.rows(3)
    assert job.count(0, 5, SendLog) == 4


def test_every_row_that_came_during_the_call_repeats_once() -> None:
    job = bench(Retry.EVERY_ROW, rtt_us=100_000)
    job.until(1)
    job.during = lambda call: job.rows(7) if len(job.calls) == 1 else None
    job.rows(100)
    assert [(round(at, 1), call.rows) for at, call in job.calls] == [(1, 100), (1.1, 107)]  # type: ignore[union-attr]  # logs


@pytest.mark.parametrize("retry", list(Retry))
def test_recovery_delivers_every_row_and_restores_the_pace(retry: Retry) -> None:
    job = bench(retry, start_s=10, end_s=40)
    job.log_every(0.25, 100)
    assert job.held >= 385
    # 0.4 calls a second for the rows again: latency and tick in turn.
    assert job.count(60, 100, SendLog) == pytest.approx(16, abs=1)
    assert job.close() is Ending.DELIVERED
    assert job.held == job.seen.rows


@pytest.mark.parametrize("retry", list(Retry))
def test_ack_without_progress_counts_as_a_failure(retry: Retry) -> None:
    machine = EventReporter(ReportPolicy(retry=retry), random.Random(1))
    job = ReportBench(machine, lambda at_s, call: 0 if isinstance(call, SendLog) else None)
    job.rows(100)
    job.until(4.9)
    assert job.count(0, 4.9, SendLog) == 1
    job.rows(5)
    assert job.count(0, 5, SendLog) == (6 if retry is Retry.EVERY_ROW else 1)


def test_failure_kinds_that_end_the_task_end_it_with_every_row_too() -> None:
    machine = EventReporter(ReportPolicy(retry=Retry.EVERY_ROW), random.Random(1))
    job = ReportBench(machine, fail(Failure.TASK_GONE))
    job.rows(100)
    job.rows(50)
    assert len(job.calls) == 1
