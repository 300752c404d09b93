"""The report machine in virtual time, driven by a bench that plays the loop and the server."""

import itertools
import random
from collections.abc import Callable
from typing import Any

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.reporter import CLOSE_TRIES_MAX, EventReporter, ReportPolicy
from actionsrunner.core.reporting import (
    AddSentinel,
    Done,
    Ending,
    SendLog,
    SendState,
    StopCause,
    StopJob,
    Tell,
    Trouble,
)
from actionswire.result import Result
from reportbench import Reaction, ReportBench, S, Sent


class Bench(ReportBench):
    """The machine of today's runner on the bench; ``react`` needs no time here."""

    def __init__(self, *, rtt_us: int = 10_000, react: Callable[[Sent], Reaction] | None = None, **policy: Any) -> None:
        machine = EventReporter(ReportPolicy(**policy), random.Random(1))
        super().__init__(machine, lambda _, call: react(call) if react else None, rtt_us=rtt_us)

    def rows(self, count: int = 1) -> None:
        """Append rows all at once: a burst that the machine hears of as one."""
        self.seen = self.seen._replace(rows=self.seen.rows + count - 1)
        super().rows(1)


def fail_logs(failure: Failure) -> Callable[[Sent], Reaction]:
    return lambda call: failure if isinstance(call, SendLog) else None


# Rows


def test_first_row_is_sent_after_the_latency() -> None:
    bench = Bench()
    bench.until(0.5)
    bench.rows(1)
    bench.until(4)
    assert bench.kinds == [(3.5, "log")]


def test_rows_are_sent_at_the_tick_when_it_comes_before_the_latency() -> None:
    bench = Bench()
    bench.until(4)
    bench.rows(1)
    bench.until(5.5)
    assert bench.kinds == [(5.0, "log"), (5.01, "state")]


def test_hundred_rows_are_sent_at_once() -> None:
    bench = Bench()
    bench.until(1)
    bench.rows(99)
    assert bench.calls == []
    bench.rows(1)
    assert bench.kinds == [(1.0, "log")]
    assert bench.logs[0].rows == 100


def test_nothing_is_sent_without_rows() -> None:
    bench = Bench()
    bench.until(60)
    assert bench.logs == []


def test_next_index_is_the_ack() -> None:
    bench = Bench()
    for _ in range(3):
        bench.rows(100)
    assert [(call.index, call.rows) for call in bench.logs] == [(0, 100), (100, 100), (200, 100)]


def test_rows_that_came_during_a_call_wait_their_own_latency() -> None:
    bench = Bench(rtt_us=S)
    bench.during = lambda call: bench.rows(1) if isinstance(call, SendLog) and call.rows == 100 else None
    bench.rows(100)
    bench.until(3.9)
    assert [call.rows for call in bench.logs] == [100]
    bench.until(4.1)
    assert [(call.index, call.rows) for call in bench.logs] == [(0, 100), (100, 1)]


def test_failed_rows_are_sent_again_at_the_tick_not_at_each_row() -> None:
    bench = Bench(react=fail_logs(Failure.RETRY))
    bench.rows(100)
    for second in range(1, 5):
        bench.until(second)
        bench.rows(200)
    assert bench.kinds == [(0.0, "log")]
    bench.until(10.5)
    assert [at for at, kind in bench.kinds if kind == "log"] == [0.0, 5.0, 10.0]
    assert {call.index for call in bench.logs} == {0}


def test_success_after_a_failure_restores_batch_and_latency() -> None:
    failing = [Failure.RETRY]
    bench = Bench(react=lambda call: failing.pop() if failing and isinstance(call, SendLog) else None)
    bench.rows(100)
    bench.until(5.5)
    bench.rows(100)
    assert [at for at, kind in bench.kinds if kind == "log"] == [0.0, 5.0, 5.5]


def test_ack_below_the_offset_is_told_and_rows_are_kept() -> None:
    acks = [None, 50]
    bench = Bench(react=lambda call: acks.pop(0) if acks and isinstance(call, SendLog) else None)
    bench.rows(100)
    bench.rows(100)
    assert bench.others == [Tell(Trouble.ROWS_LOST)]
    bench.until(5.5)
    assert [(call.index, call.rows) for call in bench.logs] == [(0, 100), (100, 100), (100, 100)]


