"""Faults in virtual time: the same rules, through the model's connection."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from actionswire.gen.ping.v1 import ping_pb2
from mockgitea.core.calls import Outcome
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.core.journal import Entry
from mockgitea.lab.network import ConnectionReset
from mockgitea.lab.server import LabServer
from mockgitea.lab.transport import call
from mockgitea.lab.virtual_loop import VirtualLoop

PING = "/api/actions/ping.v1.PingService/Ping"
HEADERS = {"content-type": "application/proto"}
BODY = ping_pb2.PingRequest(data="x").SerializeToString()


def simulated(body: Callable[[LabServer, list[Entry]], Awaitable[None]]) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        closed: list[Entry] = []
        server = LabServer(loop, profile="gitea-1.27", seed=1, on_close=closed.append)
        await server.start()
        await body(server, closed)
        await server.close()

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main())


def test_a_delay_takes_virtual_time() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        loop = asyncio.get_running_loop()
        server.faults.add(Fault(name="f", kind=FaultKind.DELAY, delay_s=1800.0))
        began = loop.time()
        assert (await call(server.app, PING, HEADERS, BODY)).status == 200
        assert loop.time() - began == 1800.0

    simulated(body)


@pytest.mark.parametrize("kind", [FaultKind.CLOSE, FaultKind.RESET, FaultKind.LOSE_ANSWER, FaultKind.PARTIAL_BODY])
def test_faults_of_the_connection_end_the_call(kind: FaultKind) -> None:
    async def body(server: LabServer, closed: list[Entry]) -> None:
        server.faults.add(Fault(name="f", kind=kind))
        with pytest.raises(ConnectionReset):
            await call(server.app, PING, HEADERS, BODY)
        assert closed[-1].outcome is Outcome.DROPPED

    simulated(body)


def test_answers_are_changed_as_over_a_socket() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        server.faults.add(Fault(name="f", kind=FaultKind.TRUNCATE, kept_bytes=3))
        assert len((await call(server.app, PING, HEADERS, BODY)).body) == 3

    simulated(body)


def test_windows_open_and_close_in_virtual_time() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        server.faults.add_downtime(Downtime(name="p", kind=DownKind.PLANNED, duration_s=10.0, start_s=5.0))
        server.faults.add_downtime(Downtime(name="b", kind=DownKind.BLACK_HOLE, duration_s=10.0, start_s=20.0))
        seen = []
        for _second in range(20):
            seen.append((await call(server.app, PING, HEADERS, BODY)).status)
            await server.services.clock.sleep(1)
        assert seen == [200] * 5 + [503] * 10 + [200] * 5
        with pytest.raises(ConnectionReset):
            await call(server.app, PING, HEADERS, BODY)
        assert asyncio.get_running_loop().time() == pytest.approx(30.0)

    simulated(body)


@pytest.mark.parametrize("stage", [*Stage])
def test_a_caller_that_gives_up_ends_its_wait(stage: Stage) -> None:
    async def body(server: LabServer, closed: list[Entry]) -> None:
        server.faults.add(Fault(name="f", kind=FaultKind.HANG, stage=stage))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await call(server.app, PING, HEADERS, BODY)
        assert closed[-1].outcome is Outcome.ABANDONED

    simulated(body)
