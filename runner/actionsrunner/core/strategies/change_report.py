"""The reporting of Gitea's runner v0.4: rows and states go out when something happens, and only then.

Rows go out when 100 are buffered, 3 s after the first buffered one, or at the 5 s tick; a step that starts or ends
sends the rows first and the state right after. The state also goes out at its own 5 s tick if it changed, and every
row marks it changed. While nothing changes nothing is sent at all.

Known faults, kept:

* No heartbeat: a silent job is not heard between two steps, so a server that waits ten minutes for a sign of life
  reaps it; and it learns of a cancel only with its next row.
* A new row may send everything that is buffered once 100 rows are, also right after a failure. During an outage
  each further row is another failed call; `Retry.INTERVAL` waits for the tick or a step instead.
* Calls run on the job's own context. Once the job is cancelled, by the server or by the runner's shutdown, or its
  time is up, nothing is sent any more: neither the end of the log nor the result.
* A closing UpdateLog without rows does not seal the log of Forgejo and of Gitea before 1.26.2.

Two things are different here: an ack above what was sent is clamped (the real runner crashes), and a backlog larger
than one call may be travels in several.
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
    Retry,
    Seen,
    SendLog,
    SendState,
    StateAnswered,
    StateFailed,
    StopCause,
    StopJob,
    Tell,
    Trouble,
    Wait,
    Woke,
    next_tick,
)
from actionswire.logwindow import acknowledge
from actionswire.result import Result

GIVEN_UP: Final = (Tell(Trouble.STATE_GIVEN_UP), Done(Ending.GAVE_UP))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePolicy:
    """The numbers of `ChangeReporter`; the defaults are those of Gitea's runner v0.4."""

    log_interval_us: int = 5_000_000
    log_latency_us: int = 3_000_000
    log_batch_rows: int = 100
    state_interval_us: int = 5_000_000
    job_limit_us: int = 3 * 3600 * 1_000_000
    """Longest a job may run; there is no other limit on a call."""
    retry: Retry = Retry.EVERY_ROW


class ChangePhase(Enum):
    """Where a task's reporting stands."""

    RUNNING = auto()
    DEAD = auto()
    """The job's context is gone, so no call can be made any more."""
    CLOSING_LOG = auto()
    CLOSING_STATE = auto()


class ChangeState(NamedTuple):
    """All that the reporter remembers."""

    end_us: int
    """When the job's time is up."""
    log_tick_us: int
    state_tick_us: int
    phase: ChangePhase = ChangePhase.RUNNING
    offset: int = 0
    """Rows acknowledged, which is the absolute index of the first buffered one."""
    noted_rows: int = 0
    """Rows that have had their chance to send a batch or to start the latency."""
    noted_moves: int = 0
    flush_us: int | None = None
    """When the latency of the first buffered row ends."""
    log_due: bool = False
    log_failing: bool = False
    log_goal: int = 0
    """Rows that existed when the latest UpdateLog was sent."""
    state_due: bool = False
    state_sent: tuple[int, int] = (0, 0)
    """Rows and moves that the call in flight tells."""
    state_known: tuple[int, int] = (0, 0)
    """Rows and moves that the server has confirmed."""
    is_clean: bool = False
    """Nothing had happened that a tick could send when the last wait began."""
    tries: int = 0
    retry_us: int = 0


Step = tuple[ChangeState, Sequence[ReportCommand]]


