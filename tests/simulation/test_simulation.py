"""The whole system under bad days drawn from a seed: nothing wrong happens meanwhile, and afterwards everything ends.

A failure prints its seed, the schedule, what happened, and the line that runs it again.
"""

import hashlib
import os
from pathlib import Path

import pytest
from checks import PROBLEMS_MAX, problems_of, story
from schedule import draw
from world import simulate

SEEDS = int(os.environ.get("SIMULATION_SEEDS", "15"))
FIRST = int(os.environ.get("SIMULATION_FIRST", "1"))
SEED = os.environ.get("SIMULATION_SEED")
CHOSEN = [int(SEED)] if SEED else list(range(FIRST, FIRST + SEEDS))


@pytest.mark.slow
@pytest.mark.parametrize("seed", CHOSEN)
def test_the_system_survives_bad_days(seed: int, tmp_path: Path) -> None:
    schedule = draw(seed)
    rerun = f"rerun: SIMULATION_SEED={seed} pytest {Path(__file__).parent} -k survives"
    try:
        history = simulate(schedule, tmp_path)
    except Exception as error:
        error.add_note(f"{schedule}\n\n{rerun}")
        raise
    if problems := problems_of(history):
        told = "\n".join(map(str, problems[:PROBLEMS_MAX]))
        pytest.fail(f"{told}\n\n{story(history, problems[0])}\n\n{schedule}\n\n{rerun}", pytrace=False)


@pytest.mark.slow
def test_a_seed_gives_the_same_history_every_time(tmp_path: Path) -> None:
    prints = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        history = simulate(draw(CHOSEN[0]), folder)
        prints.append(hashlib.sha256(repr((history.calls, history.deeds, history.sights)).encode()).hexdigest())
    assert prints[0] == prints[1]
