"""`fixed`: UpdateLog and UpdateTask one second after the last round had ended, always."""

import random

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporting import Done, Ending, SendLog, SendState, StopCause, StopJob, Tell, Trouble, Wait
from actionsrunner.core.strategies.round_report import RoundPolicy, RoundReporter
from actionswire.result import Result
from reportbench import Reaction, ReportBench, S, Sent, fail


def bench(react: object = None, *, rtt_us: int = 0, **policy: int) -> ReportBench:
    machine = RoundReporter(RoundPolicy(**policy), random.Random(1))
    return ReportBench(machine, react, rtt_us=rtt_us) if react else ReportBench(machine, rtt_us=rtt_us)  # type: ignore[arg-type]  # a reaction


def test_silent_job_sends_both_calls_every_second() -> None:
    job = bench()
    job.until(2.5)
    assert job.kinds == [(0, "log"), (0, "state"), (1, "log"), (1, "state"), (2, "log"), (2, "state")]
    assert [call.rows for call in job.logs] == [0, 0, 0]


def test_round_begins_one_second_after_the_last_has_ended() -> None:
    job = bench(rtt_us=250_000)
    job.until(4)
    assert job.kinds[::2] == [(0, "log"), (1.5, "log"), (3, "log")]


def test_steps_and_rows_do_not_hurry_it() -> None:
    job = bench()
    job.until(0.3)
    job.rows(500)
    job.move()
    job.until(1)
    assert job.kinds == [(0, "log"), (0, "state"), (1, "log"), (1, "state")]
    assert (job.logs[1].index, job.logs[1].rows) == (0, 500)


def test_rows_go_on_from_the_ack() -> None:
    job = bench()
    job.log_every(0.5, 3)
    assert [(call.index, call.rows) for call in job.logs] == [(0, 0), (0, 1), (1, 2), (3, 2)]


@pytest.mark.parametrize("failure", list(Failure))
def test_failures_change_nothing(failure: Failure) -> None:
    job = bench(fail(failure))
    job.until(9.5)
    assert job.count(0, 9.5, SendLog) == job.count(0, 9.5, SendState) == 10
    assert job.others == []


def test_rows_survive_an_outage() -> None:
    job = bench(fail(end_s=5))
    job.log_every(0.5, 6)
    assert (job.logs[5].index, job.logs[5].rows) == (0, 9)


@pytest.mark.parametrize("result", [Result.FAILURE, Result.SUCCESS, Result.SKIPPED])
def test_task_that_was_reaped_runs_on_and_is_reported_on(result: Result) -> None:
    job = bench(lambda at_s, call: result if isinstance(call, SendState) else None)
    job.until(3.5)
    assert job.others == []
    assert job.count(0, 4) == 8


def cancelled(at_s: float, call: Sent) -> Reaction:
    return Result.CANCELLED if isinstance(call, SendState) and at_s >= 2 else None


def test_cancel_stops_the_job_and_nothing_is_sent_any_more() -> None:
    job = bench(cancelled)
    job.until(2.5)
    assert job.others == [StopJob(StopCause.SERVER, Result.CANCELLED)]
    job.move()
    job.do(interrupted=True)
    job.until(60)
    assert job.close() is Ending.GAVE_UP
    assert len(job.calls) == 6
    assert job.others[1:] == [Tell(Trouble.STATE_GIVEN_UP)]


def test_shutdown_of_the_runner_leaves_the_task_without_a_result() -> None:
    job = bench()
    job.do(interrupted=True)
    assert job.close() is Ending.GAVE_UP
    assert not any(call.final for _, call in job.calls if isinstance(call, SendState))


def test_nothing_is_sent_once_the_jobs_time_is_up() -> None:
    job = bench(job_limit_us=10 * S)
    job.until(30)
    assert job.count(10, 30) == 0
    assert job.last == Wait(None)


def closing(job: ReportBench) -> list[tuple[str, int, bool]]:
    """The calls that end a task: kind, rows, no_more or final."""
    found = []
    for _, call in job.calls:
        if isinstance(call, SendLog):
            found.append(("log", call.rows, call.no_more))
        else:
            found.append(("state", 0, call.final))
    return found[next(place for place, one in enumerate(found) if one[2]) :]


def test_closing_without_rows_is_two_calls() -> None:
    job = bench()
    job.until(0.5)
    assert job.close() is Ending.DELIVERED
    assert closing(job) == [("log", 0, True), ("state", 0, True)]


def test_closing_with_rows_repeats_an_empty_no_more_after_the_log_was_sealed() -> None:
    job = bench()
    job.until(0.5)
    job.rows(3)
    assert job.close() is Ending.DELIVERED
    assert closing(job) == [("log", 3, True), ("log", 0, True), ("state", 0, True)]
    assert 0.1 <= job.calls[-1][0] - job.calls[-3][0] < 0.2


def test_server_that_refuses_the_repetition_never_gets_the_result() -> None:
    def react(at_s: float, call: Sent) -> Reaction:
        return Failure.LOG_SEALED if isinstance(call, SendLog) and call.no_more and call.rows == 0 else None

    job = bench(react)
    job.until(0.5)
    job.rows(1)
    assert job.close() is Ending.GAVE_UP
    assert [kind for kind, _, _ in closing(job)] == ["log"] * 10


def test_closing_is_one_unit_of_ten_tries() -> None:
    job = bench(lambda at_s, call: Failure.RETRY if isinstance(call, SendState) and call.final else None)
    job.until(0.5)
    assert job.close() is Ending.GAVE_UP
    assert [kind for kind, _, _ in closing(job)] == ["log", "state"] * 10
    # 100 ms, doubled nine times, plus up to 100 ms each.
    assert 51.1 <= job.now_us / S - 0.5 <= 52


def test_unconfirmed_outputs_repeat_the_unit() -> None:
    job = bench()
    job.until(0.5)
    job.do(outputs_waiting=True)

    def confirm(call: Sent) -> None:
        if sum(isinstance(sent, SendState) and sent.final for _, sent in job.calls) == 2:
            job.seen = type(job.seen)(ended=True)

    job.during = confirm
    assert job.close() is Ending.DELIVERED
    assert [kind for kind, _, _ in closing(job)] == ["log", "state"] * 2


def test_job_that_ends_during_a_call_is_closed_after_it() -> None:
    job = bench(rtt_us=100_000)
    job.until(1.2)
    job.during = lambda call: setattr(job, "seen", type(job.seen)(ended=True))
    job.until(2.4)
    assert isinstance(job.last, Done)
    assert job.kinds[4:] == [(2.4, "log"), (2.5, "log"), (2.6, "state")]
