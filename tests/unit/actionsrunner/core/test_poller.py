"""The poll machine in virtual time: one event in, commands out."""

import random
import uuid
from collections.abc import Sequence
from typing import Any

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.core.poller import BackoffPoller, PollPolicy, PollState
from actionsrunner.core.polling import (
    AbandonFetches,
    Answered,
    Began,
    Failed,
    Fetch,
    Halt,
    HaltReason,
    PollCommand,
    PollEvent,
    SlotFreed,
    StopAsked,
    TimeCame,
    WakeAt,
)

S = 1_000_000


class Middle(random.Random):
    """Draws the middle, so that there is no jitter; bits stay random."""

    def random(self) -> float:
        return 0.5


class Bench:
    """Feeds a poller and keeps what it wants."""

    def __init__(self, rng: random.Random | None = None, **policy: Any) -> None:
        self.poller = BackoffPoller(PollPolicy(**policy), rng or Middle(1))
        self.state: PollState = self.poller.start()
        self.now_us = 0
        self.commands: Sequence[PollCommand] = ()

    def feed(self, event: PollEvent) -> Sequence[PollCommand]:
        self.state, self.commands = self.poller.step(self.state, event, self.now_us)
        return self.commands

    @property
    def fetch(self) -> Fetch:
        (command,) = self.commands
        assert isinstance(command, Fetch), command
        return command

    def answer(self, version: int = 1, *, tasks: int = 0, repeated: int = 0) -> Sequence[PollCommand]:
        return self.feed(Answered(self.state.fetch_id, version, tasks=tasks, repeated=repeated))

    def fail(self, failure: Failure) -> Sequence[PollCommand]:
        return self.feed(Failed(self.state.fetch_id, failure))

    def waited_s(self) -> float:
        """The wait that the last answer caused; afterwards the next fetch is in flight."""
        (command,) = self.commands
        assert isinstance(command, WakeAt), command
        wait_us = command.at_us - self.now_us
        self.now_us = command.at_us
        self.feed(TimeCame())
        assert self.fetch
        return wait_us / S


def begun(**policy: Any) -> Bench:
    bench = Bench(**policy)
    bench.feed(Began())
    return bench


def test_begin_fetches_at_once_with_version_zero() -> None:
    bench = begun(capacity=3)
    assert (bench.fetch.tasks_version, bench.fetch.free_slots) == (0, 3)


def test_empty_answers_wait_two_four_five_five_seconds() -> None:
    bench = begun()
    waits = []
    for _ in range(5):
        bench.answer()
        waits.append(bench.waited_s())
    assert waits == [2, 4, 5, 5, 5]


@pytest.mark.parametrize("seed", range(20))
def test_waits_stay_within_twenty_percent(seed: int) -> None:
    bench = Bench(random.Random(seed))
    bench.feed(Began())
    for base in (2, 4, 5, 5):
        bench.answer()
        assert 0.8 * base <= bench.waited_s() <= 1.2 * base, f"seed {seed}"


def test_errors_wait_the_same_way() -> None:
    bench = begun()
    waits = []
    for _ in range(4):
        bench.fail(Failure.RETRY)
        waits.append(bench.waited_s())
    assert waits == [2, 4, 5, 5]


def test_success_forgives_errors_but_not_empty_answers() -> None:
    bench = begun(interval_max_us=100 * S)
    for _ in range(3):
        bench.fail(Failure.RETRY)
        bench.waited_s()
    bench.answer()
    assert bench.waited_s() == 2, "one empty answer; the three errors are forgiven"
    bench.answer()
    assert bench.waited_s() == 4
    bench.fail(Failure.RETRY)
    assert bench.waited_s() == 4, "the larger of two empty answers and one error"
    bench.answer()
    assert bench.waited_s() == 8, "the third empty answer"


def test_task_resets_the_wait_and_fetches_at_once() -> None:
    bench = begun(capacity=2)
    for _ in range(3):
        bench.answer()
        bench.waited_s()
    bench.answer(tasks=1)
    assert bench.fetch.free_slots == 1
    bench.answer()
    assert bench.waited_s() == 2


def test_own_deadline_counts_as_empty_and_keeps_the_error_count() -> None:
    bench = begun(interval_max_us=100 * S)
    bench.fail(Failure.RETRY)
    bench.waited_s()
    bench.fail(Failure.RETRY)
    assert bench.waited_s() == 4
    bench.fail(Failure.DEADLINE)
    assert bench.waited_s() == 4
    bench.fail(Failure.RETRY)
    assert bench.waited_s() == 8


