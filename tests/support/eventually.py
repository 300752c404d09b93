"""Wait for a condition, never for a time: `eventually` polls until the predicate holds and reports the last value."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def eventually(probe: Callable[[], T], accept: Callable[[T], bool] = bool, *, within_s: float = 20.0) -> T:
    """Return the first value of ``probe`` that ``accept`` likes; fail with the last value seen."""
    deadline = time.monotonic() + within_s
    while True:
        value = probe()
        if accept(value):
            return value
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {within_s} s; last value: {value!r}")
        time.sleep(0.02)  # poll interval
