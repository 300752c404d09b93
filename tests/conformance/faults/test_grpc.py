"""On the gRPC port: codes, waits and what happens to the service; the rest is refused when it is added."""

from collections.abc import Callable, Iterator

import grpc
import pytest

from actionswire.gen.ping.v1 import ping_pb2, ping_pb2_grpc
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.gen.runner.v1 import runner_pb2_grpc
from eventually import eventually
from faultcase import FaultCase
from mockgitea.core.faults import KINDS

REQUEST = ping_pb2.PingRequest(data="x")


class Stubs:
    def __init__(self, channel: grpc.Channel) -> None:
        self.ping = ping_pb2_grpc.PingServiceStub(channel).Ping  # type: ignore[no-untyped-call]  # generated
        self.fetch = runner_pb2_grpc.RunnerServiceStub(channel).FetchTask  # type: ignore[no-untyped-call]  # generated


@pytest.fixture
def mock(case_of: Callable[..., FaultCase]) -> FaultCase:
    return case_of("gitea-1.27", "--grpc-port", "0")


@pytest.fixture
def stubs(mock: FaultCase) -> Iterator[Stubs]:
    with grpc.insecure_channel(mock.ready["grpc_address"]) as channel:
        yield Stubs(channel)


def code_of(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return caught.value.code().name, caught.value.details()  # type: ignore[attr-defined]  # a grpc.Call too


@pytest.mark.parametrize("stage", ["before", "after"])
def test_refuse_peer_sees_the_code(mock: FaultCase, stubs: Stubs, stage: str) -> None:
    mock.fault("refuse", code="resource_exhausted", message="enough", stage=stage, transport="grpc")
    assert code_of(lambda: stubs.ping(REQUEST)) == ("RESOURCE_EXHAUSTED", "enough")
    entry = mock.last("Ping")
    assert (entry["transport"], entry["outcome"], entry["fault"]) == ("grpc", "refused", "f")
    assert mock.answered_ping().status == 200, "the rule is about gRPC only"


@pytest.mark.parametrize("stage", ["before", "after"])
def test_delay_and_hold_wait(mock: FaultCase, stubs: Stubs, stage: str) -> None:
    for kind, fields in (("delay", {"delay_s": 3000}), ("hold", {})):
        mock.fault(kind, stage=stage, **fields)
        waiting = stubs.ping.future(REQUEST)
        eventually(lambda: [one for one in mock.entries("Ping") if one["fault"] == "f" and one["outcome"] == "open"])
        assert not waiting.done()
        mock.heal()
        assert waiting.result(20).data == "Hello, x!"


@pytest.mark.parametrize("stage", ["before", "after"])
def test_hang_ends_when_the_caller_gives_up(mock: FaultCase, stubs: Stubs, stage: str) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("hang", method="FetchTask", stage=stage)
    metadata = tuple(runner.headers)
    assert code_of(lambda: stubs.fetch(pb.FetchTaskRequest(), metadata=metadata, timeout=0.5))[0] == "DEADLINE_EXCEEDED"
    mock.last("FetchTask", "abandoned")
    eventually(lambda: mock.job(run_id, "a")["status"], lambda status: status == "waiting")


def test_mishaps_of_the_service_reach_grpc(mock: FaultCase, stubs: Stubs) -> None:
    runner, run_id = mock.waiting_runner()
    metadata = tuple(runner.headers)
    for kind, expected in (
        ("expired-token", "unregistered runner"),
        ("database-busy", "pick task: database is locked"),
    ):
        mock.fault(kind, times=1)
        assert code_of(lambda: stubs.fetch(pb.FetchTaskRequest(), metadata=metadata))[1].endswith(expected)
        mock.heal()
    for kind in ("lost-wakeup", "lost-claim"):
        mock.fault(kind, times=1)
        assert not stubs.fetch(pb.FetchTaskRequest(), metadata=metadata).HasField("task")
        mock.heal()
    assert mock.job(run_id, "a")["status"] == "waiting"
    mock.fault("runner-deleted", times=1)
    assert code_of(lambda: stubs.fetch(pb.FetchTaskRequest(), metadata=metadata))[1].endswith("unregistered runner")
    assert mock.control("GET", "/runners")["runners"] == []


@pytest.mark.parametrize("kind", ["planned", "refused"])
def test_downtime_is_unavailable(mock: FaultCase, stubs: Stubs, kind: str) -> None:
    mock.downtime(kind)
    assert code_of(lambda: stubs.ping(REQUEST)) == ("UNAVAILABLE", "the server is down")
    mock.heal()
    assert stubs.ping(REQUEST).data == "Hello, x!"


def test_a_black_hole_hangs(mock: FaultCase, stubs: Stubs) -> None:
    mock.downtime("black-hole")
    assert code_of(lambda: stubs.ping(REQUEST, timeout=0.3))[0] == "DEADLINE_EXCEEDED"
    assert mock.last("Ping", "abandoned")["fault"] == "d"


def test_a_black_hole_loses_answers_in_progress(mock: FaultCase, stubs: Stubs) -> None:
    mock.fault("hold", stage="after")
    waiting = stubs.ping.future(REQUEST)
    eventually(lambda: [one for one in mock.entries("Ping") if one["fault"] == "f"])
    mock.downtime("black-hole")
    mock.control("POST", "/faults/f/release")
    eventually(lambda: mock.entries("Ping")[-1]["fault"] == "f, d")
    assert not waiting.done()
    mock.heal()
    assert code_of(lambda: waiting.result(20)) == ("UNAVAILABLE", "the server is down")
    mock.last("Ping", "dropped")


@pytest.mark.parametrize("kind", [kind for kind, facts in KINDS.items() if not facts.on_grpc])
def test_a_kind_that_cannot_act_there_is_refused_with_the_reason(mock: FaultCase, kind: str) -> None:
    extra = {"wrong-ack": {"rows": 1}, "clock-skew": {"skew_s": 1}}.get(kind, {})
    reply = mock.control_reply("POST", "/faults", {"name": "f", "kind": kind, "transport": "grpc", **extra})
    error = reply.json()["error"]
    assert (reply.status, error["field"]) == (400, "transport")
    assert "because" in error["message"]


def test_a_rule_for_grpc_is_refused_where_there_is_no_such_port(case_of: Callable[..., FaultCase]) -> None:
    reply = case_of("gitea-1.27").control_reply("POST", "/faults", {"name": "f", "kind": "hold", "transport": "grpc"})
    assert (reply.status, reply.json()["error"]["field"]) == (400, "transport")
