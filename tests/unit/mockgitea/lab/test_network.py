"""The model of connections: what is opened, reused and closed, and what a server that is down looks like."""

import asyncio
import gzip
import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from actionsrunner.embedding import DeadlinePassed, RawAnswer, TransportError
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.network import LinkCounts, LinkPolicy, Network, Pool, PoolPolicy
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
        self.fields: list[tuple[bytes, bytes]] = []
        self.transport = AsgiTransport(self.app, self.network, Pool(self.network, self.clock, pool))

    async def app(self, scope: Any, receive: Any, send: Any) -> None:
        self.served += 1
        event, path = await receive(), (b"x-path", scope["path"].encode())
        await send({"type": "http.response.start", "status": 200, "headers": [path, *self.fields]})
        await send({"type": "http.response.body", "body": event["body"]})

    async def post(self, deadline_s: float = 5.0) -> RawAnswer:
        return await self.transport.send("POST", "/x", {"content-type": "text/plain"}, b"hello", deadline_s)

    async def at(self, seconds: float) -> None:
        await self.clock.sleep_until(round(seconds * SECOND))

    def cut_at(self, seconds: float) -> None:
        self.clock.alarm(round(seconds * SECOND), self.network.port.cut)

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


@pytest.mark.parametrize("yields", [[0], [1], [3, 2, 1], [1, 2, 3], [0, 4, 1]])
def test_calls_that_begin_and_end_at_one_instant_share_a_connection(yields: list[int]) -> None:
    """How often the server lets others run first must not show in the figures."""

    async def scene(world: World) -> None:
        served, turns = world.app, itertools.cycle(yields)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            for _ in range(next(turns)):
                await asyncio.sleep(0)
            await served(scope, receive, send)

        world.transport = AsgiTransport(app, world.network, Pool(world.network, world.clock, PoolPolicy(idle_max=2)))
        for second in range(4):
            await world.at(second)
            await asyncio.gather(*(world.post() for _ in range(5)))

    counts = play(scene).counts
    assert counts == LinkCounts(opened=1, tls_handshakes=1, reused=19, attempts=20)


def test_a_caller_that_gives_up_while_a_call_gives_way_gives_up_the_call() -> None:
    ends: list[str] = []

    async def scene(world: World) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            try:
                for _ in range(5):
                    await asyncio.sleep(0)
            except asyncio.CancelledError:
                ends.append("cancelled")
                raise

        world.transport = AsgiTransport(app, world.network, Pool(world.network, world.clock, PoolPolicy()))
        async with asyncio.TaskGroup() as group:
            call = group.create_task(world.post())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            call.cancel()
        assert call.cancelled()

    play(scene)
    assert ends == ["cancelled"]


def test_calls_that_overlap_need_a_connection_each_and_two_are_kept() -> None:
    async def scene(world: World) -> None:
        for second in range(4):
            await world.at(second)
            await asyncio.gather(*(world.post() for _ in range(5)))

    counts = play(scene, LinkPolicy(round_trip_us=10_000), PoolPolicy(idle_max=2)).counts
    assert (counts.opened, counts.reused, counts.closed_surplus) == (5 + 3 * 3, 3 * 2, 4 * 3)


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


def test_a_paused_port_refuses_new_connections_and_keeps_open_ones() -> None:
    async def scene(world: World) -> None:
        await world.post()
        await world.network.port.pause()
        assert (await world.post()).status == 200
        await world.at(91)
        with pytest.raises(TransportError, match="refused"):
            await world.post()
        await world.network.port.resume()
        assert (await world.post()).status == 200

    counts = play(scene).counts
    assert (counts.opened, counts.reused, counts.refused, counts.reset) == (2, 1, 1, 0)


def test_a_cut_port_has_closed_idle_connections() -> None:
    async def scene(world: World) -> None:
        await world.post()
        assert world.network.port.cut() == 0
        await world.post()

    counts = play(scene).counts
    assert (counts.opened, counts.reset) == (2, 1)


def test_a_cut_port_resets_a_call_in_flight_even_though_the_server_has_served_it() -> None:
    async def scene(world: World) -> None:
        await world.post()
        world.cut_at(2.2)
        with pytest.raises(TransportError, match="reset"):
            await world.post()
        assert world.clock.now_us() == 2_200_000

    world = play(scene, LinkPolicy(round_trip_us=600_000))
    assert (world.served, world.counts.reset) == (2, 1)


def test_a_drained_port_lets_a_call_in_flight_end_and_then_its_connection_is_gone() -> None:
    async def scene(world: World) -> None:
        await world.post()
        first = asyncio.ensure_future(world.post())
        await world.at(2)
        await world.network.port.drain()
        assert (await first).status == 200
        await world.post()

    counts = play(scene, LinkPolicy(round_trip_us=600_000)).counts
    assert (counts.opened, counts.reused, counts.reset) == (2, 1, 1)


def test_a_drained_port_resets_a_call_that_takes_too_long() -> None:
    async def scene(world: World) -> None:
        slow = asyncio.ensure_future(world.post(deadline_s=100.0))
        await world.at(1)
        await world.network.port.drain()
        with pytest.raises(TransportError, match="reset"):
            await slow
        assert world.clock.now_us() == 6 * SECOND

    play(scene, LinkPolicy(round_trip_us=20 * SECOND))


def test_a_call_that_nobody_cuts_ends_with_the_callers_own_deadline() -> None:
    async def scene(world: World) -> None:
        with pytest.raises(DeadlinePassed):
            await world.post(deadline_s=4.0)
        assert world.clock.now_us() == 4 * SECOND

    assert play(scene, LinkPolicy(round_trip_us=20 * SECOND)).served == 0


def test_a_compressed_answer_that_is_cut_off_is_a_failure_of_the_transport() -> None:
    async def scene(world: World) -> None:
        world.fields.append((b"content-encoding", b"gzip"))
        with pytest.raises(TransportError, match="gzip"):
            await world.transport.send("POST", "/x", {}, gzip.compress(b"hello" * 99)[:9], 5.0)

    play(scene)
