"""Walking the queue: labels, lost claims, unusable jobs."""

import dataclasses

import pytest

from mockgitea.core.dispatch import Candidate, Miss, first_claimed, fits
from mockgitea.core.profiles import PROFILES

NEW, OLD, FORGEJO = PROFILES["gitea-1.27"], PROFILES["gitea-1.25"], PROFILES["forgejo-15"]
QUEUE = [Candidate(1, ("a",)), Candidate(2, ("b",)), Candidate(3, ("a",)), Candidate(4, ())]


@pytest.mark.parametrize(
    ("labels", "runs_on", "gitea", "forgejo"),
    [
        (("a", "b", "c"), ("a", "b"), True, True),
        (("a",), ("a", "b"), False, False),
        (("A",), ("a",), False, False),
        (("a",), (), True, False),
        ((), (), True, False),
        ((), ("a",), False, False),
    ],
)
def test_fits_by_family(labels: tuple[str, ...], runs_on: tuple[str, ...], gitea: bool, forgejo: bool) -> None:
    assert fits(labels, runs_on, NEW) is gitea
    assert fits(labels, runs_on, FORGEJO) is forgejo


def test_first_claimed_takes_the_oldest_that_fits_and_reads_no_further() -> None:
    seen = iter(QUEUE)
    assert first_claimed(seen, ("b",), lambda one: one.job_id, NEW) == 2
    assert next(seen).job_id == 3


@pytest.mark.parametrize(("profile", "claimed"), [(NEW, 3), (OLD, None)])
def test_first_claimed_lost_claim_goes_on_or_ends_the_fetch(profile: object, claimed: int | None) -> None:
    assert isinstance(profile, type(NEW))
    found = first_claimed(QUEUE, ("a",), lambda one: Miss.LOST if one.job_id == 1 else one.job_id, profile)
    assert found == claimed


def test_first_claimed_unusable_job_never_ends_the_fetch() -> None:
    for profile in (NEW, OLD, FORGEJO):
        found = first_claimed(QUEUE, ("a",), lambda one: Miss.UNUSABLE if one.job_id == 1 else one.job_id, profile)
        assert found == 3


def test_first_claimed_nothing_fits() -> None:
    strict = dataclasses.replace(NEW, empty_runs_on_matches=False)
    assert first_claimed(QUEUE, ("z",), lambda one: one.job_id, strict) is None
