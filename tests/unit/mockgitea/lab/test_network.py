"""The model of connections: what is opened, reused and closed, and what a server that is down looks like."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actionsrunner.embedding import DeadlinePassed, RawAnswer, TransportError
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.network import DownKind, Downtime, LinkCounts, LinkPolicy, Network, Pool, PoolPolicy
from mockgitea.lab.transport import AsgiTransport
from mockgitea.lab.virtual_loop import VirtualLoop

SECOND = 1_000_000


class World:
    """One runner, one network, one small application, and the time."""

    def __init__(self, policy: LinkPolicy, pool: PoolPolicy) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.clock = RunnerClock(loop)
        self.network = Network(self.clock, policy)
        self.served = 0
        self.transport = AsgiTransport(self.app, self.network, Pool(self.network, self.clock, pool))

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.served += 1
        event = await receive()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"x-path", scope["path"].encode())]})
        await send({"type": "http.response.body", "body": event["body"]})

    async def post(self, deadline_s: float = 5.0) -> RawAnswer:
        return await self.transport.post("/x", {"content-type": "text/plain"}, b"hello", deadline_s)

    async def at(self, seconds: float) -> None:
        await self.clock.sleep_until(round(seconds * SECOND))

    @property
    def counts(self) -> LinkCounts:
        return self.network.counts


def play(
    scene: Callable[[World], Awaitable[None]], policy: LinkPolicy | None = None, pool: PoolPolicy | None = None
) -> World:
    async def main() -> World:
        world = World(policy or LinkPolicy(), pool or PoolPolicy())
        await scene(world)
        return world

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())


def down(kind: DownKind, start_s: int = 10, end_s: int = 20) -> LinkPolicy:
    return LinkPolicy(downtimes=(Downtime(kind, start_s * SECOND, end_s * SECOND),))


def test_a_call_brings_the_answer_and_takes_no_time() -> None:
    async def scene(world: World) -> None:
        answer = await world.post()
        assert (answer.status, answer.headers, answer.body) == (200, {"x-path": "/x"}, b"hello")
        assert world.clock.now_us() == 0

    assert play(scene).counts == LinkCounts(opened=1, tls_handshakes=1, attempts=1)


def test_calls_one_after_the_other_reuse_one_connection() -> None:
    async def scene(world: World) -> None:
        for second in range(5):
            await world.at(second)
            await world.post()

    world = play(scene)
    assert (world.counts.opened, world.counts.reused) == (1, 4)
    assert world.counts.reuse_ratio == 0.8


def test_an_idle_connection_is_closed_by_the_runner_after_its_time_out() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.at(90)
        await world.post()

    assert play(scene).counts == LinkCounts(opened=2, tls_handshakes=2, attempts=2, closed_idle=1)


def test_an_idle_connection_is_closed_by_the_server_after_its_keep_alive_time() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.at(120)
        await world.post()

    pool = PoolPolicy(idle_timeout_us=1000 * SECOND)
    assert play(scene, pool=pool).counts == LinkCounts(opened=2, tls_handshakes=2, attempts=2, closed_by_server=1)


def test_surplus_connections_are_closed_when_calls_overlap() -> None:
    async def scene(world: World) -> None:
        for _ in range(2):
            await asyncio.gather(*(world.post() for _ in range(4)))

    policy = LinkPolicy(round_trip_us=10_000)
    two_idle, ten_idle = play(scene, policy, PoolPolicy(idle_max=2)), play(scene, policy)
    assert (two_idle.counts.opened, two_idle.counts.closed_surplus) == (6, 4)
    assert (ten_idle.counts.opened, ten_idle.counts.closed_surplus) == (4, 0)


def test_latency_is_paid_for_connection_handshake_and_call() -> None:
    async def scene(world: World) -> None:
        await world.post()
        assert world.clock.now_us() == 3 * 20_000
        await world.post()
        assert world.clock.now_us() == 4 * 20_000

    play(scene, LinkPolicy(round_trip_us=20_000))


def test_unavailable_answers_503_without_reaching_the_server_and_keeps_connections() -> None:
    async def scene(world: World) -> None:
        await world.post()
        for second in (10, 19):
            await world.at(second)
            assert (await world.post()).status == 503
        await world.at(20)
        assert (await world.post()).status == 200

    world = play(scene, down(DownKind.UNAVAILABLE))
    assert (world.served, world.counts.opened, world.counts.attempts) == (2, 1, 4)


def test_refused_cuts_idle_connections_and_refuses_new_ones_until_the_end() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.at(15)
        with pytest.raises(TransportError, match="refused"):
            await world.post()
        await world.at(20)
        assert (await world.post()).status == 200

    counts = play(scene, down(DownKind.REFUSED)).counts
    assert (counts.opened, counts.refused, counts.reset) == (2, 1, 1)


def test_refused_resets_a_call_in_flight_even_though_the_server_has_served_it() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.at(9.7)
        with pytest.raises(TransportError, match="reset"):
            await world.post()

    policy = LinkPolicy(
        round_trip_us=600_000, downtimes=(Downtime(DownKind.REFUSED, 10_000_000 + 100_000, 20_000_000),)
    )
    world = play(scene, policy)
    assert (world.served, world.counts.reset) == (2, 1)


def test_a_black_hole_ends_with_the_callers_own_deadline() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.at(12)
        with pytest.raises(DeadlinePassed):
            await world.post(deadline_s=4.0)
        assert world.clock.now_us() == 16 * SECOND
        await world.at(21)
        assert (await world.post()).status == 200

    world = play(scene, down(DownKind.BLACK_HOLE))
    assert (world.served, world.counts.opened) == (2, 2)