def test_ack_beyond_the_rows_sent_is_clamped() -> None:
    bench = Bench(react=lambda call: 5000 if isinstance(call, SendLog) else None)
    bench.rows(100)
    bench.rows(100)
    assert [(call.index, call.rows) for call in bench.logs] == [(0, 100), (100, 100)]


def test_partial_ack_sends_the_rest_at_once() -> None:
    acks: list[Reaction] = [30]
    bench = Bench(react=lambda call: acks.pop(0) if acks and isinstance(call, SendLog) else None)
    bench.rows(100)
    assert [(call.index, call.rows) for call in bench.logs] == [(0, 100), (30, 70)]


def test_ack_without_progress_waits_for_the_tick() -> None:
    bench = Bench(react=lambda call: 0 if isinstance(call, SendLog) else None)
    bench.rows(100)
    bench.until(4.9)
    assert len(bench.logs) == 1
    bench.until(5.1)
    assert len(bench.logs) == 2


def test_large_backlog_goes_out_in_bounded_calls() -> None:
    failing = [Failure.RETRY]
    bench = Bench(react=lambda call: failing.pop() if failing else None)
    bench.rows(100)
    bench.rows(24_900)
    bench.until(5.1)
    assert [(call.index, call.rows) for call in bench.logs[1:]] == [(0, 10_000), (10_000, 10_000), (20_000, 5_000)]


# State


def test_step_move_sends_rows_then_state() -> None:
    bench = Bench()
    bench.until(1)
    bench.rows(3)
    bench.move()
    assert bench.kinds == [(1.0, "log"), (1.01, "state")]


def test_step_move_without_rows_sends_the_state_only() -> None:
    bench = Bench()
    bench.until(1)
    bench.move()
    assert bench.kinds == [(1.0, "state")]


def test_step_move_sends_the_state_although_the_rows_failed() -> None:
    bench = Bench(react=fail_logs(Failure.RETRY))
    bench.rows(3)
    bench.move()
    assert bench.kinds == [(0.0, "log"), (0.01, "state")]


def test_step_that_moves_during_a_call_is_sent_after_it() -> None:
    bench = Bench(rtt_us=S)
    moved = []

    def once(call: Sent) -> None:
        if not moved:
            moved.append(1)
            bench.seen = bench.seen._replace(moves=1, rows=bench.seen.rows + 2)

    bench.during = once
    bench.rows(100)
    assert bench.kinds == [(0.0, "log"), (1.0, "log"), (2.0, "state")]


@pytest.mark.parametrize("rtt_us", [0, 1, 10_000, 900_000])
def test_silent_job_is_heard_every_ten_seconds(rtt_us: int) -> None:
    bench = Bench(rtt_us=rtt_us)
    bench.until(41)
    assert [at for at, _ in bench.kinds] == [5.0, 15.0, 25.0, 35.0]


def test_job_that_logs_is_heard_every_five_seconds() -> None:
    bench = Bench()
    for second in range(21):
        bench.until(second + 0.5)
        bench.rows(1)
    assert [int(at) for at, kind in bench.kinds if kind == "state"] == [5, 10, 15, 20]


def test_failed_state_is_sent_again_at_the_next_tick() -> None:
    bench = Bench(react=lambda call: Failure.RETRY if isinstance(call, SendState) else None)
    bench.move()
    bench.until(11)
    assert [at for at, _ in bench.kinds] == [0.0, 5.0, 10.0]


def test_unconfirmed_outputs_are_sent_at_each_tick() -> None:
    bench = Bench()
    bench.do(outputs_waiting=True)
    bench.until(11)
    assert [at for at, _ in bench.kinds] == [5.0, 10.0]


def test_of_the_ticks_during_a_call_one_is_kept() -> None:
    bench = Bench(rtt_us=12 * S)
    bench.until(36)
    assert [at for at, _ in bench.kinds] == [5.0, 25.0]


def test_states_carry_no_result_until_the_end() -> None:
    bench = Bench()
    bench.move()
    bench.until(20)
    assert not any(call.final for call in bench.states)
    bench.close()
    assert [call.final for call in bench.states][-2:] == [False, True]


# The server's word


