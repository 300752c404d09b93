"""Owned tasks and bounded waits."""

import asyncio

import pytest

from actionsrunner.edge.clock import LoopClock
from actionsrunner.loops.supervise import Supervisor, bounded, wait_for
from virtualtime import run_virtual


async def after(seconds: float, value: str = "") -> str:
    await LoopClock().sleep_until(round(seconds * 1e6))
    return value


async def nothing(seconds: float) -> None:
    await after(seconds)


async def fail() -> None:
    raise RuntimeError("bug")


def test_failure_is_remembered_and_told_once() -> None:
    async def scenario() -> None:
        told: list[BaseException] = []
        group = Supervisor(told.append)
        group.spawn(fail(), name="a")
        group.spawn(after(1), name="b")
        await group.join()
        assert [str(error) for error in told] == ["bug"]
        assert group.failure is told[0]
        assert group.running == 0

    run_virtual(scenario())


def test_cancel_ends_every_task_and_may_be_repeated() -> None:
    async def scenario() -> float:
        group = Supervisor()
        for number in range(3):
            group.spawn(after(100), name=str(number))
        await group.cancel()
        await group.cancel()
        assert group.running == 0
        assert group.failure is None
        return asyncio.get_running_loop().time()

    assert run_virtual(scenario()) == 0


def test_bounded_work_that_is_quick_returns_its_value() -> None:
    assert run_virtual(bounded(after(1, "x"), by=nothing(2))) == "x"


def test_bounded_work_that_is_slow_is_cancelled() -> None:
    async def scenario() -> None:
        with pytest.raises(TimeoutError):
            await bounded(after(3), by=nothing(2))
        assert asyncio.get_running_loop().time() == pytest.approx(2, abs=0.001)

    run_virtual(scenario())


def test_bounded_work_that_fails_raises_its_own_error() -> None:
    with pytest.raises(RuntimeError, match="bug"):
        run_virtual(bounded(fail(), by=nothing(2)))


@pytest.mark.parametrize(("set_at", "until", "expected"), [(1.0, 2.0, 1.0), (3.0, 2.0, 2.0), (3.0, None, 3.0)])
def test_wait_ends_with_the_event_or_the_time(set_at: float, until: float | None, expected: float) -> None:
    async def scenario() -> float:
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        loop.call_at(set_at, event.set)
        await wait_for(event, LoopClock(), None if until is None else round(until * 1e6))
        return loop.time()

    assert run_virtual(scenario()) == pytest.approx(expected, abs=0.001)
