"""The event loop of virtual time: exact jumps, and a clear error for everything that it does not have."""

import asyncio
import socket
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from mockgitea.lab.virtual_loop import RealWorldRefused, SimulationStalled, SimulationStuck, VirtualLoop

T = TypeVar("T")


def virtually(work: Coroutine[Any, Any, T], *, turns_max: int = 10_000) -> T:
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(turns_max=turns_max)) as runner:
        return runner.run(work)


def now_us() -> int:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.now_us


def test_a_long_sleep_takes_no_real_time_and_is_exact() -> None:
    async def work() -> int:
        await asyncio.sleep(86_400)
        return now_us()

    began = time.monotonic()
    assert virtually(work()) == 86_400_000_000
    assert time.monotonic() - began < 5


def test_many_small_sleeps_add_up_without_drift() -> None:
    async def work() -> int:
        loop = asyncio.get_running_loop()
        for number in range(1, 10_001):
            future = loop.create_future()
            loop.call_at(number * 100_001 / 1e6, future.set_result, None)
            await future
            assert now_us() == number * 100_001
        return now_us()

    assert virtually(work()) == 1_000_010_000


def test_equal_timers_fire_in_the_same_order_every_time() -> None:
    async def work() -> list[int]:
        order: list[int] = []
        loop = asyncio.get_running_loop()
        for number in range(50):
            loop.call_at(1.5, order.append, number)
        await asyncio.sleep(2)
        return order

    order = virtually(work())
    assert sorted(order) == list(range(50))
    assert virtually(work()) == order


def test_timers_off_the_microsecond_grid_fire() -> None:
    async def work() -> int:
        await asyncio.sleep(1e-7)
        await asyncio.sleep(0.0000015)
        return now_us()

    assert virtually(work()) <= 3


def test_timeouts_fire_at_their_time_and_not_before() -> None:
    async def work() -> int:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.get_running_loop().create_future()
        return now_us()

    assert virtually(work()) == 5_000_000


def test_work_for_a_thread_runs_inline_and_takes_no_time() -> None:
    async def work() -> tuple[int, int, int]:
        ident = await asyncio.to_thread(threading.get_ident)
        return ident, threading.get_ident(), now_us()

    ident, own, at_us = virtually(work())
    assert ident == own
    assert at_us == 0


def test_an_error_in_inline_work_reaches_its_caller() -> None:
    async def work() -> None:
        with pytest.raises(ZeroDivisionError):
            await asyncio.to_thread(lambda: 1 // 0)

    virtually(work())


def test_waiting_for_nothing_is_an_error_and_no_hang() -> None:
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(SimulationStalled, match=r"nothing is ready and no timer"):
        virtually(work())


def test_spinning_at_one_instant_is_an_error() -> None:
    async def work() -> None:
        while True:  # noqa: ASYNC110 - spinning is the subject
            await asyncio.sleep(0)

    with pytest.raises(SimulationStuck, match="without a delay"):
        virtually(work(), turns_max=500)


def test_turns_are_counted_anew_after_each_jump() -> None:
    async def work() -> None:
        for _ in range(50):
            for _ in range(20):
                await asyncio.sleep(0)
            await asyncio.sleep(1)

    virtually(work(), turns_max=60)


def test_another_thread_is_refused_and_told_why() -> None:
    async def work() -> list[BaseException]:
        loop = asyncio.get_running_loop()
        errors: list[BaseException] = []

        def call() -> None:
            try:
                loop.call_soon_threadsafe(errors.clear)
            except RealWorldRefused as error:
                errors.append(error)

        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        return errors

    (error,) = virtually(work())
    assert "another thread" in str(error)


def test_the_own_thread_may_call_threadsafe() -> None:
    async def work() -> int:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[int] = loop.create_future()
        loop.call_soon_threadsafe(future.set_result, 7)
        return await future

    assert virtually(work()) == 7


def test_a_socket_is_refused() -> None:
    async def work() -> None:
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            with pytest.raises(RealWorldRefused, match="no sockets"):
                await asyncio.get_running_loop().sock_recv(ours, 1)

    virtually(work())
