"""Wait until a predicate of the test's own holds, and say what there was when it did not."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Final, TypeVar

T = TypeVar("T")

LOOK_S_MIN: Final = 0.002
LOOK_S_MAX: Final = 0.05
"""Looks begin dense and thin out, so that short waits are short and long ones cost nothing."""


class NotInTime(AssertionError):
    """A predicate did not hold in time."""


def wait_until(predicate: Callable[[], T], *, within_s: float, context: Callable[[], str]) -> T:
    """Call ``predicate`` until what it returns is true, and return that.

    Args:
        predicate: of the test.
        within_s: longest wait in real seconds.
        context: text for the failure.

    Raises:
        NotInTime: it was still false; the text shows its last value.
    """
    deadline_s = time.monotonic() + within_s
    for pause_s in _pauses():
        value = predicate()
        if value:
            return value
        if time.monotonic() >= deadline_s:
            raise _not_in_time(predicate, value, within_s, context)
        time.sleep(pause_s)
    raise AssertionError("unreachable: the pauses never end")


async def wait_until_async(
    predicate: Callable[[], T] | Callable[[], Awaitable[T]], *, within_s: float, context: Callable[[], str]
) -> T:
    """Do what `wait_until` does without blocking the event loop; the predicate may be a coroutine function."""
    deadline_s = time.monotonic() + within_s
    for pause_s in _pauses():
        value = predicate()
        if isinstance(value, Awaitable):
            value = await value
        if value:
            return value
        if time.monotonic() >= deadline_s:
            raise _not_in_time(predicate, value, within_s, context)
        await asyncio.sleep(pause_s)
    raise AssertionError("unreachable: the pauses never end")


def _pauses() -> Iterator[float]:
    pause_s = LOOK_S_MIN
    while True:
        yield pause_s
        pause_s = min(pause_s * 1.5, LOOK_S_MAX)


def _not_in_time(
    predicate: Callable[..., object], value: object, within_s: float, context: Callable[[], str]
) -> NotInTime:
    name = getattr(predicate, "__name__", repr(predicate))
    return NotInTime(f"{name} was not true within {within_s:g} s; its last value: {value!r}\n\n{context()}")
