"""What a simulation leaves behind for the checkers, as outsiders see it: calls, pages, logs, what jobs did.

Nothing in here was asked of a runner's or a server's insides.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from mockgitea.core.call_record import CallRecord
from mockgitea.core.faults import FaultKind
from virtualjobs import Execution
from virtualrunner import Exchange

_REPEATS: Final = frozenset({FaultKind.STALE_ANSWER, FaultKind.REORDER})


@dataclass(frozen=True)
class Sight:
    """What the page said of one job at one moment."""

    at_us: int
    run: int
    job: str
    """Its id where the page's jobs have one that lasts, else its place."""
    name: str
    status: str


@dataclass(frozen=True)
class Deed:
    """Something that was done to the system, in words; ``run`` where it was about one."""

    at_us: int
    what: str
    run: int | None = None
    runner: str | None = None


@dataclass(frozen=True)
class Ending:
    """How a daemon ended."""

    at_us: int
    runner: str
    how: str
    """Name of its exit status; `killed` when it had none."""


@dataclass(frozen=True)
class StoredLog:
    """The stored rows of a job's newest task at the end, without their times."""

    run: int
    job: str
    name: str
    rows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Quiet:
    """How the healed and finished system was left."""

    start_us: int
    end_us: int
    unfinished_runs: tuple[int, ...] = ()
    runners: tuple[str, ...] = ()
    """Names of the daemons that should be polling."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Gauges that must be 0 again."""
    asyncio_tasks: tuple[int, int] = (0, 0)
    """In the idle system before anything happened, and now."""


@dataclass(frozen=True, kw_only=True)
class History:
    """Everything that was seen of one simulation."""

    calls: Sequence[CallRecord]
    """In the order in which they began."""
    sent: Sequence[bytes] = ()
    """The bytes of every UpdateLog and UpdateTask as they arrived."""
    wire: Sequence[Exchange] = ()
    executions: Sequence[Execution] = ()
    sights: Sequence[Sight] = ()
    deeds: Sequence[Deed] = ()
    endings: Sequence[Ending] = ()
    logs: Sequence[StoredLog] = ()
    pages: Sequence[str] = ()
    """Text of every page that was looked at, as far as it may show rows."""
    capacity: Mapping[str, int] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    """Kind of every fault rule by name."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    healed_us: int = 0
    quiet: Quiet | None = None
    counted: int | None = None
    """Sum of the servers' own counters of calls."""

    def kinds(self, call: CallRecord) -> set[str]:
        """Return the kinds of the rules that hit a call."""
        return {self.rules[name] for name in call.faults if name in self.rules}


def handed_out_by_lies(history: History) -> set[int]:
    """Return the tasks that a runner may know from an answer that was not meant for it, or not meant for now."""
    if not any(history.kinds(call) & _REPEATS for call in history.calls):
        return set()
    return {task for call in history.calls if call.is_fetch for task in call.tasks}


@dataclass(frozen=True)
class Problem:
    """One broken promise."""

    check: str
    message: str
    tasks: frozenset[int] = frozenset()
    runs: frozenset[int] = frozenset()
    runner: str | None = None

    def __str__(self) -> str:
        return f"{self.check}: {self.message}"


Problems = Iterator[Problem]
