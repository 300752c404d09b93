"""The runner protocol's messages as plain values, so that services never see protobuf.

`transport/` converts in both directions. Log rows travel as bare tuples because a chatty job sends thousands.
Source: docs/protocol.md, "Messages".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from actionswire.result import Result

LogRow = tuple[int, str]
"""(time in nanoseconds since the epoch, content): one row as the runner sent it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registering:
    """What Register carries."""

    name: str
    token: str
    version: str = ""
    labels: tuple[str, ...] = ()
    agent_labels: tuple[str, ...] = ()
    ephemeral: bool = False
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Need:
    """One needed job as its dependant sees it."""

    result: Result
    outputs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """One task as FetchTask delivers it. ``context`` holds JSON-like values only."""

    task_id: int
    payload: bytes
    context: Mapping[str, Any]
    secrets: Mapping[str, str]
    vars: Mapping[str, str]
    needs: Mapping[str, Need] = field(default_factory=dict)


class Fetched(NamedTuple):
    """Answer of a fetch: the tasks (first one first) and the version to echo."""

    tasks_version: int
    tasks: tuple[Assignment, ...] = ()


class StepReport(NamedTuple):
    """One step in UpdateTask. ``number`` is the 0-based index; times are microseconds, 0 = absent."""

    number: int
    result: Result = Result.UNSPECIFIED
    started_us: int = 0
    stopped_us: int = 0
    log_index: int = 0
    log_length: int = 0


class TaskReport(NamedTuple):
    """The state part of UpdateTask."""

    task_id: int
    result: Result = Result.UNSPECIFIED
    started_us: int = 0
    stopped_us: int = 0
    steps: tuple[StepReport, ...] = ()


class TaskAnswer(NamedTuple):
    """What UpdateTask answers: the stored status as a result, and every output key held."""

    task_id: int
    result: Result
    sent_outputs: tuple[str, ...] = ()
