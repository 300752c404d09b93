"""`per-worker`: every slot polls for itself."""

import random

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import Fetch, HaltReason
from actionsrunner.core.strategies.slot_poll import SlotPolicy, SlotPoller
from pollbench import Middle, PollBench, Server, always, idle

WAITS = [2, 4, 8, 16, 32, 60, 60]
"""2 s, doubled with every disappointment, capped at a minute."""


def bench(
    server: Server = idle,
    *,
    rtt_s: float = 0.0,
    task_s: float = 1e9,
    rng: random.Random | None = None,
    **policy: object,
) -> PollBench:
    strategy = SlotPoller(SlotPolicy(**policy), rng or Middle(1))  # type: ignore[arg-type]  # fields of the policy
    return PollBench(strategy, server, rtt_s=rtt_s, task_s=task_s)


def give(count: int, *, from_s: float = 0) -> Server:
    left = [count]

    def server(at_s: float, fetch: Fetch) -> int:
        if at_s < from_s:
            return 0
        left[0] -= 1
        return int(left[0] >= 0)

    return server


def test_empty_answers_wait_longer_and_longer() -> None:
    assert bench().run(200).waits == WAITS


@pytest.mark.parametrize("failure", [Failure.RETRY, Failure.UNREGISTERED, Failure.DEADLINE, Failure.REFUSED])
def test_failures_wait_the_same_way_and_never_end_it(failure: Failure) -> None:
    assert bench(always(failure)).run(200).waits == WAITS


def test_doubling_ends_at_32_times_the_base_whatever_the_cap() -> None:
    assert bench(interval_max_us=1000 * 10**6).run(300).waits == [2, 4, 8, 16, 32, 64, 64, 64]


@pytest.mark.parametrize(("capacity", "fetches"), [(1, 1), (3, 3), (60, 60)])
def test_every_slot_polls_for_itself(capacity: int, fetches: int) -> None:
    runner = bench(capacity=capacity).run(1)
    assert [fetch.worker for _, fetch in runner.fetches] == list(range(fetches))


@pytest.mark.parametrize("seed", range(5))
def test_slots_draw_their_own_jitter_of_twenty_percent(seed: int) -> None:
    runner = bench(capacity=60, rng=random.Random(seed)).run(2.5)
    second = runner.times[60:120]
    assert len(set(second)) == 60
    assert all(1.6 <= at <= 2.4 for at in second), f"seed {seed}"


def test_without_jitter_all_slots_poll_at_the_same_moment() -> None:
    runner = bench(capacity=60, rng=random.Random(1), jitter=False).run(3)
    assert set(runner.times) == {0, 2}


def test_slots_count_apart() -> None:
    # Slot 0 is always empty, slot 1 always fails; each waits by its own counts.
    runner = bench(lambda at_s, fetch: Failure.RETRY if fetch.worker else 0, capacity=2).run(200)
    for worker in (0, 1):
        times = [at_s for at_s, fetch in runner.fetches if fetch.worker == worker]
        assert times == [0, 2, 6, 14, 30, 62, 122, 182]


def test_full_runner_does_not_fetch_as_coded() -> None:
    full = bench(give(60), capacity=60).run(600)
    assert len(full.fetches) == 60
    assert full.most_busy == 60


def test_full_runner_goes_on_as_claimed_and_takes_more_than_it_has_room_for() -> None:
    full = bench(give(63), capacity=60, poll_while_full=True).run(600)
    assert full.between(300, 600) == 60 * 300 // 60
    assert full.most_busy == 63


def test_slot_whose_task_ended_fetches_at_once_and_starts_over() -> None:
    runner = bench(give(1, from_s=14), task_s=7).run(40)
    assert runner.times == [0, 2, 6, 14, 21, 23, 27, 35]


def recovering(fail_from_s: float, fail_to_s: float) -> Server:
    return lambda at_s, fetch: Failure.RETRY if fail_from_s <= at_s < fail_to_s else 0


def test_two_counters_keep_an_idle_runner_slow_after_an_outage() -> None:
    runner = bench(recovering(1000, 1300)).run(3000)
    back = [at_s for at_s in runner.times if at_s >= 1300]
    assert back[1] - back[0] == 60


def test_one_counter_brings_the_second_poll_after_an_outage_at_once() -> None:
    runner = bench(recovering(1000, 1300), one_counter=True).run(3000)
    back = [at_s for at_s in runner.times if at_s >= 1300]
    assert back[1] - back[0] == 2
    assert back[2] - back[1] == 2
    assert back[3] - back[2] == 4


def test_one_counter_counts_failures_on_top_of_empty_answers() -> None:
    assert bench(recovering(5, 1e9), one_counter=True).run(200).waits == WAITS
    assert bench(recovering(5, 1e9)).run(30).waits == [2, 4, 4, 4, 8]


def test_repeated_task_waits_like_an_empty_answer() -> None:
    runner = bench()
    runner.repeat = True
    assert runner.run(20).waits == [2, 4, 8]


def test_task_limit_is_never_exceeded_by_fetches_in_flight() -> None:
    runner = bench(lambda at_s, fetch: 1, capacity=4, tasks_max=2, rtt_s=1, task_s=3).run(60)
    assert len(runner.fetches) == 2
    assert runner.reason is HaltReason.SERVED


def test_stop_gives_up_fetches_and_waits_for_tasks() -> None:
    runner = bench(give(1), capacity=3, rtt_s=1).run(1.5)
    runner.stop()
    assert runner.reason is None
    runner.free()
    assert runner.reason is HaltReason.STOPPED


def test_idle_rate_is_capacity_over_the_cap() -> None:
    runner = bench(capacity=60, rng=random.Random(3)).run(3720)
    assert runner.between(120, 3720) == pytest.approx(60 * 3600 / 60, rel=0.03)
