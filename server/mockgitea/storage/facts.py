"""What an intent announces to memory once it is durable: small frozen values, no behaviour.

Storage modules announce them with `Tx.announce`; services subscribe through `Store.subscribe`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class VersionBumped:
    """The tasks_version counter of one scope has a new value."""

    owner_id: int
    repo_id: int
    version: int


@dataclass(frozen=True, slots=True)
class RunnerAdded:
    """A runner row was inserted; ``row`` holds its columns."""

    row: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RunnerRemoved:
    """A runner row was soft-deleted; every later call with its token is unregistered."""

    runner_id: int


@dataclass(frozen=True, slots=True)
class RunNeedsResolving:
    """Something of a run ended or was released, so that blocked jobs of it may go on."""

    run_id: int
    is_woken: bool = False
    """Only its concurrency group became free: nothing of the run itself ended."""
