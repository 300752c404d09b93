"""The polling of Gitea's runner v0.4.0: every slot polls for itself, with its own back-off.

A slot's loop fetches first and sleeps after. It counts empty and failed polls of its own and waits longer the more
there were, as `core/poller.py` does for all slots together; a task resets both counts, runs in the loop, and the next
fetch follows at once. The rate of a runner thus multiplies with its capacity: an idle runner with 60 slots polls like
60 runners. Not even "this runner is unregistered" ends it.

`poll_while_full` shows the reading in which a slot's loop hands its task over and goes on asking. The code of that
time cannot do this. Since nothing holds a task back in that reading, one that comes while all slots are taken runs
beyond the capacity.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from actionsrunner.core.backoff import Streaks, poll_delay_us
from actionsrunner.core.failures import Failure
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
class SlotPolicy:
    """The numbers of `SlotPoller`; the defaults are those of Gitea's runner v0.4.0."""

    capacity: int = 1
    interval_us: int = 2_000_000
    interval_max_us: int = 60_000_000
    tasks_max: int | None = None
    """Stop fetching after this many tasks; None for never."""
    jitter: bool = True
    one_counter: bool = False
    poll_while_full: bool = False


class Slot(NamedTuple):
    """One slot's loop: it waits until ``due_us``, or has a fetch in flight, or else runs a task."""

    streaks: Streaks = Streaks()
    due_us: int | None = None
    fetch_id: int = 0
    """Of the fetch in flight, else 0."""
    sent_version: int = 0


class SlotState(NamedTuple):
    """All that the slots remember."""

    slots: tuple[Slot, ...]
    tasks_version: int = 0
    busy: int = 0
    received: int = 0
    fetch_id: int = 0
    """Multiples of the capacity; a slot's fetches are numbered so that the remainder is the slot."""
    wake_us: int | None = None
    """The earliest due time, as far as the loop has been told."""
    halting: HaltReason | None = None


Step = tuple[SlotState, Sequence[PollCommand]]


class SlotPoller:
    """One poller per slot, each with its own exponential back-off and 20 % jitter."""

    def __init__(self, policy: SlotPolicy, rng: random.Random) -> None:
        assert policy.capacity >= 1
        self._policy = policy
        self._rng = rng

    def start(self) -> SlotState:
        """Return the state before `Began`."""
        # Due long ago: whatever the clock shows at the start, every slot fetches first.
        return SlotState(slots=(Slot(due_us=-1),) * self._policy.capacity)

    def step(self, state: SlotState, event: PollEvent, now_us: int) -> Step:
        """Take one event, return the new state and what the loop must do, in order."""
        match event:
            case Answered():
                state = self._answered(state, event, now_us)
            case Failed():
                state = self._failed(state, event, now_us)
            case SlotFreed():
                state = self._freed(state, now_us)
            case StopAsked():
                idle = tuple(slot._replace(fetch_id=0) if slot.fetch_id else slot for slot in state.slots)
                state = state._replace(slots=idle, halting=state.halting or HaltReason.STOPPED)
                assert state.halting is not None
                return state, [AbandonFetches(), *([] if state.busy else [Halt(state.halting)])]
            case _:
                state = state._replace(wake_us=None)
        return self._next(state, now_us)

    # What an event changes.

    def _answered(self, state: SlotState, event: Answered, now_us: int) -> SlotState:
        policy, place = self._policy, event.fetch_id % self._policy.capacity
        slot = state.slots[place]
        # A late answer cannot teach us anything, but its tasks do occupy slots.
        received = state.received + event.tasks
        served = policy.tasks_max is not None and received >= policy.tasks_max
        state = state._replace(
            busy=state.busy + event.tasks,
            received=received,
            halting=state.halting or (HaltReason.SERVED if served else None),
        )
        if slot.fetch_id != event.fetch_id:
            return state
        got_task = event.tasks + event.repeated > 0
        state = state._replace(
            tasks_version=swap_version(
                state.tasks_version, sent=slot.sent_version, answered=event.tasks_version, got_task=got_task
            )
        )
        if event.tasks:
            return _with(state, place, Slot(due_us=now_us if policy.poll_while_full else None))
        # A repeated task counts as nothing new: a server that hands it out again and again must not be hammered.
        return self._wait(state, place, slot.streaks.after_empty(one_counter=policy.one_counter), now_us)

    def _failed(self, state: SlotState, event: Failed, now_us: int) -> SlotState:
        place = event.fetch_id % self._policy.capacity
        slot = state.slots[place]
        if slot.fetch_id != event.fetch_id:
            return state
        one_counter = self._policy.one_counter
        if event.failure is Failure.DEADLINE:
            return self._wait(state, place, slot.streaks.after_empty(one_counter=one_counter), now_us)
        return self._wait(state, place, slot.streaks.after_failure(one_counter=one_counter), now_us)

    def _freed(self, state: SlotState, now_us: int) -> SlotState:
        state = state._replace(busy=state.busy - 1)
        # Slots that run a task have nothing to tell them apart, so any of them may be the one.
        for place, slot in enumerate(state.slots):
            if slot.due_us is None and not slot.fetch_id:
                return _with(state, place, slot._replace(due_us=now_us))
        return state

    def _wait(self, state: SlotState, place: int, streaks: Streaks, now_us: int) -> SlotState:
        policy = self._policy
        delay_us = poll_delay_us(
            streak=streaks.longest,
            base_us=policy.interval_us,
            cap_us=policy.interval_max_us,
            rng=self._rng,
            jitter=policy.jitter,
        )
        return _with(state, place, Slot(streaks, now_us + delay_us))

    # What to do now.

    def _next(self, state: SlotState, now_us: int) -> Step:
        if state.halting is not None:
            return state, [] if state.busy else [Halt(state.halting)]
        budget = self._budget(state)
        commands: list[PollCommand] = []
        slots: list[Slot] | None = None
        fetch_id, wake_us = state.fetch_id, None
        for place, slot in enumerate(state.slots):
            due_us = slot.due_us
            if due_us is None:
                continue
            if due_us > now_us:
                wake_us = due_us if wake_us is None or due_us < wake_us else wake_us
            elif budget is None or len(commands) < budget:
                fetch_id += self._policy.capacity
                slots = slots or list(state.slots)
                slots[place] = Slot(slot.streaks, None, fetch_id + place, state.tasks_version)
                commands.append(Fetch(fetch_id + place, state.tasks_version, 1, NO_KEY, place))
        if slots is not None:
            state = state._replace(slots=tuple(slots), fetch_id=fetch_id)
        if wake_us is not None and wake_us != state.wake_us:
            state = state._replace(wake_us=wake_us)
            commands.append(WakeAt(wake_us))
        return state, commands

    def _budget(self, state: SlotState) -> int | None:
        """Return how many more fetches the limit on tasks allows now."""
        if self._policy.tasks_max is None:
            return None
        in_flight = sum(slot.fetch_id > 0 for slot in state.slots)
        return self._policy.tasks_max - state.received - in_flight


def _with(state: SlotState, place: int, slot: Slot) -> SlotState:
    slots = state.slots
    return state._replace(slots=(*slots[:place], slot, *slots[place + 1 :]))