@pytest.mark.parametrize("result", [Result.SUCCESS, Result.FAILURE, Result.CANCELLED, Result.SKIPPED])
def test_final_result_stops_the_job_and_then_nothing_is_sent_until_it_ends(result: Result) -> None:
    bench = Bench(react=lambda call: result if isinstance(call, SendState) else None)
    bench.move()
    assert bench.others == [StopJob(StopCause.SERVER, result)]
    bench.rows(500)
    bench.move()
    bench.until(600)
    assert bench.kinds == [(0.0, "state")]
    assert bench.close() is Ending.DELIVERED
    assert [kind for _, kind in bench.kinds] == ["state", "log", "state"]
    assert bench.logs[-1].no_more
    assert bench.states[-1].final


def test_interrupted_job_is_quiet_until_it_ends() -> None:
    bench = Bench()
    bench.do(interrupted=True)
    bench.rows(500)
    bench.until(600)
    assert bench.calls == []
    assert bench.close() is Ending.DELIVERED


@pytest.mark.parametrize("failure", [Failure.UNREGISTERED, Failure.TASK_GONE])
@pytest.mark.parametrize("kind", [SendLog, SendState])
def test_task_that_is_gone_stops_the_job_and_drops_its_reports(failure: Failure, kind: type) -> None:
    bench = Bench(react=lambda call: failure if isinstance(call, kind) else None)
    bench.rows(2)
    bench.move()
    assert StopJob(StopCause.TASK_GONE) in bench.others
    calls = len(bench.calls)
    assert bench.close() is Ending.TASK_GONE
    assert len(bench.calls) == calls


def test_log_sealed_during_the_job_stops_it_and_only_the_state_follows() -> None:
    bench = Bench(react=fail_logs(Failure.LOG_SEALED))
    bench.rows(100)
    assert bench.others == [StopJob(StopCause.LOG_SEALED)]
    assert bench.close() is Ending.DELIVERED
    assert [kind for _, kind in bench.kinds] == ["log", "state"]


# Closing


def test_closing_sends_the_rest_sealed_and_then_the_result() -> None:
    bench = Bench()
    bench.rows(7)
    assert bench.close() is Ending.DELIVERED
    log, state = (call for _, call in bench.calls)
    assert log == SendLog(index=0, rows=7, no_more=True, limit_us=10 * S)
    assert state == SendState(final=True, limit_us=10 * S)
    assert AddSentinel() not in bench.others


def test_closing_without_rows_sends_a_sentinel() -> None:
    bench = Bench()
    bench.rows(100)
    assert bench.close() is Ending.DELIVERED
    assert bench.others == [AddSentinel()]
    assert bench.logs[-1] == SendLog(index=100, rows=1, no_more=True, limit_us=10 * S)


def test_closing_during_a_call_waits_for_it() -> None:
    bench = Bench(rtt_us=S)
    bench.during = lambda call: setattr(bench, "seen", bench.seen._replace(ended=True))
    bench.rows(100)
    assert isinstance(bench.last, Done)
    assert [(call.index, call.rows, call.no_more) for call in bench.logs] == [(0, 100, False), (100, 1, True)]
    assert bench.calls[0][1].settle_us == 60 * S


def test_final_rows_have_ten_tries_and_the_state_goes_out_all_the_same() -> None:
    bench = Bench(react=fail_logs(Failure.RETRY), close_timeout_us=1000 * S)
    assert bench.close() is Ending.DELIVERED
    assert len(bench.logs) == CLOSE_TRIES_MAX
    assert Tell(Trouble.LOG_GIVEN_UP) in bench.others
    assert [call.final for call in bench.states] == [True]


def test_final_rows_and_state_have_budgets_of_their_own() -> None:
    slow = 9_900_000
    bench = Bench(rtt_us=slow, react=lambda call: Failure.DEADLINE)
    assert bench.close() is Ending.GAVE_UP
    first_state = next(at for at, call in bench.calls if isinstance(call, SendState))
    assert 20 < first_state <= 30.1
    assert 2 <= len(bench.logs) <= 4
    assert bench.now_us <= 61 * S
    assert all(call.limit_us <= 10 * S for _, call in bench.calls)
    assert bench.others[-1] == Tell(Trouble.STATE_GIVEN_UP)


