"""Downtime in virtual time over many seeds: window kind, start, length, cuts, profile, jobs and lost answers are drawn.

`make downtime` plays 500 of them; CI a part.
"""

import os
from itertools import product
from pathlib import Path

import pytest

from downtimeverdict import judge
from downtimevirtual import LOST_METHODS, PROFILES, draw, tell
from mockgitea.core.downtime import DownKind
from mockgitea.core.faults import Stage

SEEDS = int(os.environ.get("DOWNTIME_SEEDS", "50"))
SEED = os.environ.get("DOWNTIME_SEED")
CHOSEN = [int(SEED)] if SEED else list(range(1, SEEDS + 1))


def test_the_seeds_reach_every_kind_cut_profile_and_loss() -> None:
    plans = [draw(seed) for seed in range(1, 51)]
    windows = [(window.kind, window.cuts) for plan in plans for window in plan.windows]
    assert set(windows) == {(kind, cuts) for kind in DownKind for cuts in (False, True)} - {(DownKind.REFUSED, True)}
    assert {plan.profile for plan in plans} == set(PROFILES)
    assert {(fault.method, fault.stage) for plan in plans for fault in plan.lost} == set(product(LOST_METHODS, Stage))
    assert any(window.duration_s > plan.budget_s for plan in plans for window in plan.windows)
    assert any(window.duration_s < plan.budget_s / 2 for plan in plans for window in plan.windows)


@pytest.mark.slow
@pytest.mark.parametrize("seed", CHOSEN)
def test_a_fleet_goes_through_downtime_and_everything_ends_right(seed: int) -> None:
    plan = draw(seed)
    try:
        judge(tell(plan))
    except Exception as error:
        error.add_note(f"{plan}\n\nrerun: DOWNTIME_SEED={seed} pytest -n 0 {Path(__file__)}")
        raise
