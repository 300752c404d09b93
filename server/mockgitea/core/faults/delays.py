"""How long a delay is: one draw from the rule's distribution, kept within its bounds.

Source: docs/faults.md, "Delays".
"""

import math
import random

from mockgitea.core.faults.rule import DELAY_S_MAX, Fault
from mockgitea.core.faults.when import SECOND_US


def draw_us(fault: Fault, rng: random.Random) -> int:
    """Return the delay in microseconds that one call gets."""
    low = fault.min_s or 0.0
    high = DELAY_S_MAX if fault.max_s is None else fault.max_s
    return round(min(max(_draw_s(fault, low, high, rng), low), high) * SECOND_US)


def _draw_s(fault: Fault, low: float, high: float, rng: random.Random) -> float:
    center, shape = fault.delay_s or 0.0, fault.shape or 1.0
    match fault.distribution:
        case "uniform":
            return rng.uniform(low, high)
        case "normal":
            return rng.gauss(center, fault.spread_s or 0.0)
        case "lognormal":
            return rng.lognormvariate(math.log(center), shape)
        case "pareto":
            return low * rng.paretovariate(shape)
        case _:
            return center
