"""The work that arrives: real workflow runs, made through the server's own service, one job each.

Which shape a job has stands in the name of its workflow file. Arrival times are drawn before anything runs.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.executor import FILE_SUFFIX
from mockgitea.lab.measure import Measure
from mockgitea.lab.server import REPOSITORY
from mockgitea.lab.shapes import MIXED, JobShape
from mockgitea.service.container import Services
from mockgitea.service.runs import EnqueueRequest

FLEET_LABEL: Final = "lab"
"""Every runner of a fleet has it, and every job asks for it."""


class ArrivalKind(StrEnum):
    """When jobs arrive."""

    NONE = "none"
    AT_START = "at-start"
    POISSON = "poisson"
    FIXED_RATE = "fixed-rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """An arrival process: ``jobs`` at the start, or ``per_hour`` on average from ``start_us`` on."""

    kind: ArrivalKind = ArrivalKind.NONE
    jobs: int = 0
    per_hour: float = 0.0
    start_us: int = 0

    def times(self, end_us: int, rng: random.Random) -> Iterator[int]:
        """Yield the arrival times before ``end_us``, in order."""
        if self.kind is ArrivalKind.NONE:
            return
        if self.kind is ArrivalKind.AT_START:
            for _ in range(self.jobs):
                yield self.start_us
            return
        mean_s = 3600.0 / self.per_hour
        at_us = self.start_us
        while True:
            gap_s = rng.expovariate(1.0) * mean_s if self.kind is ArrivalKind.POISSON else mean_s
            at_us += round(gap_s * 1e6)
            if at_us >= end_us:
                return
            yield at_us


class Workload:
    """Makes runs.

    Args:
        services: of the server.
        measure: is told when a job begins to wait.
        clock: virtual time.
        shapes: the shapes that jobs take in turns.
    """

    def __init__(self, services: Services, measure: Measure, clock: RunnerClock, shapes: Sequence[JobShape]) -> None:
        self._services = services
        self._measure = measure
        self._clock = clock
        self._shapes = shapes
        self._made = 0

    async def enqueue(self, *labels: str) -> int:
        """Make one run whose job asks for the fleet's label and ``labels``; return the run's id."""
        shape = self._shapes[self._made % len(self._shapes)]
        self._made += 1
        source = workflow(shape, (FLEET_LABEL, *labels))
        request = EnqueueRequest(
            repository=REPOSITORY, workflow_file=f"{shape.name}{FILE_SUFFIX}", source=source, event="push"
        )
        made = await self._services.runs.enqueue(request)
        self._measure.enqueued(made.run_id)
        return made.run_id

    async def arrive(self, times_us: Iterator[int]) -> None:
        """Enqueue a job at each of the times."""
        for at_us in times_us:
            await self._clock.sleep_until(at_us)
            await self.enqueue()


def shapes_of(name: str, known: dict[str, JobShape]) -> tuple[JobShape, ...]:
    """Return the shapes that a workload's ``shape`` stands for."""
    return tuple(known[one] for one in (MIXED if name == "mixed" else (name,)))


def workflow(shape: JobShape, labels: Sequence[str]) -> str:
    """Return a workflow file with one job of the shape's number of steps."""
    steps = "\n".join(f"      - name: step {number}\n        run: 'true'" for number in range(1, shape.steps + 1))
    return f"name: {shape.name}\non: push\njobs:\n  job:\n    runs-on: [{', '.join(labels)}]\n    steps:\n{steps}\n"
