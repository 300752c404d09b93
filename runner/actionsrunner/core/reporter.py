"""The reporting of today's Gitea runner as a pure state machine.

While a job runs, rows go out when 100 are buffered, 3 s after the first buffered one, or at the 5 s tick; a step that
starts or ends sends the rows first and the state right after. The state also goes out at its own 5 s tick if anything
happened, or if the last success is older than the interval, so that a silent job is heard about every 10 s. Rows stay
buffered until acknowledged; after a failed or fruitless UpdateLog only a tick or a step brings the next try, or, with
`Retry.EVERY_ROW`, a further row too.

Once the job is interrupted nothing is sent until it ends. Then two things happen, each within its own budget: the
rest of the log with no_more, then the state with the result. The second happens even if the first failed.

Source: docs/runner.md, "Reporting".
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

from actionsrunner.core.backoff import retry_delay_us
from actionsrunner.core.failures import Failure
from actionsrunner.core.reporting import (
    AddSentinel,
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

CALL_LIMIT_US: Final = 60_000_000
"""Longest an ordinary call may take, as in Gitea's runner since v3.2."""
ROWS_PER_CALL_MAX: Final = 10_000
"""Rows in one UpdateLog; the rest of a backlog follows at once. Real runners have no such limit."""
CLOSE_TRIES_MAX: Final = 10
CLOSE_BUDGET: Final = 3
"""Budget of each closing call, in close timeouts."""
SETTLE: Final = 6
"""How long a call may stay in flight once the job has ended, in close timeouts."""
RETRY_FIRST_US: Final = 100_000
LAST_TRY: Final = 10
"""The last try of a closing call begins this part of a close timeout before its budget ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPolicy:
    """The numbers of `EventReporter`; the defaults are those of today's Gitea runner."""

    log_interval_us: int = 5_000_000
    log_latency_us: int = 3_000_000
    log_batch_rows: int = 100
    state_interval_us: int = 5_000_000
    close_timeout_us: int = 10_000_000
    retry: Retry = Retry.INTERVAL
    """Gitea's own runner retries at every row, which makes an outage worse for it and its server."""


class Phase(Enum):
    """Where a task's reporting stands."""

    RUNNING = auto()
    QUIET = auto()
    """Interrupted; waiting for the job to end."""
    GONE = auto()
    """The server wants no reports; waiting for the job to end."""
    CLOSING_LOG = auto()
    CLOSING_STATE = auto()
    CLOSED = auto()


_RUNNING: Final = Phase.RUNNING
"""Bound once: reading a member off its enum class costs as much as a line here."""


class ReportState(NamedTuple):
    """All that the reporter remembers. A named tuple, since simulations step it millions of times."""

    log_tick_us: int
    state_tick_us: int
    phase: Phase = Phase.RUNNING
    seen: Seen = Seen()
    offset: int = 0
    """Rows acknowledged, which is the absolute index of the first buffered one."""
    first_row_us: int | None = None
    """When the oldest buffered row was first seen."""
    log_due: bool = False
    log_failing: bool = False
    log_goal: int = 0
    """Rows that existed when the call in flight was sent."""
    log_sealed: bool = False
    state_due: bool = False
    state_sent: Seen = Seen()
    """What the call in flight tells the server."""
    state_known: Seen = Seen()
    """What the server has confirmed."""
    state_success_us: int | None = None
    tries: int = 0
    retry_us: int = 0
    budget_end_us: int = 0
    ending: Ending = Ending.GAVE_UP
    """How it ended; meaningful once closed."""

    @property
    def buffered(self) -> int:
        """Rows not yet acknowledged."""
        return self.seen.rows - self.offset


Step = tuple[ReportState, Sequence[ReportCommand]]

_NOTHING: Final[Sequence[ReportCommand]] = ()


