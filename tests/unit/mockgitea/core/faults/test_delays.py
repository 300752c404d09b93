import random
import statistics
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockgitea.core.faults import Fault, FaultKind
from mockgitea.core.faults.delays import draw_us

SEED = 20_261_201


def draws(**fields: Any) -> list[float]:
    fault = Fault(name="f", kind=FaultKind.DELAY, **fields)
    rng = random.Random(SEED)
    return [draw_us(fault, rng) / 1e6 for _ in range(4000)]


@pytest.mark.parametrize(
    ("fields", "median"),
    [
        ({"delay_s": 2.0}, 2.0),
        ({"distribution": "uniform", "min_s": 1.0, "max_s": 3.0}, 2.0),
        ({"distribution": "normal", "delay_s": 2.0, "spread_s": 0.3}, 2.0),
        ({"distribution": "lognormal", "delay_s": 2.0, "shape": 0.5}, 2.0),
        ({"distribution": "pareto", "min_s": 1.0, "shape": 1.0}, 2.0),
    ],
)
def test_draws_have_the_median_of_their_distribution(fields: dict[str, Any], median: float) -> None:
    print(f"seed {SEED}")
    assert statistics.median(draws(**fields)) == pytest.approx(median, rel=0.1)


@given(low=st.floats(0.001, 1), high=st.floats(1, 100), seed=st.integers())
def test_draws_stay_within_their_bounds(low: float, high: float, seed: int) -> None:
    for fields in (
        {"distribution": "uniform"},
        {"distribution": "normal", "delay_s": 50.0, "spread_s": 100.0},
        {"distribution": "lognormal", "delay_s": 50.0, "shape": 3.0},
        {"distribution": "pareto", "shape": 0.2},
    ):
        fault = Fault(name="f", kind=FaultKind.DELAY, min_s=low, max_s=high, **fields)
        assert round(low * 1e6) <= draw_us(fault, random.Random(seed)) <= round(high * 1e6)
