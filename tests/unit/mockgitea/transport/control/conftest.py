import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from controlapi import SEED, Api, running


@pytest.fixture
def with_api() -> Callable[..., None]:
    """Return a function that runs an async test body against a fresh server."""

    def run(body: Callable[[Api], Awaitable[None]], **settings: Any) -> None:
        async def main() -> None:
            async with running(**settings) as api:
                await body(api)

        print(f"seed {settings.get('seed', SEED)}")
        asyncio.run(main())

    return run
