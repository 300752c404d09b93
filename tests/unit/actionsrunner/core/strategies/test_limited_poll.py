"""`fixed`: one fetch per interval over all slots, whatever happens."""

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import Fetch, HaltReason
from actionsrunner.core.strategies.limited_poll import LimitedPolicy, LimitedPoller
from pollbench import PollBench, Server, always, idle


def bench(server: Server = idle, *, rtt_s: float = 0.0, task_s: float = 1e9, **policy: object) -> PollBench:
    return PollBench(LimitedPoller(LimitedPolicy(**policy)), server, rtt_s=rtt_s, task_s=task_s)  # type: ignore[arg-type]  # fields of the policy


@pytest.mark.parametrize("capacity", [1, 3, 60])
def test_idle_runner_fetches_once_per_interval_whatever_its_capacity(capacity: int) -> None:
    assert bench(capacity=capacity).run(10).times == [0, 2, 4, 6, 8]


@pytest.mark.parametrize("failure", list(Failure))
def test_failures_do_not_slow_it_down_and_never_end_it(failure: Failure) -> None:
    assert bench(always(failure)).run(10).times == [0, 2, 4, 6, 8]


def test_slow_answers_overlap_while_other_slots_are_free() -> None:
    assert bench(capacity=3, rtt_s=5).run(12).times == [0, 2, 4, 6, 8, 10]


def test_single_slot_waits_for_its_answer_and_takes_the_token_that_lay_there() -> None:
    # The bucket keeps one token, so there is no burst of two to make up for the lost time.
    assert bench(rtt_s=5).run(20).times == [0, 5, 10, 15]


def test_late_answer_within_the_interval_does_not_shift_the_phase() -> None:
    assert bench(rtt_s=0.3).run(9).times == [0, 2, 4, 6, 8]


def give(count: int) -> Server:
    left = [count]

    def server(at_s: float, fetch: Fetch) -> int:
        left[0] -= 1
        return int(left[0] >= 0)

    return server


def test_full_runner_does_not_fetch_as_coded() -> None:
    full = bench(give(3), capacity=3).run(60)
    assert full.times == [0, 2, 4]
    assert full.most_busy == 3


def test_full_runner_goes_on_as_claimed() -> None:
    full = bench(give(3), capacity=3, poll_while_full=True).run(60)
    assert full.times == [float(at) for at in range(0, 60, 2)]


def test_task_that_comes_while_full_runs_beyond_the_capacity_as_claimed() -> None:
    assert bench(give(5), capacity=3, poll_while_full=True).run(60).most_busy == 5


def test_slot_that_gets_free_takes_the_token_at_once() -> None:
    one = bench(give(1), task_s=7).run(12)
    assert one.times == [0, 7, 9, 11]


def test_slot_that_gets_free_early_waits_for_the_token() -> None:
    one = bench(give(1), task_s=0.5).run(5)
    assert one.times == [0, 2, 4]


def test_fetch_asks_for_one_task_without_a_name() -> None:
    fetch = bench(capacity=3).run(1).fetches[0][1]
    assert (fetch.free_slots, fetch.request_key) == (1, "")


def test_version_follows_the_answers_and_a_task_makes_the_next_fetch_look() -> None:
    server = give(1)
    runner = bench(lambda at_s, fetch: server(at_s, fetch) if at_s >= 4 else 0, capacity=2)
    runner.version = 7
    runner.run(9)
    assert [fetch.tasks_version for _, fetch in runner.fetches] == [0, 7, 7, 0, 7]


def test_task_limit_halts_once_served() -> None:
    once = bench(give(5), tasks_max=1, task_s=3).run(60)
    assert once.times == [0]
    assert once.reason is HaltReason.SERVED


def test_stop_waits_for_the_running_task_only() -> None:
    runner = bench(give(1), capacity=2).run(1)
    runner.stop()
    assert runner.run(60).times == [0]
    assert runner.reason is None
    runner.free()
    assert runner.reason is HaltReason.STOPPED


def test_stop_when_idle_halts_at_once_and_gives_up_the_fetch() -> None:
    runner = bench(rtt_s=5).run(1)
    runner.stop()
    assert runner.reason is HaltReason.STOPPED
