"""What a reporting strategy is: the events it hears, the commands it gives, and the protocol it fulfils.

A strategy is a pure state machine ``(state, event, now_us) -> (state, commands)`` that counts rows and never sees
their text. The last command of each step says what the loop does next (send, wait or leave); the ones before it are
done at once. So there is at most one call in flight per task. What is made at every step is a named tuple, since a
simulation makes millions; compare the types before the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from actionsrunner.core.failures import Failure
from actionswire.result import Result


class Seen(NamedTuple):
    """What the job has done so far; every event carries the newest."""

    rows: int = 0
    """Rows appended, which is the absolute index of the next one."""
    moves: int = 0
    """How often a step started or ended."""
    outputs_waiting: bool = False
    """There are outputs that the server has not confirmed."""
    interrupted: bool = False
    """The job has been told to stop."""
    ended: bool = False
    """The job's result is known and no row will follow."""


class Woke(NamedTuple):
    """The wait is over: its time came, its row count was reached, or the job moved, was interrupted or ended."""

    seen: Seen


class LogAnswered(NamedTuple):
    """UpdateLog was answered; ``sent`` rows were in it, at most as many as asked for."""

    seen: Seen
    sent: int
    ack_index: int


class LogFailed(NamedTuple):
    """UpdateLog brought no usable answer."""

    seen: Seen
    failure: Failure


class StateAnswered(NamedTuple):
    """UpdateTask was answered with the server's result for the task; UNSPECIFIED means: go on."""

    seen: Seen
    result: Result


class StateFailed(NamedTuple):
    """UpdateTask brought no usable answer."""

    seen: Seen
    failure: Failure


ReportEvent = Woke | LogAnswered | LogFailed | StateAnswered | StateFailed


class StopCause(StrEnum):
    """Why the job must stop."""

    SERVER = "server"
    """The server has a final result for the task: a cancel, or it was reaped."""
    TASK_GONE = "task_gone"
    """The server does not accept reports for the task any more."""
    LOG_SEALED = "log_sealed"
    """The server closed the log of a task that still runs here."""


class Trouble(StrEnum):
    """What the operator should read in the runner's own log."""

    ROWS_LOST = "rows_lost"
    """The server asks for rows that it had acknowledged before."""
    LOG_GIVEN_UP = "log_given_up"
    """The final rows were not accepted within their budget."""
    STATE_GIVEN_UP = "state_given_up"
    """The final state was not accepted within its budget."""


class Retry(StrEnum):
    """What brings the next try after an UpdateLog that failed."""

    INTERVAL = "interval"
    """Only the next tick, or a step that starts or ends."""
    EVERY_ROW = "every-row"
    """Every further row too: at once while a whole batch is buffered, else after the latency."""


class Ending(StrEnum):
    """How the reporting of a task ended."""

    DELIVERED = "delivered"
    GAVE_UP = "gave_up"
    TASK_GONE = "task_gone"


@dataclass(frozen=True, slots=True)
class AddSentinel:
    """Append one empty row: servers before Gitea 1.26.2, and Forgejo, ignore a closing UpdateLog without rows."""


@dataclass(frozen=True, slots=True)
class StopJob:
    """Interrupt the job; ``result`` is the server's, or UNSPECIFIED."""

    cause: StopCause
    result: Result = Result.UNSPECIFIED


@dataclass(frozen=True, slots=True)
class Tell:
    """Write a record to the runner's own log."""

    trouble: Trouble


class SendLog(NamedTuple):
    """Send UpdateLog with up to ``rows`` rows from ``index``; ``no_more`` only if all of them fit in the call.

    The call takes at most ``limit_us``, and at most ``settle_us`` more once the job has ended.
    """

    index: int  # type: ignore[assignment]  # hides a method of tuples that nobody calls here
    rows: int
    no_more: bool
    limit_us: int
    settle_us: int | None = None


class SendState(NamedTuple):
    """Send UpdateTask with the unconfirmed outputs, and with the result only if ``final``; limits as `SendLog`."""

    final: bool
    limit_us: int
    settle_us: int | None = None


class Wait(NamedTuple):
    """Wait until ``until_us``, until ``rows`` rows have been appended, or until a move, an interruption or the end.

    None means that this exit is closed.
    """

    until_us: int | None
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """Leave the loop."""

    ending: Ending


ReportCommand = AddSentinel | StopJob | Tell | SendLog | SendState | Wait | Done

S = TypeVar("S")


class ReportStrategy(Protocol[S]):
    """A way to report. ``S`` is its frozen state."""

    def start(self, now_us: int) -> S:
        """Return the state of a task that has just been received."""

    def step(self, state: S, event: ReportEvent, now_us: int) -> tuple[S, Sequence[ReportCommand]]:
        """Take one event, return the new state and at least one command."""


def next_tick(tick_us: int, interval_us: int, now_us: int) -> int:
    """Return the first tick after ``now_us``: of the ticks that passed during a call, one is kept."""
    return tick_us + interval_us * ((now_us - tick_us) // interval_us + 1)
