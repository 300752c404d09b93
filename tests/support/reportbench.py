"""The report loop and a server as a test needs them: drives one strategy through virtual time. No asyncio."""

from collections.abc import Callable
from typing import Any

from actionsrunner.core.failures import Failure
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
    Wait,
    Woke,
)
from actionswire.result import Result

S = 1_000_000
Sent = SendLog | SendState
Reaction = Failure | int | Result | None
"""A failure, an ack index, a server's result, or None for the plain answer."""


class ReportBench:
    """One task's reporting; each call takes ``rtt_us`` and is answered by ``react`` or plainly."""

    def __init__(
        self,
        strategy: ReportStrategy[Any],
        react: Callable[[float, Sent], Reaction] = lambda at_s, call: None,
        *,
        rtt_us: int = 0,
    ) -> None:
        self.strategy = strategy
        self.react = react
        self.rtt_us = rtt_us
        self.now_us = 0
        self.seen = Seen()
        self.held = 0
        self.calls: list[tuple[float, Sent]] = []
        self.others: list[ReportCommand] = []
        self.last: ReportCommand = Wait(None)
        self.during: Callable[[Sent], None] = lambda call: None
        self.state = strategy.start(0)
        self._step(Woke(self.seen))

    def do(self, **changes: Any) -> None:
        """The job does something that wakes the loop."""
        self.seen = self.seen._replace(**changes)
        self._step(Woke(self.seen))

    def move(self) -> None:
        """A step starts or ends."""
        self.do(moves=self.seen.moves + 1)

    def rows(self, count: int = 1) -> None:
        """Append rows, one by one; the loop wakes the strategy only when it asked for it."""
        for _ in range(count):
            self.seen = self.seen._replace(rows=self.seen.rows + 1)
            if isinstance(self.last, Wait) and self.last.rows is not None and self.seen.rows >= self.last.rows:
                self._step(Woke(self.seen))

    def until(self, at_s: float) -> None:
        """Let the time pass."""
        until_us = round(at_s * S)
        while isinstance(self.last, Wait) and self.last.until_us is not None and self.last.until_us <= until_us:
            self.now_us = max(self.now_us, self.last.until_us)
            self._step(Woke(self.seen))
        self.now_us = max(self.now_us, until_us)

    def log_every(self, period_s: float, until_s: float) -> None:
        """Append one row each ``period_s``, the first after one period, up to and with ``until_s``."""
        at_s = self.now_us / S + period_s
        while at_s <= until_s:
            self.until(at_s)
            self.rows()
            at_s += period_s

    def close(self) -> Ending:
        """End the job and run to the end."""
        self.do(ended=True)
        while not isinstance(self.last, Done):
            assert isinstance(self.last, Wait), self.last
            assert self.last.until_us is not None
            self.now_us = max(self.now_us, self.last.until_us)
            self._step(Woke(self.seen))
        return self.last.ending

    @property
    def kinds(self) -> list[tuple[float, str]]:
        """When which call was made."""
        return [(round(at_s, 2), "log" if isinstance(call, SendLog) else "state") for at_s, call in self.calls]

    @property
    def logs(self) -> list[SendLog]:
        """The UpdateLog calls."""
        return [call for _, call in self.calls if isinstance(call, SendLog)]

    @property
    def states(self) -> list[SendState]:
        """The UpdateTask calls."""
        return [call for _, call in self.calls if isinstance(call, SendState)]

    def count(self, start_s: float, end_s: float, kind: type = object) -> int:
        """How many calls were made in the half-open interval."""
        return sum(start_s <= at_s < end_s and isinstance(call, kind) for at_s, call in self.calls)

    def _step(self, event: ReportEvent) -> None:
        while True:
            self.state, commands = self.strategy.step(self.state, event, self.now_us)
            for command in commands[:-1]:
                self.others.append(command)
                if isinstance(command, AddSentinel):
                    self.seen = self.seen._replace(rows=self.seen.rows + 1)
            self.last = commands[-1]
            if not isinstance(self.last, Sent):
                return
            event = self._answer(self.last)

    def _answer(self, call: Sent) -> ReportEvent:
        self.calls.append((self.now_us / S, call))
        reaction = self.react(self.now_us / S, call)
        self.now_us += self.rtt_us
        self.during(call)
        if isinstance(reaction, Failure):
            failed = LogFailed if isinstance(call, SendLog) else StateFailed
            return failed(self.seen, reaction)
        if isinstance(call, SendState):
            return StateAnswered(self.seen, reaction if isinstance(reaction, Result) else Result.UNSPECIFIED)
        if reaction is None:
            self.held = max(self.held, call.index + call.rows)
        return LogAnswered(self.seen, call.rows, self.held if reaction is None else int(reaction))


def fail(
    failure: Failure = Failure.RETRY, *, start_s: float = 0, end_s: float = 1e9
) -> Callable[[float, Sent], Reaction]:
    """A server that answers with ``failure`` in the half-open interval."""
    return lambda at_s, call: failure if start_s <= at_s < end_s else None
