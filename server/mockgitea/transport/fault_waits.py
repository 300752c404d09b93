"""Waits of faults that always end: by time, by the rule's release or removal, or because the caller has gone.

The clock is the server's, so that moving it ends delays.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from mockgitea.clock import MovableClock


async def first_of(*waits: Awaitable[Any]) -> int:
    """Return the number of the first of these waits that ends; the others are given up."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_whole(wait)) for wait in waits]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        ended = next(number for number, task in enumerate(tasks) if task.done())
        for task in tasks:
            task.cancel()
    return ended


async def _whole(wait: Awaitable[Any]) -> None:
    await wait


class FaultWaits:
    """Everybody who waits because of a rule, by the rule's name.

    Args:
        clock: the server's time.
    """

    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock
        self._waiting: dict[str, asyncio.Event] = {}

    async def wait(
        self,
        name: str,
        until_gone: Callable[[], Awaitable[object]],
        *others: Awaitable[Any],
        until_us: int | None = None,
    ) -> bool:
        """Wait because of this rule.

        Args:
            name: whose release ends the wait.
            until_gone: ends when the caller does.
            others: whatever else ends the wait.
            until_us: the time that ends the wait; None: none does.

        Returns:
            False when the caller has gone.
        """
        event = self._waiting.setdefault(name, asyncio.Event())
        waits: list[Awaitable[Any]] = [event.wait(), until_gone(), *others]
        if until_us is not None:
            waits.append(self._clock.sleep_until(until_us))
        return await first_of(*waits) != 1

    def wake(self, name: str) -> None:
        """End the waits of this rule; later ones wait again."""
        event = self._waiting.pop(name, None)
        if event is not None:
            event.set()

    def wake_all(self) -> None:
        """End every wait."""
        for name in list(self._waiting):
            self.wake(name)
