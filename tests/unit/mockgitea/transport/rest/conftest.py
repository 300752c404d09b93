import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from restapi import SEED, Rest, running


@pytest.fixture
def with_rest() -> Callable[..., None]:
    """Return a function that runs an async test body against a fresh server of a profile."""

    def run(body: Callable[[Rest], Awaitable[None]], profile: str = "gitea-1.27", **settings: Any) -> None:
        async def main() -> None:
            async with running(profile, **settings) as rest:
                await body(rest)

        print(f"seed {settings.get('seed', SEED)}")
        asyncio.run(main())

    return run