def test_retries_of_the_closing_double_from_a_tenth_of_a_second() -> None:
    bench = Bench(rtt_us=0, react=fail_logs(Failure.RETRY), close_timeout_us=1000 * S)
    bench.close()
    times = [at for at, call in bench.calls if isinstance(call, SendLog)]
    for n, (earlier, later) in enumerate(itertools.pairwise(times)):
        assert 0.1 * 2**n <= later - earlier <= 0.1 * 2**n + 0.1 + 1e-6


def test_the_last_try_of_the_closing_comes_right_before_its_budget_ends() -> None:
    up_again_s = 28.5
    bench = Bench(rtt_us=0)
    bench.react = lambda at_s, call: Failure.RETRY if at_s < up_again_s else None
    assert bench.close() is Ending.DELIVERED
    assert [at for at, call in bench.calls if isinstance(call, SendLog)][-1] == 29.0
    assert len(bench.logs) <= CLOSE_TRIES_MAX
    assert len([call for call in bench.states if call.final]) == 1


def test_sealed_log_at_the_end_is_not_retried() -> None:
    bench = Bench(react=fail_logs(Failure.LOG_SEALED))
    assert bench.close() is Ending.DELIVERED
    assert [kind for _, kind in bench.kinds] == ["log", "state"]


def test_final_ack_below_the_end_is_retried() -> None:
    acks: list[Reaction] = [3]
    bench = Bench(react=lambda call: acks.pop(0) if acks and isinstance(call, SendLog) else None)
    bench.rows(7)
    assert bench.close() is Ending.DELIVERED
    assert [(call.index, call.rows, call.no_more) for call in bench.logs] == [(0, 7, True), (3, 4, True)]


def test_backlog_at_the_end_is_delivered_however_long_its_pieces_take_together() -> None:
    bench = Bench(rtt_us=8 * S)
    bench.seen = bench.seen._replace(rows=100_000)
    assert bench.close() is Ending.DELIVERED
    assert bench.held == 100_000
    assert bench.now_us > 10 * 8 * S, "longer than the budget of one call"


def test_backlog_at_the_end_is_sealed_by_its_last_call_only() -> None:
    bench = Bench()
    bench.do(interrupted=True)
    bench.rows(25_000)
    assert bench.close() is Ending.DELIVERED
    assert [(call.rows, call.no_more) for call in bench.logs] == [(10_000, False), (10_000, False), (5_000, True)]


def test_final_state_is_repeated_until_the_outputs_are_confirmed() -> None:
    bench = Bench()
    bench.do(outputs_waiting=True)

    def confirm(call: Sent) -> None:
        if len([c for c in bench.states if c.final]) == 3:
            bench.seen = bench.seen._replace(outputs_waiting=False)

    bench.during = confirm
    assert bench.close() is Ending.DELIVERED
    assert len([call for call in bench.states if call.final]) == 3


def test_outputs_that_are_never_confirmed_end_after_ten_tries() -> None:
    bench = Bench(close_timeout_us=1000 * S)
    bench.do(outputs_waiting=True)
    assert bench.close() is Ending.GAVE_UP
    assert len([call for call in bench.states if call.final]) == CLOSE_TRIES_MAX


def test_unregistered_at_the_final_state_is_the_end() -> None:
    bench = Bench(react=lambda call: Failure.UNREGISTERED if isinstance(call, SendState) else None)
    assert bench.close() is Ending.TASK_GONE
    assert len(bench.states) == 1


@pytest.mark.parametrize("seed", range(30))
def test_no_row_is_skipped_or_renumbered_whatever_the_server_says(seed: int) -> None:
    rng = random.Random(seed)
    offset = 0

    def react(call: Sent) -> Reaction:
        nonlocal offset
        if isinstance(call, SendState):
            return Failure.RETRY if rng.random() < 0.3 else None
        assert call.index == offset, f"seed {seed}"
        kind = rng.random()
        if kind < 0.3:
            return Failure.RETRY
        if kind < 0.5:
            offset = call.index + rng.randint(0, call.rows)
            return offset
        offset = call.index + call.rows
        return offset

    bench = Bench(react=react)
    for _ in range(200):
        bench.until(bench.now_us / S + rng.random())
        bench.rows(rng.randint(0, 60))
        if rng.random() < 0.1:
            bench.move()
    bench.close()
