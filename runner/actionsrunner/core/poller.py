"""The polling of today's Gitea runner as a pure state machine.

One poller serves all slots. While a slot is free and no fetch is in flight it fetches as soon as its wait is over;
while every slot is taken it does nothing at all. An answer with a task makes the next fetch immediate. An empty
answer, our own deadline and an error each lengthen the wait; an answer forgives earlier errors, but only a task
forgives earlier empty answers. Once stopped, or once the server says it does not know the runner, nothing is fetched
any more and the machine halts when the last slot is free.

Source: docs/runner.md, "Polling".
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from actionsrunner.core.backoff import Streaks, poll_delay_us
from actionsrunner.core.failures import Failure
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

_UUID_FIXED: Final = 0x4000_8000 << 48
_UUID_RANDOM: Final = ~(0xF000_C000 << 48)
"""Where a UUID says that it is of version 4 and which variant it is, and the bits that are left to chance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PollPolicy:
    """The numbers of `BackoffPoller`; the defaults are those of today's Gitea runner."""

    capacity: int = 1
    interval_us: int = 2_000_000
    interval_max_us: int = 5_000_000
    tasks_max: int | None = None
    """Stop fetching after this many tasks; None for never."""
    jitter: bool = True
    """Spread every wait; without it runners that fall into step stay in step."""
    one_counter: bool = False
    """Count empty and failed polls together; see `Streaks.after_empty`."""
    deadline_forgives: bool = False
    """Take our own deadline for a sign of health that forgives earlier errors, as runners before v3.2 do."""
    unregistered_halts: bool = True
    """Leave for good when the server does not know this runner; runners before v2.1 go on asking."""


class PollState(NamedTuple):
    """All that the poller remembers. A named tuple, since simulations step it millions of times."""

    tasks_version: int = 0
    streaks: Streaks = Streaks()
    busy: int = 0
    received: int = 0
    fetch_id: int = 0
    """Number of the latest fetch; an event about an older one is stale."""
    in_flight: bool = False
    sent_version: int = 0
    due_us: int = 0
    request_key: str = ""
    halting: HaltReason | None = None


class BackoffPoller:
    """Today's Gitea runner: a single poller over all slots, exponential back-off, 20 % jitter."""

    def __init__(self, policy: PollPolicy, rng: random.Random) -> None:
        assert policy.capacity >= 1
        self._policy = policy
        self._rng = rng

    def start(self) -> PollState:
        """Return the state before `Began`."""
        return PollState(request_key=self._new_key())

    def step(self, state: PollState, event: PollEvent, now_us: int) -> tuple[PollState, Sequence[PollCommand]]:
        """Take one event, return the new state and what the loop must do, in order."""
        match event:
            case Began() | TimeCame():
                pass
            case SlotFreed():
                state = state._replace(busy=state.busy - 1)
            case Answered() if self._is_current(state, event.fetch_id):
                state = self._answered(state, event, now_us)
            case Failed() if self._is_current(state, event.fetch_id):
                state = self._failed(state, event.failure, now_us)
            case Answered():
                # A late answer cannot teach us a version, but its tasks do occupy slots.
                state = state._replace(busy=state.busy + event.tasks, received=state.received + event.tasks)
            case Failed():
                pass
            case StopAsked():
                return self._stop(state)
        return self._next(state, now_us)

    def _is_current(self, state: PollState, fetch_id: int) -> bool:
        return state.in_flight and fetch_id == state.fetch_id

    def _stop(self, state: PollState) -> tuple[PollState, Sequence[PollCommand]]:
        state = state._replace(halting=state.halting or HaltReason.STOPPED, in_flight=False)
        commands: list[PollCommand] = [AbandonFetches()]
        if state.busy == 0:
            assert state.halting is not None
            commands.append(Halt(state.halting))
        return state, commands

    def _answered(self, state: PollState, event: Answered, now_us: int) -> PollState:
        got_task = event.tasks + event.repeated > 0
        state = state._replace(
            in_flight=False,
            tasks_version=_next_version(state.sent_version, event.tasks_version, got_task=got_task),
            busy=state.busy + event.tasks,
            received=state.received + event.tasks,
            request_key=self._new_key(),
        )
        if event.tasks:
            limit = self._policy.tasks_max
            served = limit is not None and state.received >= limit
            halting = state.halting or (HaltReason.SERVED if served else None)
            return state._replace(streaks=Streaks(), due_us=now_us, halting=halting)
        # A repeated task counts as nothing new: a server that hands it out again and again must not be hammered.
        return self._wait(state, state.streaks.after_empty(one_counter=self._policy.one_counter), now_us)

    def _failed(self, state: PollState, failure: Failure, now_us: int) -> PollState:
        policy, streaks = self._policy, state.streaks
        state = state._replace(in_flight=False)
        if failure is Failure.UNREGISTERED and policy.unregistered_halts:
            return state._replace(halting=state.halting or HaltReason.UNREGISTERED)
        if failure is not Failure.DEADLINE:
            streaks = streaks.after_failure(one_counter=policy.one_counter)
        elif policy.deadline_forgives:
            streaks = streaks.after_empty(one_counter=policy.one_counter)
        else:
            # The usual end of a fetch that the server holds open; it says nothing about the server's health.
            streaks = streaks._replace(empty=streaks.empty + 1)
        return self._wait(state, streaks, now_us)

    def _wait(self, state: PollState, streaks: Streaks, now_us: int) -> PollState:
        policy = self._policy
        delay_us = poll_delay_us(
            streak=streaks.longest,
            base_us=policy.interval_us,
            cap_us=policy.interval_max_us,
            rng=self._rng,
            jitter=policy.jitter,
        )
        return state._replace(streaks=streaks, due_us=now_us + delay_us)

    def _next(self, state: PollState, now_us: int) -> tuple[PollState, Sequence[PollCommand]]:
        if state.halting is not None:
            return state, [Halt(state.halting)] if state.busy == 0 else []
        free = self._free_slots(state)
        if state.in_flight or free <= 0:
            return state, []
        if now_us < state.due_us:
            return state, [WakeAt(state.due_us)]
        state = state._replace(in_flight=True, fetch_id=state.fetch_id + 1, sent_version=state.tasks_version)
        fetch = Fetch(
            fetch_id=state.fetch_id,
            tasks_version=state.tasks_version,
            free_slots=free,
            request_key=state.request_key,
        )
        return state, [fetch]

    def _free_slots(self, state: PollState) -> int:
        free = self._policy.capacity - state.busy
        if self._policy.tasks_max is not None:
            free = min(free, self._policy.tasks_max - state.received)
        return free

    def _new_key(self) -> str:
        return _uuid4(self._rng.getrandbits(128))


def _uuid4(bits: int) -> str:
    """Return the text of a random UUID; the library's own class takes three times as long."""
    digits = f"{bits & _UUID_RANDOM | _UUID_FIXED:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def _next_version(sent: int, answered: int, *, got_task: bool) -> int:
    """Return the tasks_version for the next fetch.

    A higher answer replaces the stored one and is never lowered (a recovered answer carries 0). After a task the
    next fetch must look into the queue whatever the version, so it sends 0, but only when the answer was as new as
    what we hold.
    """
    stored = max(sent, answered)
    return 0 if got_task and answered == stored else stored
