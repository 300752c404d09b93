"""When a rule acts: windows and schedules from the time of adding on, counts, chance, and the end of its life.

All intervals are half-open. Time and randomness are arguments.
Source: docs/faults.md, "When".
"""

import random
from dataclasses import dataclass
from typing import Final

from mockgitea.core.faults.rule import Fault

SECOND_US: Final = 1_000_000


@dataclass(slots=True, eq=False)
class Count:
    """How a rule has been used: ``seen`` calls that it was about at a time it acts, ``hits`` of them hit."""

    added_us: int
    left: int | None
    seen: int = 0
    hits: int = 0


def expires_us(fault: Fault, added_us: int) -> int | None:
    """Return when the rule removes itself; None for never."""
    return None if fault.ttl_s is None else added_us + round(fault.ttl_s * SECOND_US)


def is_open(fault: Fault, added_us: int, now_us: int) -> bool:
    """Tell whether window and schedule allow the rule to act at this time."""
    age_us = now_us - added_us
    from_us = round((fault.from_s or 0.0) * SECOND_US)
    if age_us < from_us or (fault.until_s is not None and age_us >= round(fault.until_s * SECOND_US)):
        return False
    if fault.period_s is None or fault.open_s is None:
        return True
    return (age_us - from_us) % round(fault.period_s * SECOND_US) < round(fault.open_s * SECOND_US)


def takes(fault: Fault, count: Count, now_us: int, rng: random.Random) -> bool:
    """Count one matching call and tell whether it is hit."""
    if count.left == 0 or not is_open(fault, count.added_us, now_us):
        return False
    count.seen += 1
    number = count.seen - (fault.skip or 0)
    if number < 1 or (fault.every is not None and (number - 1) % fault.every):
        return False
    if fault.probability is not None and rng.random() >= fault.probability:
        return False
    count.hits += 1
    if count.left is not None:
        count.left -= 1
    return True
