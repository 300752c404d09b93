"""The two seams inside the runner: what a task is, and where a running job sends what it says.

The engine (which executes a job) knows only these types; the reporter (which talks to the server) implements
`JobSink`. Neither imports the other.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from actionswire.result import Result


@dataclass(frozen=True, slots=True)
class Need:
    """What a task knows of one job it needs: aggregated result and merged outputs."""

    result: Result
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task as FetchTask delivered it, free of protobuf.

    ``payload`` is the YAML of a workflow with exactly one job; ``context`` is the task's `github` context as plain
    JSON values.
    """

    id: int
    payload: bytes
    context: Mapping[str, Any] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, Need] = field(default_factory=dict)
    vars: Mapping[str, str] = field(default_factory=dict)


class JobSink(Protocol):
    """Where a running job reports to. Every method returns at once and never waits for the network."""

    def steps_known(self, count: int) -> None:
        """Say how many steps the job has, once, before any other call that names a step."""

    def log(self, content: str) -> None:
        """Append one row (no line feed inside, not yet masked) to the task's log, stamped with the sink's clock."""

    def add_mask(self, value: str) -> None:
        """Hide ``value`` (each line of it) in every later row and output."""

    def step_started(self, index: int) -> None:
        """Mark the step at 0-based ``index`` as running; rows from now on belong to it."""

    def step_finished(self, index: int, result: Result) -> None:
        """Record the step's conclusion; rows from now on belong to no step."""

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Hand over the job's outputs, once, after the last step."""


class CancelSignal(Protocol):
    """How a job learns that it must stop: a server cancel, a lost task, or the runner's shutdown."""

    @property
    def reason(self) -> str | None:
        """None while the job may go on, else a short text such as ``Cancelled``."""

    async def wait(self) -> str:
        """Return the reason as soon as there is one."""


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended. ``last_words`` is an optional closing row; outputs went to the sink already.

    ``summaries`` is the Markdown of each step that wrote one, by its 0-based index.
    ``clean_up`` is what the job leaves to be done once its result has been told, so that nobody waits for it.
    """

    result: Result
    last_words: str = ""
    summaries: Mapping[int, str] = field(default_factory=dict)
    clean_up: Callable[[], Awaitable[None]] | None = field(default=None, compare=False)
