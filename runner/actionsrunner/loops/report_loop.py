"""The reporter of one task: takes what the job says, and tells the server when the strategy says so.

Implements `JobSink`, so every method of that protocol returns at once; `ReportLoop.run` is the one consumer and makes
every call. When to send is decided in `core/reporter.py`, what a row may show in `core/masking.py`.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

import structlog

from actionsrunner.core.failures import Failure
from actionsrunner.core.masking import Masker
from actionsrunner.core.outputs import acceptable_outputs
from actionsrunner.core.reporting import (
    AddSentinel,
    Done,
    Ending,
    LogAnswered,
    LogFailed,
    ReportCommand,
    ReportEvent,
    ReportStrategy,
    Seen,
    SendLog,
    SendState,
    StateAnswered,
    StateFailed,
    StopJob,
    Tell,
    Trouble,
    Wait,
    Woke,
)
from actionsrunner.core.rows import Row, printable_lines
from actionsrunner.core.taskstate import TaskState
from actionsrunner.edge.client import ReportLimits, RunnerClient
from actionsrunner.edge.clock import Alarm, Clock
from actionsrunner.edge.connect import RpcError
from actionsrunner.edge.messages import StateWriter
from actionsrunner.edge.rowbuffer import RowBuffer, row_bytes
from actionsrunner.loops.supervise import wait_for
from actionswire.codes import Code
from actionswire.result import Result

CALL_BYTES_MAX: Final = 4 * 1024 * 1024
"""Log text in one UpdateLog; the rest of a backlog follows at once. Halved when somebody on the way takes less."""
JOB_LIMIT_US: Final = 3 * 3600 * 1_000_000

_TROUBLE_TEXT: Final[dict[Trouble, str]] = {
    Trouble.ROWS_LOST: "the server asks for rows that it had acknowledged: submitted logs are lost there",
    Trouble.LOG_GIVEN_UP: "the end of the log could not be delivered",
    Trouble.STATE_GIVEN_UP: "the result could not be delivered; the server will fail the task after its own timeout",
}

log = structlog.get_logger(__name__)

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportParts(Generic[S]):
    """What every reporter of a runner shares."""

    client: RunnerClient
    clock: Clock
    strategy: ReportStrategy[S]
    memory_bytes_max: int
    job_limit_us: int = JOB_LIMIT_US
    """Longest a job may run; servers are told what is left of it."""


class ReportLoop(Generic[S]):
    """Reports one task. ``on_stop`` is called when the server wants the job to stop."""

    def __init__(self, task_id: int, parts: ReportParts[S], masker: Masker, on_stop: Callable[[StopJob], None]) -> None:
        self._task_id = task_id
        self._log = log.bind(task_id=task_id)
        self._client = parts.client
        self._clock = parts.clock
        self._strategy = parts.strategy
        self._masker = masker
        self._on_stop = on_stop
        self._job_end_us = self._clock.now_us() + parts.job_limit_us
        self._rows = RowBuffer(memory_bytes_max=parts.memory_bytes_max)
        self._state = TaskState(task_id, self._clock.wall_us())
        self._outputs: dict[str, str] = {}
        self._writer = StateWriter()
        self._moves = 0
        self._interrupted = False
        self._ended = asyncio.Event()
        self._wake = asyncio.Event()
        self._wake_at_rows: int | None = None
        self._stamp_us = 0
        self._outage = 0
        self._call_bytes_max = CALL_BYTES_MAX
        self._in_flight: asyncio.Timeout | None = None
        self._settle_us = 0
        self._patience: Alarm | None = None

    # JobSink

    def steps_known(self, count: int) -> None:
        """Say how many steps the job has, once."""
        self._state.steps_known(count)

    def log(self, content: str) -> None:
        """Append ``content``, masked, one row a line."""
        for line in printable_lines(self._masker.mask(content)):
            self._append(line)

    def add_mask(self, value: str) -> None:
        """Hide ``value`` from now on."""
        self._masker.add(value)

    def step_started(self, index: int) -> None:
        """Mark the step as running."""
        self._state.step_started(index, self._now_us())
        self._moved()

    def step_finished(self, index: int, result: Result) -> None:
        """Record the step's conclusion."""
        self._state.step_finished(index, result, at_us=self._now_us(), next_row=self._rows.total)
        self._moved()

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Keep the outputs that may be sent; each other one becomes a row that says why not."""
        kept, dropped = acceptable_outputs(outputs, self._masker)
        self._outputs.update(kept)
        for message in dropped:
            self.log(f"::warning::{message}")

    # The job's owner

    def interrupt(self) -> None:
        """Say that the job has been told to stop."""
        self._interrupted = True
        self._wake.set()

    def end(self, result: Result, last_words: str = "") -> None:
        """Say how the job ended, once; nothing is appended after this."""
        if last_words:
            self.log(last_words)
        self._state.close(result, at_us=self._now_us(), next_row=self._rows.total)
        self._ended.set()
        self._begin_to_settle()
        self._wake.set()

    async def run(self) -> Ending:
        """Report until the strategy is done, which takes a bounded time once the job has ended."""
        try:
            return await self._loop()
        finally:
            self._rows.close()

    async def _loop(self) -> Ending:
        state = self._strategy.start(self._clock.now_us())
        event: ReportEvent = Woke(self._seen())
        while True:
            state, commands = self._strategy.step(state, event, self._clock.now_us())
            assert commands, "a strategy always says what is next"
            for command in commands[:-1]:
                self._do(command)
            match commands[-1]:
                case Done() as done:
                    return done.ending
                case last:
                    event = await self._act(last)

    def _do(self, command: ReportCommand) -> None:
        match command:
            case AddSentinel():
                self._append("")
            case StopJob():
                self._on_stop(command)
            case Tell():
                self._log.error(command.trouble, detail=_TROUBLE_TEXT[command.trouble], rows=self._rows.total)
            case _:
                raise AssertionError(f"{command} must be the last command of its step")

    def _act(self, command: ReportCommand) -> Coroutine[Any, Any, ReportEvent]:
        match command:
            case Wait():
                return self._wait(command)
            case SendLog():
                return self._send_log(command)
            case SendState():
                return self._send_state(command)
            case _:
                raise AssertionError(f"{command} must not be the last command of its step")

    async def _wait(self, command: Wait) -> ReportEvent:
        self._wake_at_rows = command.rows
        if command.rows is not None and self._rows.total >= command.rows:
            self._wake.set()
        await wait_for(self._wake, self._clock, command.until_us)
        self._wake.clear()
        self._wake_at_rows = None
        return Woke(self._seen())

    async def _send_log(self, command: SendLog) -> ReportEvent:
        self._rows.drop_to(command.index)
        rows = self._rows.peek(command.rows, self._call_bytes_max)
        no_more = command.no_more and len(rows) == command.rows
        call = self._client.update_log(
            self._task_id, command.index, rows, no_more=no_more, limits=self._limits(command.limit_us)
        )
        try:
            ack_index = await (call if command.settle_us is None else self._settle(call, command.settle_us))
        except RpcError as error:
            self._failed(error)
            if error.failure is Failure.TOO_LARGE:
                self._send_less(rows)
            return LogFailed(self._seen(), error.failure)
        self._succeeded()
        return LogAnswered(self._seen(), len(rows), ack_index)

    def _send_less(self, refused: Sequence[Row]) -> None:
        """Make the next UpdateLog half as large as the one that was refused for its size."""
        self._call_bytes_max = max(1, sum(map(row_bytes, refused)) // 2)
        if len(refused) == 1:
            self._rows.cut_oldest(self._call_bytes_max)
        self._log.warning(
            "log_call_too_large", rows=len(refused), bytes_max=self._call_bytes_max, cut=len(refused) == 1
        )

    async def _send_state(self, command: SendState) -> ReportEvent:
        outputs = dict(self._outputs)
        report = self._state.report(final=command.final)
        call = self._client.update_task(report, outputs, limits=self._limits(command.limit_us), writer=self._writer)
        try:
            answer = await (call if command.settle_us is None else self._settle(call, command.settle_us))
        except RpcError as error:
            self._failed(error)
            return StateFailed(self._seen(), error.failure)
        self._succeeded()
        for key in answer.sent_outputs:
            self._outputs.pop(key, None)
        return StateAnswered(self._seen(), answer.result)

    async def _settle(self, call: Coroutine[Any, Any, T], settle_us: int) -> T:
        """Await ``call``, but at most ``settle_us`` longer than the job runs."""
        try:
            async with asyncio.timeout(None) as self._in_flight:
                self._settle_us = settle_us
                if self._ended.is_set():
                    self._begin_to_settle()
                return await call
        except TimeoutError as error:
            text = "given up: the job has ended"
            raise RpcError("report", Failure.DEADLINE, Code.DEADLINE_EXCEEDED, text) from error
        finally:
            self._in_flight = None
            if self._patience is not None:
                self._patience.cancel()
                self._patience = None

    def _begin_to_settle(self) -> None:
        """Give the call in flight its last time; most calls never come here, so they cost no timer."""
        if self._in_flight is not None:
            self._patience = self._clock.alarm(self._clock.now_us() + self._settle_us, self._give_up)

    def _give_up(self) -> None:
        assert self._in_flight is not None, "the alarm goes with the call"
        self._in_flight.reschedule(asyncio.get_running_loop().time())

    def _limits(self, limit_us: int) -> ReportLimits:
        left_us = self._job_end_us - self._clock.now_us()
        # Once the job has been interrupted its own time no longer counts, only that of the closing call.
        announce_us = limit_us if self._interrupted or left_us <= 0 else left_us
        return ReportLimits(limit_us / 1e6, announce_us / 1e6)

    def _seen(self) -> Seen:
        return Seen(self._rows.total, self._moves, bool(self._outputs), self._interrupted, self._ended.is_set())

    def _append(self, line: str) -> None:
        total = self._rows.append(Row(self._now_us(), line))
        self._state.row_appended(total - 1)
        wake_at = self._wake_at_rows
        if wake_at is not None and total >= wake_at:
            self._wake.set()

    def _moved(self) -> None:
        self._moves += 1
        self._wake.set()

    def _now_us(self) -> int:
        # The calendar may be set back; the stamps of a log may not go back with it.
        now_us = self._clock.wall_us()
        if now_us > self._stamp_us:  # noqa: PLR1730 - `max` would cost as much as the rest, and every row passes here
            self._stamp_us = now_us
        return self._stamp_us

    def _failed(self, error: RpcError) -> None:
        self._outage += 1
        if self._outage == 1:
            self._log.warning("report_failed", method=error.method, code=error.code, error=error.message)

    def _succeeded(self) -> None:
        if self._outage:
            self._log.info("report_recovered", failed_calls=self._outage)
        self._outage = 0