@pytest.mark.parametrize(
    ("sent", "answered", "tasks", "expected"),
    [
        (0, 3, 0, 3),
        (5, 3, 0, 5),
        (5, 5, 0, 5),
        (5, 0, 0, 5),
        (0, 3, 1, 0),
        (5, 5, 1, 0),
        (5, 8, 1, 0),
        (5, 3, 1, 5),
        (5, 0, 1, 5),
    ],
)
def test_next_version_follows_the_answer(sent: int, answered: int, tasks: int, expected: int) -> None:
    bench = begun(capacity=5)
    bench.answer(sent)
    bench.waited_s()
    assert bench.fetch.tasks_version == sent
    bench.answer(answered, tasks=tasks)
    if not tasks:
        bench.waited_s()
    assert bench.fetch.tasks_version == expected


def test_full_runner_does_nothing_until_a_slot_is_free() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    assert bench.answer(tasks=1) == []
    bench.now_us += 1000 * S
    assert bench.feed(TimeCame()) == []
    bench.feed(SlotFreed())
    assert bench.fetch.free_slots == 1


def test_more_tasks_than_slots_are_counted_until_they_end() -> None:
    bench = begun(capacity=1)
    assert bench.answer(tasks=3) == []
    assert bench.feed(SlotFreed()) == []
    assert bench.feed(SlotFreed()) == []
    assert bench.feed(SlotFreed()) != []


def test_slot_freed_during_a_wait_does_not_shorten_it() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    bench.answer()
    (wake,) = bench.commands
    assert bench.feed(SlotFreed()) == [wake]


def test_repeated_task_counts_as_empty() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    bench.answer(repeated=1)
    assert bench.waited_s() == 2
    bench.answer(repeated=1)
    assert bench.waited_s() == 4


def test_request_key_is_kept_over_failures_and_renewed_by_any_answer() -> None:
    bench = begun(capacity=2)
    first = bench.fetch.request_key
    for failure in (Failure.RETRY, Failure.DEADLINE, Failure.REFUSED):
        bench.fail(failure)
        bench.waited_s()
        assert bench.fetch.request_key == first
    bench.answer()
    bench.waited_s()
    second = bench.fetch.request_key
    bench.answer(tasks=1)
    third = bench.fetch.request_key
    assert len({first, second, third}) == 3


def test_unregistered_halts_once_the_jobs_have_ended() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    assert bench.fail(Failure.UNREGISTERED) == []
    bench.now_us += 1000 * S
    assert bench.feed(TimeCame()) == []
    assert bench.feed(SlotFreed()) == [Halt(HaltReason.UNREGISTERED)]


def test_stop_abandons_the_fetch_and_halts_when_idle() -> None:
    bench = begun()
    assert bench.feed(StopAsked()) == [AbandonFetches(), Halt(HaltReason.STOPPED)]


def test_stop_with_a_running_task_fetches_nothing_more() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    assert bench.feed(StopAsked()) == [AbandonFetches()]
    assert bench.feed(TimeCame()) == []
    assert bench.feed(SlotFreed()) == [Halt(HaltReason.STOPPED)]


def test_answer_that_crossed_the_stop_still_occupies_its_slot() -> None:
    bench = begun(capacity=2)
    bench.answer(tasks=1)
    fetch_id = bench.state.fetch_id
    bench.feed(StopAsked())
    assert bench.feed(Answered(fetch_id, 9, tasks=1)) == []
    assert bench.feed(SlotFreed()) == []
    assert bench.feed(SlotFreed()) == [Halt(HaltReason.STOPPED)]


def test_run_once_fetches_one_task_whatever_the_capacity() -> None:
    bench = begun(capacity=4, tasks_max=1)
    assert bench.fetch.free_slots == 1
    bench.answer()
    bench.waited_s()
    assert bench.answer(tasks=1) == []
    assert bench.feed(SlotFreed()) == [Halt(HaltReason.SERVED)]


def test_one_seed_gives_one_trace() -> None:
    def trace(seed: int) -> list[object]:
        bench = Bench(random.Random(seed))
        seen: list[object] = [*bench.feed(Began())]
        for _ in range(10):
            seen.extend(bench.answer())
            bench.waited_s()
            seen.append(bench.fetch)
        return seen

    assert trace(5) == trace(5)
    assert trace(5) != trace(6)


def test_request_key_is_a_random_uuid() -> None:
    key = uuid.UUID(begun().fetch.request_key)
    assert (key.version, key.variant) == (4, uuid.RFC_4122)
