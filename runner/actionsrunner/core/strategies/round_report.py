"""The reporting of Gitea's runner up to v0.3.0: rounds, each one second after the last had ended.

A round is UpdateLog with whatever rows there are, also none, and then UpdateTask, whether anything changed or not.
What either call answers changes little: rows are acknowledged, a CANCELLED task stops the job, everything else,
failures and a task that the server has given up included, is ignored and the next round comes a second later.

Known faults, kept:

* Two calls a second for every running task, also for a silent one, also against a server in trouble.
* Calls run on the job's own context. Once the job is cancelled, by the server or by the runner's shutdown, or its
  time is up, nothing is sent any more: neither the end of the log nor the result.
* The closing UpdateLog and UpdateTask are one unit that is retried as a whole, ten tries in all. The check behind the
  UpdateLog compares with numbers it has just changed, so it fails whenever the call carried rows; the next try
  sends an empty one with no_more to a log that is sealed already. Servers that refuse this never get the result.

Two things are different here: an ack above what was sent is clamped (the real runner crashes), and a backlog larger
than one call may be travels in several rounds.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from actionsrunner.core.backoff import retry_delay_us
from actionsrunner.core.reporter import CLOSE_TRIES_MAX, RETRY_FIRST_US, ROWS_PER_CALL_MAX
from actionsrunner.core.reporting import (
    Done,
    Ending,
    LogAnswered,
    LogFailed,
    ReportCommand,
    ReportEvent,
    SendLog,
    SendState,
    StateAnswered,
    StateFailed,
    StopCause,
    StopJob,
    Tell,
    Trouble,
    Wait,
)
from actionswire.logwindow import acknowledge
from actionswire.result import Result

GIVEN_UP: Final = (Tell(Trouble.STATE_GIVEN_UP), Done(Ending.GAVE_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPolicy:
    """The numbers of `RoundReporter`; the defaults are those of Gitea's runner up to v0.3.0."""

    interval_us: int = 1_000_000
    job_limit_us: int = 3 * 3600 * 1_000_000
    """Longest a job may run; there is no other limit on a call."""


class RoundPhase(Enum):
    """What the reporter waits for."""

    PAUSE = auto()
    LOG = auto()
    STATE = auto()
    RETRY = auto()
    """The next try to close."""
    LAST_LOG = auto()
    LAST_STATE = auto()


# Bound once: reading a member off its enum class costs as much as a line here.
_PAUSE: Final = RoundPhase.PAUSE
_LOG: Final = RoundPhase.LOG
_STATE: Final = RoundPhase.STATE
_CLOSING: Final = (RoundPhase.LAST_LOG, RoundPhase.LAST_STATE)


class RoundState(NamedTuple):
    """All that the reporter remembers."""

    end_us: int
    """When the job's time is up."""
    phase: RoundPhase = RoundPhase.PAUSE
    offset: int = 0
    """Rows acknowledged, which is the absolute index of the first buffered one."""
    due_us: int = 0
    """When the next round or the next try comes."""
    tries: int = 0
    is_dead: bool = False
    """The job's context is gone, so no call can be made any more."""


Step = tuple[RoundState, Sequence[ReportCommand]]


class RoundReporter:
    """UpdateLog and UpdateTask one second after the previous round, always."""

    def __init__(self, policy: RoundPolicy, rng: random.Random) -> None:
        assert policy.interval_us >= 1
        self._policy = policy
        self._rng = rng

    def start(self, now_us: int) -> RoundState:
        """Return the state of a task that has just been received; its first round is due."""
        return RoundState(now_us + self._policy.job_limit_us, due_us=now_us)

    def step(self, state: RoundState, event: ReportEvent, now_us: int) -> Step:
        """Take one event, return the new state and at least one command."""
        if state.phase in _CLOSING:
            return self._closing(state, event, now_us)
        stop: list[ReportCommand] = []
        match event:
            case LogAnswered():
                state = _acknowledged(state, event)
            case StateAnswered() if event.result is Result.CANCELLED and not event.seen.interrupted:
                stop = [StopJob(StopCause.SERVER, event.result)]
            case _:
                pass
        if stop or state.is_dead or event.seen.interrupted or now_us >= state.end_us:
            state = state._replace(is_dead=True)
            return state, [*stop, *(GIVEN_UP if event.seen.ended else (Wait(None),))]
        if event.seen.ended:
            return self._close(state, event, now_us)
        return self._round(state, event, now_us)

    def _round(self, state: RoundState, event: ReportEvent, now_us: int) -> Step:
        # Built from all parts, since `_replace` costs more than the rest, and every call of every task passes here.
        end_us, phase, offset, due_us, tries, is_dead = state
        if phase is _LOG:
            state = RoundState(end_us, _STATE, offset, due_us, tries, is_dead)
            return state, [SendState(False, end_us - now_us)]
        if phase is _STATE:
            phase, due_us = _PAUSE, now_us + self._policy.interval_us
        if now_us < due_us:
            return RoundState(end_us, phase, offset, due_us, tries, is_dead), [Wait(due_us)]
        send = _send_log(state, event.seen.rows, now_us, closing=False)
        return RoundState(end_us, _LOG, offset, due_us, tries, is_dead), [send]

    # Closing.

    def _close(self, state: RoundState, event: ReportEvent, now_us: int) -> Step:
        if state.phase is not RoundPhase.RETRY:
            state = state._replace(phase=RoundPhase.RETRY, due_us=now_us)
        if now_us < state.due_us:
            return state, [Wait(state.due_us)]
        state = state._replace(phase=RoundPhase.LAST_LOG, tries=state.tries + 1)
        return state, [_send_log(state, event.seen.rows, now_us, closing=True)]

    def _closing(self, state: RoundState, event: ReportEvent, now_us: int) -> Step:
        match event:
            case LogAnswered():
                lost = event.ack_index < state.offset
                state = _acknowledged(state, event)
                # The real check fails whenever rows were sent; see the head of this module.
                if not lost and event.sent == 0 and now_us < state.end_us:
                    state = state._replace(phase=RoundPhase.LAST_STATE)
                    return state, [SendState(final=True, limit_us=state.end_us - now_us)]
            case StateAnswered() if not event.seen.outputs_waiting:
                return state, [Done(Ending.DELIVERED)]
            case LogFailed() | StateFailed() | StateAnswered():
                pass
            case _:
                raise AssertionError("a call is in flight")
        delay_us = retry_delay_us(failures=state.tries, first_us=RETRY_FIRST_US, rng=self._rng)
        if state.tries >= CLOSE_TRIES_MAX or now_us + delay_us >= state.end_us:
            return state, GIVEN_UP
        return state._replace(phase=RoundPhase.RETRY, due_us=now_us + delay_us), [Wait(now_us + delay_us)]


def _acknowledged(state: RoundState, event: LogAnswered) -> RoundState:
    if not event.sent:
        return state  # no answer moves an empty buffer
    return state._replace(offset=state.offset + acknowledge(state.offset, event.sent, event.ack_index).drop)


def _send_log(state: RoundState, total: int, now_us: int, *, closing: bool) -> SendLog:
    buffered = total - state.offset
    rows = min(buffered, ROWS_PER_CALL_MAX)
    return SendLog(index=state.offset, rows=rows, no_more=closing and rows == buffered, limit_us=state.end_us - now_us)
