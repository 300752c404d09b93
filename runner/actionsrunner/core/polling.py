"""What a polling strategy is: the events it hears, the commands it gives, and the protocol it fulfils.

A strategy is a pure state machine ``(state, event, now_us) -> (state, commands)``. The loop over it only waits and
does I/O, so a fixed interval, one poller per slot or a long poll are other values, not other loops.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar

from actionsrunner.core.failures import Failure


class HaltReason(StrEnum):
    """Why polling ended for good."""

    STOPPED = "stopped"
    """Asked to stop."""
    SERVED = "served"
    """The wanted number of tasks has been run."""
    UNREGISTERED = "unregistered"
    """The server no longer knows this runner."""


@dataclass(frozen=True, slots=True)
class Began:
    """The loop has started."""


@dataclass(frozen=True, slots=True)
class TimeCame:
    """The time of the last `WakeAt` has come."""


class Answered(NamedTuple):
    """A fetch was answered.

    ``tasks`` counts the tasks that now occupy a slot, ``repeated`` those that were running here already and were
    ignored.
    """

    fetch_id: int
    tasks_version: int
    tasks: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """A fetch brought no usable answer."""

    fetch_id: int
    failure: Failure


@dataclass(frozen=True, slots=True)
class SlotFreed:
    """One task ended and all of its reports are closed."""


@dataclass(frozen=True, slots=True)
class StopAsked:
    """Take no more tasks; the running ones are somebody else's business."""


PollEvent = Began | TimeCame | Answered | Failed | SlotFreed | StopAsked


class Fetch(NamedTuple):
    """Send one FetchTask.

    ``request_key`` names the attempt for servers that can repeat a lost answer; it stays the same until a fetch
    is answered. ``worker`` tells strategies with several pollers whose fetch it is.
    """

    fetch_id: int
    tasks_version: int
    free_slots: int
    request_key: str
    worker: int = 0


class WakeAt(NamedTuple):
    """Send `TimeCame` at ``at_us``; replaces an earlier `WakeAt`."""

    at_us: int


@dataclass(frozen=True, slots=True)
class AbandonFetches:
    """Give up every fetch in flight at once; their answers will not be waited for."""


@dataclass(frozen=True, slots=True)
class Halt:
    """Leave the loop."""

    reason: HaltReason


PollCommand = Fetch | WakeAt | AbandonFetches | Halt

S = TypeVar("S")


class PollStrategy(Protocol[S]):
    """A way to poll. ``S`` is its frozen state."""

    def start(self) -> S:
        """Return the state before `Began`."""

    def step(self, state: S, event: PollEvent, now_us: int) -> tuple[S, Sequence[PollCommand]]:
        """Take one event, return the new state and what the loop must do, in order."""
