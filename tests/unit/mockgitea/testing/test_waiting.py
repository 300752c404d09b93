import asyncio
import itertools

import pytest

from mockgitea.testing import NotInTime
from mockgitea.testing.waiting import wait_until, wait_until_async
from mockgitea.testing.wanted import matcher_of, refuse_inside_a_loop


def test_wait_until_returns_the_first_true_value() -> None:
    numbers = itertools.count()
    assert wait_until(lambda: next(numbers) // 3, within_s=20, context=str) == 1


def test_wait_until_shows_predicate_last_value_and_context() -> None:
    def is_done() -> list[int]:
        return []

    with pytest.raises(NotInTime, match=r"is_done was not true within 0 s; its last value: \[\]\n\nthe journal"):
        wait_until(is_done, within_s=0, context=lambda: "the journal")


def test_wait_until_lets_errors_of_the_predicate_through() -> None:
    def broken() -> bool:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        wait_until(broken, within_s=20, context=str)


def test_wait_until_async_takes_functions_and_coroutine_functions() -> None:
    numbers = itertools.count()

    async def counted() -> int:
        return next(numbers) // 2

    async def main() -> None:
        assert await wait_until_async(counted, within_s=20, context=str) == 1
        assert await wait_until_async(lambda: 5, within_s=20, context=str) == 5
        with pytest.raises(NotInTime):
            await wait_until_async(lambda: 0, within_s=0, context=str)

    asyncio.run(main())


def test_blocking_wait_inside_a_loop_names_its_twin() -> None:
    refuse_inside_a_loop("wait_for")

    async def main() -> None:
        with pytest.raises(RuntimeError, match=r"use `await wait_for_async\(...\)`"):
            refuse_inside_a_loop("wait_for")

    asyncio.run(main())


def test_matcher_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(TypeError, match="methods"):
        matcher_of({"methods": "FetchTask"})
