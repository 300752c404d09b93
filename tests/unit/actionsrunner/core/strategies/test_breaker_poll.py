"""The circuit breaker over a way to poll."""

import random

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.poller import BackoffPoller, PollPolicy
from actionsrunner.core.polling import Fetch, HaltReason
from actionsrunner.core.strategies.breaker import BreakerPolicy
from actionsrunner.core.strategies.breaker_poll import PollBreaker
from actionsrunner.core.strategies.limited_poll import LimitedPolicy, LimitedPoller
from actionsrunner.core.strategies.slot_poll import SlotPolicy, SlotPoller
from pollbench import Middle, PollBench, Server, always, idle

POLICY = BreakerPolicy(threshold=3, cooldown_us=30_000_000, jitter=False)


def limited(server: Server, *, rtt_s: float = 0.0, capacity: int = 1) -> PollBench:
    inner = LimitedPoller(LimitedPolicy(capacity=capacity))
    return PollBench(PollBreaker(inner, POLICY, Middle(1)), server, rtt_s=rtt_s)


def failing(start_s: float, end_s: float, failure: Failure = Failure.RETRY) -> Server:
    return lambda at_s, fetch: failure if start_s <= at_s < end_s else 0


def test_closed_breaker_changes_nothing() -> None:
    assert limited(idle).run(10).times == [0, 2, 4, 6, 8]


def test_errors_below_the_threshold_change_nothing() -> None:
    assert limited(lambda at_s, fetch: 0 if at_s % 6 == 0 else Failure.RETRY).run(20).times == list(range(0, 20, 2))


def test_breaker_opens_at_the_threshold_and_probes_after_each_cooldown() -> None:
    runner = limited(failing(10, 100)).run(110)
    # The third failure at 14 s opens it; probes fail at 44 and 74 s, that of 104 s succeeds and closes it.
    assert runner.times == [0, 2, 4, 6, 8, 10, 12, 14, 44, 74, 104, 106, 108]


def test_our_own_deadline_is_no_error() -> None:
    assert limited(failing(10, 100, Failure.DEADLINE)).run(100).times == list(range(0, 100, 2))


def test_probe_without_a_verdict_is_followed_by_another_one() -> None:
    def server(at_s: float, fetch: Fetch) -> int | Failure:
        if at_s == 44:
            return Failure.DEADLINE
        return Failure.RETRY if 10 <= at_s < 50 else 0

    assert limited(server).run(80).times[5:] == [10, 12, 14, 44, 46, 76, 78]


def test_only_one_fetch_of_many_slots_is_the_probe() -> None:
    inner = SlotPoller(SlotPolicy(capacity=60, interval_max_us=5_000_000), Middle(1))
    runner = PollBench(PollBreaker(inner, POLICY, Middle(1)), failing(0, 50), rtt_s=0.5).run(120)
    assert runner.between(0, 0.1) == 60
    assert runner.between(0.1, 30) == 0
    assert runner.between(30, 50) == 1
    assert runner.between(60, 120) > 100, "closed again by the first good probe"


def test_calls_that_fail_late_do_not_lengthen_the_cooldown() -> None:
    runner = limited(failing(0, 1000), rtt_s=5, capacity=10).run(60)
    # The third failure arrives at 9 s; four more are in flight then, and the probe comes 30 s later all the same.
    assert [at_s for at_s in runner.times if at_s > 9] == [40]


@pytest.mark.parametrize("seed", range(5))
def test_cooldown_is_spread_so_that_a_fleet_does_not_probe_in_step(seed: int) -> None:
    rng = random.Random(seed)
    inner = LimitedPoller(LimitedPolicy(interval_us=100_000))
    policy = BreakerPolicy(threshold=1, cooldown_us=30_000_000)
    runner = PollBench(PollBreaker(inner, policy, rng), always(Failure.RETRY)).run(500)
    assert all(24 <= wait <= 36.1 for wait in runner.waits), f"seed {seed}"
    assert len(set(runner.waits)) > 5


def test_backoff_below_goes_on_counting_while_the_breaker_is_open() -> None:
    inner = BackoffPoller(PollPolicy(interval_max_us=60_000_000), Middle(1))
    runner = PollBench(PollBreaker(inner, POLICY, Middle(1)), failing(0, 100)).run(400)
    # 0, 2 and 6 s fail. The fetch of 14 s is refused here, that of 30 s too, so the probe is that of 62 s.
    assert runner.times[:4] == [0, 2, 6, 62]


def test_unregistered_runner_leaves_through_the_breaker() -> None:
    inner = BackoffPoller(PollPolicy(), Middle(1))
    runner = PollBench(PollBreaker(inner, POLICY, Middle(1)), always(Failure.UNREGISTERED)).run(10)
    assert runner.reason is HaltReason.UNREGISTERED


def test_stop_passes_an_open_breaker() -> None:
    runner = limited(always(Failure.RETRY)).run(20)
    runner.stop()
    assert runner.reason is HaltReason.STOPPED
