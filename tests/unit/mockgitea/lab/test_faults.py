"""Faults in virtual time: the same rules, through the model's connection."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from actionsrunner.embedding import DeadlinePassed, TransportError
from actionswire.gen.ping.v1 import ping_pb2
from mockgitea.core.calls import Outcome
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import Fault, FaultKind, Stage, Transport
from mockgitea.core.journal import Entry
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.network import ConnectionEnded, ConnectionReset, LinkPolicy, Network, Pool, PoolPolicy
from mockgitea.lab.server import LabServer
from mockgitea.lab.transport import AsgiTransport, call
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
        with pytest.raises((ConnectionReset, ConnectionEnded)):
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


class Fleet:
    """One caller behind the network model, and the server."""

    def __init__(self, server: LabServer, round_trip_us: int = 0) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        self.clock = RunnerClock(loop)
        self.network = Network(self.clock, LinkPolicy(round_trip_us=round_trip_us), server.port)
        self.transport = AsgiTransport(server.app, self.network, Pool(self.network, self.clock, PoolPolicy()))

    async def seen(self, deadline_s: float = 5.0) -> str:
        """Return what the caller sees of one call."""
        try:
            return str((await self.transport.send("POST", PING, HEADERS, BODY, deadline_s)).status)
        except DeadlinePassed:
            return "silence"
        except TransportError as error:
            return str(error).removeprefix("connection ").split(maxsplit=1)[0]

    async def at(self, seconds: float) -> None:
        await self.clock.sleep_until(round(seconds * 1e6))


@pytest.mark.parametrize(
    ("kind", "inside", "entries"), [("planned", "503", 1), ("refused", "refused", 0), ("black-hole", "silence", 1)]
)
def test_a_window_looks_to_a_fleet_as_over_sockets(kind: str, inside: str, entries: int) -> None:
    async def body(server: LabServer, closed: list[Entry]) -> None:
        fleet = Fleet(server)
        server.faults.add_downtime(Downtime(name="d", kind=DownKind(kind), start_s=10.0, duration_s=10.0))
        seen = []
        for second in (9, 10, 19, 20, 21):
            await fleet.at(second)
            seen.append(await fleet.seen(deadline_s=0.5))
        assert seen[0] == "200"
        assert seen[1] in (inside, "reset"), "the window begins with its first microsecond"
        assert seen[2:] == [inside, "200", "200"], "and ends with its last"
        assert sum(entry.fault == "d" for entry in closed) >= entries, "the journal names the window"

    simulated(body)


@pytest.mark.parametrize("kind", ["planned", "refused", "black-hole"])
def test_a_window_that_cuts_resets_a_call_in_progress(kind: str) -> None:
    async def body(server: LabServer, closed: list[Entry]) -> None:
        fleet = Fleet(server)
        server.faults.add(Fault(name="slow", kind=FaultKind.DELAY, delay_s=4.0, times=1))
        server.faults.add_downtime(
            Downtime(name="d", kind=DownKind(kind), start_s=2.0, duration_s=1.0, every_s=10.0, cuts=True)
        )
        assert await fleet.seen() == "reset"
        assert fleet.clock.now_us() == 2_000_000
        assert closed[-1].outcome is Outcome.ABANDONED
        assert fleet.network.counts.reset == 1

    simulated(body)


def test_windows_repeat_with_jitter() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        fleet = Fleet(server)
        rule = Downtime(name="d", kind=DownKind.REFUSED, duration_s=5.0, every_s=20.0, jitter_s=10.0, rounds=3)
        server.faults.add_downtime(rule)
        seen = []
        for second in range(80):
            await fleet.at(second + 0.5)
            seen.append(await fleet.seen())
        begins = [place for place in range(1, 80) if "refused" in seen[place] and seen[place - 1] == "200"]
        assert seen.count("refused") == 15
        assert len(begins) == 3
        assert begins != [0, 20, 40], "a start is late by the draw"

    simulated(body)


@pytest.mark.parametrize(
    ("kind", "fields", "seen"),
    [
        ("refuse", {"status": 502}, "502"),
        ("hang", {}, "silence"),
        ("delay", {"delay_s": 7.0}, "silence"),
        ("close", {}, "closed"),
        ("reset", {"stage": "after"}, "reset"),
        ("slow-body", {"gap_s": 10.0}, "silence"),
        ("bandwidth", {"bytes_per_s": 100}, "200"),
        ("partial-body", {}, "closed"),
        ("lose-answer", {"how": "reset"}, "reset"),
        ("answer-twice", {}, "200"),
        ("clock-skew", {"skew_s": 60.0}, "200"),
        ("database-busy", {"busy_s": 1.0}, "500"),
        ("restart", {}, "200"),
        ("restart", {"mode": "kill", "down_s": 1.0}, "reset"),
    ],
)
def test_a_rule_looks_to_a_fleet_as_over_sockets(kind: str, fields: dict[str, object], seen: str) -> None:
    async def body(server: LabServer, closed: list[Entry]) -> None:
        fleet = Fleet(server)
        assert await fleet.seen() == "200"
        server.faults.add(Fault(name="f", kind=FaultKind(kind), times=1, **fields))  # type: ignore[arg-type]
        assert await fleet.seen() == seen
        await fleet.at(30)
        assert await fleet.seen() == "200"
        assert "f" in {entry.fault for entry in closed}
        ends_connection = seen in ("reset", "closed")
        assert fleet.network.counts.reset == (1 if ends_connection or kind == "restart" else 0)

    simulated(body)


def test_an_unsolicited_answer_costs_its_connection() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        fleet = Fleet(server)
        server.faults.add(Fault(name="f", kind=FaultKind.ANSWER_TWICE, times=1))
        for _call in range(3):
            assert await fleet.seen() == "200"
        assert (fleet.network.counts.opened, fleet.network.counts.reused) == (2, 1)

    simulated(body)


def test_a_restart_refuses_connections_until_it_is_over() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        fleet = Fleet(server)
        server.faults.add(Fault(name="f", kind=FaultKind.RESTART, mode="kill", down_s=30.0, times=1))
        seen = [await fleet.seen()]
        for second in (1, 29, 31):
            await fleet.at(second)
            seen.append(await fleet.seen())
        assert seen == ["reset", "refused", "refused", "200"]

    simulated(body)


def test_one_reset_ends_a_restart_and_every_window() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        fleet = Fleet(server)
        server.faults.add(Fault(name="f", kind=FaultKind.RESTART, mode="kill", down_s=300.0, times=1))
        server.faults.add_downtime(Downtime(name="d", kind=DownKind.REFUSED, start_s=1.0, duration_s=300.0))
        assert await fleet.seen() == "reset"
        await fleet.at(2)
        assert await fleet.seen() == "refused"
        server.faults.reset()
        assert await fleet.seen() == "200"
        assert fleet.clock.now_us() == 2_000_000

    simulated(body)


def test_only_a_server_in_process_has_no_grpc_port() -> None:
    async def body(server: LabServer, _: list[Entry]) -> None:
        with pytest.raises(InvalidInput, match="no gRPC port"):
            server.faults.add(Fault(name="f", kind=FaultKind.HANG, transport=Transport.GRPC))

    simulated(body)