class EventReporter:
    """Today's Gitea runner: flush by events, batch size and latency, heartbeat when silent."""

    def __init__(self, policy: ReportPolicy, rng: random.Random) -> None:
        assert policy.log_batch_rows >= 1
        self._policy = policy
        self._rng = rng

    def start(self, now_us: int) -> ReportState:
        """Return the state of a task that has just been received."""
        return ReportState(
            log_tick_us=now_us + self._policy.log_interval_us,
            state_tick_us=now_us + self._policy.state_interval_us,
        )

    def step(self, state: ReportState, event: ReportEvent, now_us: int) -> Step:
        """Take one event, return the new state and at least one command."""
        # The answer belongs to the phase in which the call was sent, so it comes before what has happened since.
        state, commands = self._take_answer(state, event, now_us)
        state, more = self._look(state, event.seen, now_us)
        state, last = self._next(state, now_us)
        return state, [*commands, *more, *last] if commands or more else last

    # What an answer changes.

    def _take_answer(self, state: ReportState, event: ReportEvent, now_us: int) -> Step:
        match event:
            case Woke():
                return state, _NOTHING
            case LogAnswered():
                return self._log_answered(state, event, now_us)
            case LogFailed():
                return self._log_failed(state, event.failure, now_us)
            case StateAnswered():
                return self._state_answered(state, event, now_us)
            case StateFailed():
                return self._state_failed(state, event.failure, now_us)

    def _log_answered(self, state: ReportState, event: LogAnswered, now_us: int) -> Step:
        verdict = acknowledge(state.offset, event.sent, event.ack_index)
        offset = state.offset + verdict.drop
        commands = [Tell(Trouble.ROWS_LOST)] if verdict.lost else []
        fruitless = verdict.drop == 0 and event.sent > 0
        if state.phase is Phase.CLOSING_LOG:
            state = state._replace(offset=offset)
            if state.buffered == 0:
                return self._close_state(state, now_us), commands
            if fruitless or verdict.drop < event.sent:
                return self._retry_later(state, now_us), commands
            # One more piece of a backlog that does not fit into one call: the next one has a budget of its own.
            return self._open_budget(state, now_us), commands
        return (
            state._replace(
                offset=offset,
                log_failing=fruitless,
                log_due=state.log_due or (not fruitless and offset < state.log_goal),
                first_row_us=now_us if state.seen.rows > offset and not fruitless else None,
            ),
            commands,
        )

    def _log_failed(self, state: ReportState, failure: Failure, now_us: int) -> Step:
        if failure in (Failure.UNREGISTERED, Failure.TASK_GONE):
            return self._gone(state)
        if failure is Failure.LOG_SEALED:
            state = state._replace(log_sealed=True)
            if state.phase is Phase.CLOSING_LOG:
                return self._close_state(state, now_us), [Tell(Trouble.LOG_GIVEN_UP)]
            return state._replace(phase=Phase.QUIET), [StopJob(StopCause.LOG_SEALED)]
        if state.phase is Phase.CLOSING_LOG:
            return self._retry_later(state, now_us), []
        return state._replace(log_failing=True, first_row_us=None), []

    def _state_answered(self, state: ReportState, event: StateAnswered, now_us: int) -> Step:
        state = state._replace(state_success_us=now_us, state_known=state.state_sent)
        if state.phase is Phase.CLOSING_STATE:
            if event.seen.outputs_waiting:
                return self._retry_later(state, now_us), []
            return _closed(state, Ending.DELIVERED), []
        if event.result is not Result.UNSPECIFIED and state.phase is Phase.RUNNING:
            return state._replace(phase=Phase.QUIET), [StopJob(StopCause.SERVER, event.result)]
        return state, []

    def _state_failed(self, state: ReportState, failure: Failure, now_us: int) -> Step:
        if failure in (Failure.UNREGISTERED, Failure.TASK_GONE):
            return self._gone(state)
        if state.phase is Phase.CLOSING_STATE:
            return self._retry_later(state, now_us), []
        return state, []

    def _gone(self, state: ReportState) -> Step:
        if state.phase in (Phase.CLOSING_LOG, Phase.CLOSING_STATE):
            return _closed(state, Ending.TASK_GONE), []
        return state._replace(phase=Phase.GONE), [StopJob(StopCause.TASK_GONE)]

    # What the job has done in the meantime.

    def _look(self, state: ReportState, seen: Seen, now_us: int) -> Step:
        moved = seen.moves > state.seen.moves
        # After a failure the rows that were in the call have had their latency; only a further one starts it again.
        first_row = state.first_row_us is None and seen.rows > (state.log_goal if state.log_failing else state.offset)
        state = state._replace(
            seen=seen,
            log_due=state.log_due or moved,
            state_due=state.state_due or moved,
            first_row_us=now_us if first_row else state.first_row_us,
        )
        if seen.interrupted and state.phase is Phase.RUNNING:
            state = state._replace(phase=Phase.QUIET)
        if not seen.ended or state.phase not in (Phase.RUNNING, Phase.QUIET):
            return state, _NOTHING
        if state.log_sealed:
            return self._close_state(state, now_us), []
        state = self._open_budget(state._replace(phase=Phase.CLOSING_LOG), now_us)
        if state.buffered:
            return state, []
        return state._replace(seen=seen._replace(rows=seen.rows + 1)), [AddSentinel()]

    # What to do now.

    def _next(self, state: ReportState, now_us: int) -> Step:
        if state.phase is _RUNNING:
            return self._run(state, now_us)
        match state.phase:
            case Phase.QUIET:
                return state, [Wait(None)]
            case Phase.GONE:
                return state, [Done(Ending.TASK_GONE) if state.seen.ended else Wait(None)]
            case Phase.CLOSED:
                return state, [Done(state.ending)]
            case Phase.CLOSING_LOG:
                return self._send_last_rows(state, now_us)
            case Phase.CLOSING_STATE:
                return self._send_result(state, now_us)
        raise AssertionError("running is the first question")

    def _run(self, state: ReportState, now_us: int) -> Step:
        state = self._tick(state, now_us)
        settle_us = SETTLE * self._policy.close_timeout_us
        if state.buffered and self._rows_are_due(state, now_us):
            rows = min(state.buffered, ROWS_PER_CALL_MAX)
            state = state._replace(log_due=False, log_goal=state.seen.rows)
            send = SendLog(index=state.offset, rows=rows, no_more=False, limit_us=CALL_LIMIT_US, settle_us=settle_us)
            return state, [send]
        if state.state_due:
            state = state._replace(log_due=False, state_due=False, state_sent=state.seen)
            return state, [SendState(final=False, limit_us=CALL_LIMIT_US, settle_us=settle_us)]
        if state.log_due:
            state = state._replace(log_due=False)
        return state, [self._wait(state)]

    def _tick(self, state: ReportState, now_us: int) -> ReportState:
        if now_us >= state.log_tick_us:
            tick_us = next_tick(state.log_tick_us, self._policy.log_interval_us, now_us)
            state = state._replace(log_tick_us=tick_us, log_due=True)
        if now_us >= state.state_tick_us:
            tick_us = next_tick(state.state_tick_us, self._policy.state_interval_us, now_us)
            state = state._replace(
                state_tick_us=tick_us, state_due=state.state_due or self._state_is_stale(state, now_us)
            )
        return state

    def _state_is_stale(self, state: ReportState, now_us: int) -> bool:
        if state.state_success_us is None or state.seen.outputs_waiting:
            return True
        if (state.seen.rows, state.seen.moves) != (state.state_known.rows, state.state_known.moves):
            return True
        # "Younger than or as old as": a success is stamped after its tick, so in real time the next tick always
        # comes a little early. Where calls take no time at all, the comparison has to say so itself.
        return now_us - state.state_success_us > self._policy.state_interval_us

    def _rows_are_due(self, state: ReportState, now_us: int) -> bool:
        if state.log_due:
            return True
        if state.log_failing and (self._policy.retry is Retry.INTERVAL or state.seen.rows <= state.log_goal):
            return False
        assert state.first_row_us is not None
        late = now_us >= state.first_row_us + self._policy.log_latency_us
        return late or state.buffered >= self._policy.log_batch_rows

    def _wait(self, state: ReportState) -> Wait:
        until_us = state.state_tick_us
        if not state.buffered:
            return Wait(until_us, state.seen.rows + 1)
        until_us = min(until_us, state.log_tick_us)
        if state.log_failing and self._policy.retry is Retry.INTERVAL:
            return Wait(until_us)
        if state.first_row_us is None:
            return Wait(until_us, state.seen.rows + 1)
        until_us = min(until_us, state.first_row_us + self._policy.log_latency_us)
        return Wait(until_us, state.offset + self._policy.log_batch_rows)

    # Closing.

    def _open_budget(self, state: ReportState, now_us: int) -> ReportState:
        budget_end_us = now_us + CLOSE_BUDGET * self._policy.close_timeout_us
        return state._replace(tries=0, retry_us=now_us, budget_end_us=budget_end_us)

    def _close_state(self, state: ReportState, now_us: int) -> ReportState:
        return self._open_budget(state._replace(phase=Phase.CLOSING_STATE), now_us)

    def _retry_later(self, state: ReportState, now_us: int) -> ReportState:
        delay_us = retry_delay_us(failures=state.tries, first_us=RETRY_FIRST_US, rng=self._rng)
        # A doubling wait would leave the last part of the budget unused, and lose what a server that is just up again
        # would have taken.
        last_us = state.budget_end_us - self._policy.close_timeout_us // LAST_TRY
        retry_us = now_us + delay_us
        return state._replace(retry_us=min(retry_us, last_us) if now_us < last_us else retry_us)

    def _may_try(self, state: ReportState, now_us: int) -> bool:
        return state.tries < CLOSE_TRIES_MAX and max(now_us, state.retry_us) < state.budget_end_us

    def _try_limit_us(self, state: ReportState, now_us: int) -> int:
        return min(self._policy.close_timeout_us, state.budget_end_us - now_us)

    def _send_last_rows(self, state: ReportState, now_us: int) -> Step:
        if not self._may_try(state, now_us):
            state, commands = self._send_result(self._close_state(state, now_us), now_us)
            return state, [Tell(Trouble.LOG_GIVEN_UP), *commands]
        if now_us < state.retry_us:
            return state, [Wait(state.retry_us)]
        rows = min(state.buffered, ROWS_PER_CALL_MAX)
        send = SendLog(
            index=state.offset,
            rows=rows,
            no_more=rows == state.buffered,
            limit_us=self._try_limit_us(state, now_us),
        )
        return state._replace(tries=state.tries + 1), [send]

    def _send_result(self, state: ReportState, now_us: int) -> Step:
        if not self._may_try(state, now_us):
            return _closed(state, Ending.GAVE_UP), [Tell(Trouble.STATE_GIVEN_UP), Done(Ending.GAVE_UP)]
        if now_us < state.retry_us:
            return state, [Wait(state.retry_us)]
        send = SendState(final=True, limit_us=self._try_limit_us(state, now_us))
        return state._replace(tries=state.tries + 1, state_sent=state.seen), [send]


def _closed(state: ReportState, ending: Ending) -> ReportState:
    return state._replace(phase=Phase.CLOSED, ending=ending)