class ChangeReporter:
    """Flush by events, batch size and latency; no heartbeat."""

    def __init__(self, policy: ChangePolicy, rng: random.Random) -> None:
        assert policy.log_batch_rows >= 1
        self._policy = policy
        self._rng = rng

    def start(self, now_us: int) -> ChangeState:
        """Return the state of a task that has just been received."""
        policy = self._policy
        return ChangeState(
            end_us=now_us + policy.job_limit_us,
            log_tick_us=now_us + policy.log_interval_us,
            state_tick_us=now_us + policy.state_interval_us,
        )

    def step(self, state: ChangeState, event: ReportEvent, now_us: int) -> Step:
        """Take one event, return the new state and at least one command."""
        seen = event.seen
        if state.phase in (ChangePhase.CLOSING_LOG, ChangePhase.CLOSING_STATE):
            return self._closing(state, event, now_us)
        state, stop = self._take_answer(state, event, now_us)
        if state.phase is ChangePhase.DEAD or seen.interrupted or now_us >= state.end_us:
            state = state._replace(phase=ChangePhase.DEAD)
            return state, [*stop, *(GIVEN_UP if seen.ended else (Wait(None),))]
        if seen.ended:
            return self._send_last_rows(state._replace(phase=ChangePhase.CLOSING_LOG), seen, now_us)
        state = self._look(state, seen, now_us)
        return self._next(state, seen, now_us, after_log=isinstance(event, LogAnswered | LogFailed))

    # While the job runs.

    def _take_answer(self, state: ChangeState, event: ReportEvent, now_us: int) -> Step:
        match event:
            case Woke():
                return (self._skip_ticks(state, now_us) if state.is_clean else state), ()
            case LogAnswered():
                return _acknowledged(state, event), ()
            case LogFailed():
                return state._replace(log_failing=True), ()
            case StateAnswered():
                state = state._replace(state_known=state.state_sent)
                if event.result is Result.CANCELLED and state.phase is ChangePhase.RUNNING:
                    return state._replace(phase=ChangePhase.DEAD), [StopJob(StopCause.SERVER, event.result)]
                return state, ()
            case StateFailed():
                return state, ()

    def _skip_ticks(self, state: ChangeState, now_us: int) -> ChangeState:
        """Pass the ticks that found nothing to send."""
        policy = self._policy
        if now_us >= state.log_tick_us:
            state = state._replace(log_tick_us=next_tick(state.log_tick_us, policy.log_interval_us, now_us))
        if now_us >= state.state_tick_us:
            state = state._replace(state_tick_us=next_tick(state.state_tick_us, policy.state_interval_us, now_us))
        return state

    def _look(self, state: ChangeState, seen: Seen, now_us: int) -> ChangeState:
        """Take in what the job has done, and the ticks that have come."""
        policy = self._policy
        if seen.moves != state.noted_moves:
            state = state._replace(noted_moves=seen.moves, log_due=True, state_due=True)
        if seen.rows != state.noted_rows:
            state = state._replace(noted_rows=seen.rows)
            if state.log_failing and policy.retry is Retry.INTERVAL:
                pass
            elif seen.rows - state.offset >= policy.log_batch_rows:
                state = state._replace(log_due=True)
            elif state.flush_us is None:
                state = state._replace(flush_us=now_us + policy.log_latency_us)
        if state.flush_us is not None and now_us >= state.flush_us:
            state = state._replace(log_due=True)
        if now_us >= state.log_tick_us:
            tick_us = next_tick(state.log_tick_us, policy.log_interval_us, now_us)
            state = state._replace(log_tick_us=tick_us, log_due=True)
        if now_us >= state.state_tick_us:
            tick_us = next_tick(state.state_tick_us, policy.state_interval_us, now_us)
            state = state._replace(state_tick_us=tick_us, state_due=state.state_due or _is_changed(state, seen))
        return state

    def _next(self, state: ChangeState, seen: Seen, now_us: int, *, after_log: bool) -> Step:
        limit_us = state.end_us - now_us
        buffered = seen.rows - state.offset
        # A step sends the rows and then the state; rows that come in between do not go first.
        if state.log_due and buffered and not (after_log and state.state_due):
            rows = min(buffered, ROWS_PER_CALL_MAX)
            state = state._replace(log_due=False, flush_us=None, log_goal=seen.rows, is_clean=False)
            return state, [SendLog(index=state.offset, rows=rows, no_more=False, limit_us=limit_us)]
        if state.state_due:
            state = state._replace(state_due=False, state_sent=(seen.rows, seen.moves), is_clean=False)
            return state, [SendState(final=False, limit_us=limit_us)]
        is_clean = not buffered and not _is_changed(state, seen)
        if is_clean:
            return state._replace(log_due=False, is_clean=True), [Wait(None, seen.rows + 1)]
        return state._replace(log_due=False, is_clean=False), [self._wait(state, seen)]

    def _wait(self, state: ChangeState, seen: Seen) -> Wait:
        until_us = min(state.log_tick_us, state.state_tick_us)
        if state.log_failing and self._policy.retry is Retry.INTERVAL:
            return Wait(until_us)
        if state.flush_us is None:
            return Wait(until_us, seen.rows + 1)
        return Wait(min(until_us, state.flush_us), state.offset + self._policy.log_batch_rows)

    # Closing.

    def _closing(self, state: ChangeState, event: ReportEvent, now_us: int) -> Step:
        seen = event.seen
        if isinstance(event, Woke):
            if seen.interrupted:
                return state, GIVEN_UP
            if now_us < state.retry_us:
                return state, [Wait(state.retry_us)]
        elif isinstance(event, LogAnswered):
            sent_all = state.offset + event.sent == seen.rows
            lost = event.ack_index < state.offset
            state = _acknowledged(state, event)
            if state.offset == seen.rows and not lost:
                return self._send_result(_reopened(state), seen, now_us)
            if sent_all or state.log_failing:
                return self._retry_later(state, seen, now_us)
            # One more piece of a backlog that does not fit into one call: progress is not a failed try.
            state = state._replace(tries=state.tries - 1)
        elif isinstance(event, StateAnswered) and not seen.outputs_waiting:
            return state, [Done(Ending.DELIVERED)]
        else:
            return self._retry_later(state, seen, now_us)
        if state.phase is ChangePhase.CLOSING_LOG:
            return self._send_last_rows(state, seen, now_us)
        return self._send_result(state, seen, now_us)

    def _retry_later(self, state: ChangeState, seen: Seen, now_us: int) -> Step:
        delay_us = retry_delay_us(failures=state.tries, first_us=RETRY_FIRST_US, rng=self._rng)
        if state.tries < CLOSE_TRIES_MAX and now_us + delay_us < state.end_us:
            return state._replace(retry_us=now_us + delay_us), [Wait(now_us + delay_us)]
        if state.phase is ChangePhase.CLOSING_STATE:
            return state, GIVEN_UP
        state, commands = self._send_result(_reopened(state), seen, now_us)
        return state, [Tell(Trouble.LOG_GIVEN_UP), *commands]

    def _send_last_rows(self, state: ChangeState, seen: Seen, now_us: int) -> Step:
        buffered = seen.rows - state.offset
        rows = min(buffered, ROWS_PER_CALL_MAX)
        limit_us = state.end_us - now_us
        send = SendLog(index=state.offset, rows=rows, no_more=rows == buffered, limit_us=limit_us)
        return state._replace(tries=state.tries + 1), [send]

    def _send_result(self, state: ChangeState, seen: Seen, now_us: int) -> Step:
        if now_us >= state.end_us or seen.interrupted:
            return state, GIVEN_UP
        return state._replace(tries=state.tries + 1), [SendState(final=True, limit_us=state.end_us - now_us)]


def _acknowledged(state: ChangeState, event: LogAnswered) -> ChangeState:
    drop = acknowledge(state.offset, event.sent, event.ack_index).drop
    offset = state.offset + drop
    goes_on = 0 < drop == event.sent and offset < state.log_goal
    return state._replace(offset=offset, log_failing=drop == 0 and event.sent > 0, log_due=state.log_due or goes_on)


def _reopened(state: ChangeState) -> ChangeState:
    """Return the state with which the second closing call begins."""
    return state._replace(phase=ChangePhase.CLOSING_STATE, tries=0)


def _is_changed(state: ChangeState, seen: Seen) -> bool:
    return seen.outputs_waiting or state.state_known != (seen.rows, seen.moves)
