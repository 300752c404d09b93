"""The polling of Gitea's runner up to v0.3: every slot has its own loop, all loops share one rate limiter.

A token comes once per interval and at most one is kept. The loop of a free slot waits for a token, fetches, and runs
the task that came before it waits again, so while every slot is taken nothing is fetched. Failures change nothing:
a server in trouble is asked exactly as often as a healthy one, and every runner keeps the phase it started with.
Not even "this runner is unregistered" ends it.

`poll_while_full` shows the reading in which a slot's loop hands its task over and goes on asking. The code of that
time cannot do this. Since nothing holds a task back in that reading, one that comes while all slots are taken runs
beyond the capacity.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from actionsrunner.core.polling import (
    AbandonFetches,
    Answered,
    Failed,
    Fetch,
    Halt,
    HaltReason,
    PollCommand,
    PollEvent,
    SlotFreed,
    StopAsked,
    WakeAt,
)
from actionsrunner.core.strategies.old_fetch import NO_KEY, swap_version


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitedPolicy:
    """The numbers of `LimitedPoller`; the defaults are those of Gitea's runner up to v0.3."""

    capacity: int = 1
    interval_us: int = 2_000_000
    tasks_max: int | None = None
    """Stop fetching after this many tasks; None for never."""
    poll_while_full: bool = False


class LimitedState(NamedTuple):
    """All that the limiter and the slots remember."""

    tasks_version: int = 0
    busy: int = 0
    received: int = 0
    token_us: int = 0
    """When the next token comes."""
    fetch_id: int = 0
    in_flight: tuple[tuple[int, int], ...] = ()
    """Fetch id and version sent of every fetch that has not been answered; one slot waits for each."""
    halting: HaltReason | None = None


Step = tuple[LimitedState, Sequence[PollCommand]]


class LimitedPoller:
    """One fetch per interval over all slots, whatever happens."""

    def __init__(self, policy: LimitedPolicy) -> None:
        assert policy.capacity >= 1 and policy.interval_us >= 1
        self._policy = policy

    def start(self) -> LimitedState:
        """Return the state before `Began`."""
        return LimitedState()

    def step(self, state: LimitedState, event: PollEvent, now_us: int) -> Step:
        """Take one event, return the new state and what the loop must do, in order."""
        # A slot that was waiting before takes its token at the moment it comes, however late the loop looks.
        waited = self._waiting(state) > 0 and state.fetch_id > 0
        match event:
            case Answered():
                state = self._answered(state, event)
            case Failed():
                state = _landed(state, event.fetch_id)
            case SlotFreed():
                state = state._replace(busy=state.busy - 1)
            case StopAsked():
                state = state._replace(halting=state.halting or HaltReason.STOPPED, in_flight=())
                assert state.halting is not None
                return state, [AbandonFetches(), *([] if state.busy else [Halt(state.halting)])]
            case _:
                pass
        return self._next(state, now_us, waited=waited)

    def _answered(self, state: LimitedState, event: Answered) -> LimitedState:
        sent = next((sent for fetch_id, sent in state.in_flight if fetch_id == event.fetch_id), None)
        tasks_version, halting = state.tasks_version, state.halting
        if sent is not None:
            got_task = event.tasks + event.repeated > 0
            tasks_version = swap_version(tasks_version, sent=sent, answered=event.tasks_version, got_task=got_task)
        received = state.received + event.tasks
        if self._policy.tasks_max is not None and received >= self._policy.tasks_max:
            halting = halting or HaltReason.SERVED
        return _landed(state, event.fetch_id)._replace(
            tasks_version=tasks_version, busy=state.busy + event.tasks, received=received, halting=halting
        )

    def _next(self, state: LimitedState, now_us: int, *, waited: bool) -> Step:
        if state.halting is not None:
            return state, [] if state.busy else [Halt(state.halting)]
        if self._waiting(state) <= 0:
            return state, []
        if now_us < state.token_us:
            return state, [WakeAt(state.token_us)]
        fetch_id = state.fetch_id + 1
        fetch = Fetch(fetch_id, state.tasks_version, 1, NO_KEY)
        # The bucket holds one token: one that lay unused does not bring the next one forward.
        taken_us = max(state.token_us, now_us - self._policy.interval_us) if waited else now_us
        state = state._replace(
            fetch_id=fetch_id,
            in_flight=(*state.in_flight, (fetch_id, state.tasks_version)),
            token_us=taken_us + self._policy.interval_us,
        )
        return state, [fetch, WakeAt(state.token_us)] if self._waiting(state) > 0 else [fetch]

    def _waiting(self, state: LimitedState) -> int:
        """Return how many slots wait for a token."""
        policy = self._policy
        slots = policy.capacity if policy.poll_while_full else policy.capacity - state.busy
        if policy.tasks_max is not None:
            slots = min(slots, policy.tasks_max - state.received)
        return slots - len(state.in_flight)


def _landed(state: LimitedState, fetch_id: int) -> LimitedState:
    """Return the state once the fetch is over; nothing changes for one that was abandoned."""
    return state._replace(in_flight=tuple(flight for flight in state.in_flight if flight[0] != fetch_id))
