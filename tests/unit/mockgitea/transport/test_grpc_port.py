import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import pytest

from actionswire.gen.ping.v1 import ping_pb2, ping_pb2_grpc
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.gen.runner.v1 import runner_pb2_grpc
from asyncwait import until
from fakeservices import TOKEN, UUID, FakeServices, assignment
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.counters import Counters
from mockgitea.core.faults import Fault, FaultKind
from mockgitea.core.journal import Journal
from mockgitea.core.messages import Fetched
from mockgitea.core.profiles import PROFILES
from mockgitea.settings import SettingError
from mockgitea.supervise import Supervisor
from mockgitea.transport.admission import Admission
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.grpc_port import GrpcPort
from mockgitea.transport.methods import RunnerMethods

AUTH = (("x-runner-uuid", UUID), ("x-runner-token", TOKEN))


class Port:
    """A gRPC port over fake services."""

    def __init__(self, profile: str) -> None:
        self.failures: list[BaseException] = []
        self.services = FakeServices(profile=PROFILES[profile])
        self.faults = FaultGate(self.services.clock)
        self.journal = Journal(entries_max=10, bytes_max=1000)
        self.counters = Counters()
        self.supervisor = Supervisor(on_failure=self.failures.append)
        loop = asyncio.get_running_loop()
        admission = Admission(
            rpc=self._unused, web=self._unused, journal=self.journal, counters=self.counters, faults=self.faults,
            clock=self.services.clock, now_s=loop.time,
        )  # fmt: skip
        self.port = GrpcPort(
            methods=RunnerMethods(self.services),  # type: ignore[arg-type]  # stands for Services
            admission=admission, faults=self.faults, dialect=self.services.profile.dialect,
            supervisor=self.supervisor, now_s=loop.time, body_bytes_max=10_000,
        )  # fmt: skip

    async def _unused(self, *_: Any) -> None:
        raise AssertionError("this is no HTTP")


@asynccontextmanager
async def running(profile: str = "gitea-1.27") -> AsyncIterator[tuple[Port, Any, Any]]:
    port = Port(profile)
    await port.port.start("127.0.0.1", 0)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port.port.port}") as channel:
        yield port, ping_pb2_grpc.PingServiceStub(channel), runner_pb2_grpc.RunnerServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
    await port.port.close(grace_s=0)
    await port.port.close(grace_s=0)
    await port.supervisor.close()
    assert not port.failures, "a refused call must not look like a failed background task"


def test_ping_and_fetch_pass_the_same_journal_and_counters() -> None:
    async def scenario() -> None:
        async with running() as (port, ping, runner):
            assert (await ping.Ping(ping_pb2.PingRequest(data="r1"))).data == "Hello, r1!"
            answer = await runner.FetchTask(pb.FetchTaskRequest(tasks_version=5), metadata=AUTH)
            assert answer.tasks_version == 5
            await until(lambda: not port.journal.in_progress)  # gRPC answers before it is done with the call
            assert port.counters.snapshot()["calls"] == {"FetchTask": {"empty": 1}, "Ping": {"ok": 1}}
            entry = port.journal.entries()[-1]
            assert (entry.transport, entry.method, entry.runner_uuid) == ("grpc", Method.FETCH_TASK, UUID)
            assert entry.request == bytes.fromhex("0805")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("profile", "status", "text"),
    [
        ("gitea-1.27", "UNKNOWN", "rpc error: code = Unauthenticated desc = unregistered runner"),
        ("gitea-next", "UNAUTHENTICATED", "unregistered runner"),
        ("forgejo-15", "UNAUTHENTICATED", "unregistered runner"),
    ],
)
def test_refusals_keep_the_dialect(profile: str, status: str, text: str) -> None:
    async def scenario() -> None:
        async with running(profile) as (port, _, runner):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await runner.FetchTask(pb.FetchTaskRequest())
            assert (caught.value.code().name, caught.value.details()) == (status, text)
            await until(lambda: not port.journal.in_progress)  # gRPC answers before it is done with the call
            assert port.journal.entries()[-1].outcome is Outcome.UNAUTHENTICATED

    asyncio.run(scenario())


def test_methods_that_the_profile_lacks_are_unimplemented() -> None:
    async def scenario() -> None:
        async with running("gitea-1.20") as (_, _, runner):
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await runner.Declare(pb.DeclareRequest(), metadata=AUTH)
            assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED

    asyncio.run(scenario())


def test_declare_sends_its_capabilities_as_initial_metadata() -> None:
    async def scenario() -> None:
        async with running() as (_, _, runner):
            call = runner.Declare(pb.DeclareRequest(), metadata=AUTH)
            assert dict(await call.initial_metadata())["x-gitea-actions-capabilities"] == "job-summary"
            assert (await call).runner.uuid == UUID

    asyncio.run(scenario())


def test_faults_act_and_count_as_refused() -> None:
    async def scenario() -> None:
        async with running() as (port, ping, _):
            port.faults.add(Fault(name="down", kind=FaultKind.REFUSE, method="Ping"))
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await ping.Ping(ping_pb2.PingRequest())
            assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
            await until(lambda: not port.journal.in_progress)  # gRPC answers before it is done with the call
            assert port.counters.snapshot()["calls"] == {"Ping": {"refused": 1}}

    asyncio.run(scenario())


def test_a_claim_whose_caller_left_is_released_when_the_work_is_done() -> None:
    async def scenario() -> None:
        async with running() as (port, _, runner):
            entered, go_on, released = asyncio.Event(), asyncio.Event(), asyncio.Event()

            async def slow(*_: Any, **__: Any) -> Fetched:
                entered.set()
                await go_on.wait()
                return Fetched(2, (assignment(4),))

            async def release(task_ids: Any) -> None:
                assert task_ids == [4]
                released.set()

            port.services.fetch = slow  # type: ignore[method-assign]  # a slow database
            port.services.release = release  # type: ignore[method-assign]
            call = runner.FetchTask(pb.FetchTaskRequest(), metadata=AUTH)
            await entered.wait()
            call.cancel()
            await until(lambda: not port.journal.in_progress)
            assert port.journal.entries()[-1].outcome is Outcome.ABANDONED
            go_on.set()
            await asyncio.wait_for(released.wait(), 5)

    asyncio.run(scenario())


def test_our_own_bug_is_internal_without_text() -> None:
    async def scenario() -> None:
        async with running() as (port, _, runner):
            port.services.answer = KeyError("secret")
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await runner.FetchTask(pb.FetchTaskRequest(), metadata=AUTH)
            assert caught.value.code() is grpc.StatusCode.INTERNAL
            assert "secret" not in str(caught.value.details())

    asyncio.run(scenario())


def test_a_taken_port_names_the_setting() -> None:
    async def scenario() -> None:
        port = Port("gitea-1.27")
        with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(SettingError, match=r"^grpc_port:"):
            await port.port.start("127.0.0.1", taken.getsockname()[1])

    asyncio.run(scenario())
