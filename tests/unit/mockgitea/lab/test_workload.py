"""Arrival processes and workflow files."""

import random
from itertools import pairwise

import pytest

from mockgitea.core.workflow import parse_workflow
from mockgitea.lab.shapes import built_in
from mockgitea.lab.workload import ArrivalKind, Arrivals, workflow

HOUR_US = 3_600_000_000


def times(arrivals: Arrivals, seed: int = 1) -> list[int]:
    return list(arrivals.times(HOUR_US, random.Random(seed)))


def test_no_arrivals() -> None:
    assert times(Arrivals()) == []


def test_all_jobs_arrive_at_the_start() -> None:
    assert times(Arrivals(kind=ArrivalKind.AT_START, jobs=3, start_us=5)) == [5, 5, 5]


def test_a_fixed_rate_is_evenly_spaced() -> None:
    found = times(Arrivals(kind=ArrivalKind.FIXED_RATE, per_hour=60))
    assert len(found) == 59
    assert {later - earlier for earlier, later in pairwise(found)} == {60_000_000}


def test_poisson_has_the_mean_rate_and_depends_on_the_seed_alone() -> None:
    arrivals = Arrivals(kind=ArrivalKind.POISSON, per_hour=10_000)
    found = times(arrivals)
    assert len(found) == pytest.approx(10_000, rel=0.05)
    assert found == times(arrivals) != times(arrivals, seed=2)
    assert found == sorted(found)


def test_the_workflow_file_is_one_that_the_server_reads() -> None:
    parsed = parse_workflow(workflow(built_in("chatty"), ("lab", "runner-0")).encode())
    (job,) = parsed.jobs
    assert job
