"""Wait inside a running event loop until a condition holds, never for a time."""

import asyncio
from collections.abc import Callable


async def until(predicate: Callable[[], object], *, within_s: float = 10.0) -> None:
    """Return once ``predicate`` holds; fail when it does not in time."""
    async with asyncio.timeout(within_s):
        while not predicate():  # noqa: ASYNC110 - the condition belongs to code under test, which has no event for it
            await asyncio.sleep(0)
