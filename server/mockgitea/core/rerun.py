"""Which jobs a rerun takes, and which of them start blocked.

Source: docs/protocol.md, "Rerun".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from actionswire.result import Status


@dataclass(frozen=True, slots=True)
class FinishedJob:
    """A job row as far as a rerun is concerned."""

    id: int
    job_id: str
    needs: tuple[str, ...]
    status: Status
    is_spoilt: bool = False
    """It failed before it ever could run, because of the workflow file itself."""


def jobs_to_rerun(jobs: Sequence[FinishedJob], chosen: Iterable[int]) -> dict[int, bool]:
    """Return the rows that run again, in order, each with whether it starts blocked.

    Args:
        jobs: all rows of the latest attempt, in order.
        chosen: the rows asked for; whatever needs them follows. A chosen row starts at once unless it needs
            another one that runs again.

    Returns:
        Row id to "starts blocked". Rows that are not final, or cannot run as written, are left out.
    Source: docs/protocol.md, "Rerun".
    """
    taken = set(chosen)
    names = {job.job_id for job in jobs if job.id in taken}
    while followers := [job for job in jobs if job.id not in taken and not names.isdisjoint(job.needs)]:
        taken.update(job.id for job in followers)
        names.update(job.job_id for job in followers)
    again = [job for job in jobs if job.id in taken and job.status.is_final and not job.is_spoilt]
    running_again = {job.job_id for job in again}
    return {job.id: not running_again.isdisjoint(job.needs) for job in again}


def failed_rows(jobs: Iterable[FinishedJob]) -> list[int]:
    """Return the rows that failed or were cancelled."""
    return [job.id for job in jobs if job.status in (Status.FAILURE, Status.CANCELLED)]
