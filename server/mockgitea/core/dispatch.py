"""Which waiting job a runner gets: walk the queue in order, take the first one that fits and is still free.

Source: docs/protocol.md, "FetchTask".
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeVar

from actionswire.labels import covers
from mockgitea.core.profiles import Profile

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One waiting job in the runner's scope."""

    job_id: int
    runs_on: tuple[str, ...]


class Miss(Enum):
    """Why a claim gave nothing."""

    LOST = auto()
    """Another runner won the job."""
    UNUSABLE = auto()
    """The job cannot be handed to anybody; it has failed alone."""


class Mishap(Enum):
    """Bad luck of a fetch that real servers have under load, and that a fault can bring about."""

    LOST_WAKEUP = auto()
    """It learns the newest version without a look into the queue."""
    LOST_CLAIM = auto()
    """Another runner is faster at the first job that fits."""


def fits(labels: Sequence[str], runs_on: Sequence[str], profile: Profile) -> bool:
    """Tell whether a runner with these labels may take a job that wants ``runs_on``."""
    if profile.runner_without_labels_matches_nothing and not labels:
        return False
    return covers(labels, runs_on, empty_matches=profile.empty_runs_on_matches)


def first_claimed(
    queue: Iterable[Candidate], labels: Sequence[str], claim: Callable[[Candidate], T | Miss], profile: Profile
) -> T | None:
    """Claim the first fitting job of an ordered queue; None when there is none to be had.

    Args:
        queue: candidates, oldest first; read only as far as needed.
        labels: the runner's.
        claim: takes one job, or says why not.
        profile: says whether a lost claim goes on to the next candidate or ends the fetch.
    """
    for candidate in queue:
        if not fits(labels, candidate.runs_on, profile):
            continue
        claimed = claim(candidate)
        if not isinstance(claimed, Miss):
            return claimed
        if claimed is Miss.LOST and not profile.claim_retry:
            return None
    return None
