import asyncio
from collections.abc import Awaitable, Callable

from actionsrunner.engine.interrupts import StopWatch
from actionswire.result import Result
from enginejob import Switch


def watch(
    body: Callable[[StopWatch, Switch], Awaitable[None]], *, limit_s: float = 60.0, grace_s: float = 60.0
) -> None:
    async def go() -> None:
        switch = Switch()
        stop = StopWatch(switch, grace_s=grace_s)
        async with asyncio.timeout(10), stop.watching(limit_s, "too long"):
            await body(stop, switch)

    asyncio.run(go())


def test_watch_without_a_reason_ends_with_the_job() -> None:
    async def body(stop: StopWatch, switch: Switch) -> None:
        assert stop.phase_end is stop.interrupted

    watch(body)


def test_watch_cancel_opens_the_grace_period() -> None:
    async def body(stop: StopWatch, switch: Switch) -> None:
        switch.cancel("Ended by the server")
        await stop.interrupted.wait()
        assert stop.interruption is not None
        assert (stop.interruption.result, stop.interruption.text) == (Result.CANCELLED, "Ended by the server")
        assert stop.phase_end is stop.over
        assert not stop.over.is_set()

    watch(body)


def test_watch_grace_period_ends() -> None:
    async def body(stop: StopWatch, switch: Switch) -> None:
        switch.cancel()
        await stop.over.wait()
        assert not stop.forced.is_set()
        assert stop.reason_of(stop.interrupted) == "Cancelled"
        assert stop.reason_of(stop.over) == "the 0 s for steps after an interruption are over"

    watch(body, grace_s=0.0)


def test_watch_limit_is_a_failure_and_a_cancel_after_it_ends_the_grace_period() -> None:
    async def body(stop: StopWatch, switch: Switch) -> None:
        await stop.interrupted.wait()
        assert not stop.over.is_set()
        switch.cancel()
        await stop.over.wait()
        assert stop.interruption is not None
        assert (stop.interruption.result, stop.interruption.text) == (Result.FAILURE, "too long")

    watch(body, limit_s=0.0)


def test_watch_force_ends_everything() -> None:
    async def body(stop: StopWatch, switch: Switch) -> None:
        switch.force()
        await stop.forced.wait()
        assert stop.over.is_set()
        assert stop.interruption is not None
        assert stop.interruption.result is Result.CANCELLED

    watch(body)


def test_watch_of_a_job_cancelled_before_its_start_is_interrupted_at_once() -> None:
    async def go() -> None:
        stop = StopWatch(Switch("shutdown"), grace_s=60.0)
        async with stop.watching(60.0, "too long"):
            assert stop.interrupted.is_set()
            assert stop.phase_end is stop.over

    asyncio.run(go())
