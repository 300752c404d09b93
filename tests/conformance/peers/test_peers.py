"""Libraries that others wrote drive a real server process: the proof that the thin handler speaks Connect and gRPC."""

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from peers import Answer, ConnectRpcPeer, GrpcPeer, LinePeer, Peer, go_peer, node_peer
from serverproc import Mock, ServerProcess

REGISTRATION_TOKEN = "peer-registration-token-0123456789"
WORKFLOW = "on: push\njobs:\n  j:\n    runs-on: linux\n    steps:\n      - run: echo " + "x" * 3000 + "\n"
PROFILES = ("gitea-1.27", "forgejo-15")
PEERS = (
    *(f"{name}-{form}-{compression}" for name in ("connectrpc", "node", "go") for form in ("proto", "json")
      for compression in ("identity", "gzip")),
    "grpc",
)  # fmt: skip


@pytest.fixture(scope="module", params=PROFILES)
def mock(request: pytest.FixtureRequest) -> Iterator[Mock]:
    arguments = ["--port", "0", "--control-port", "0", "--grpc-port", "0", "--profile", request.param]
    server = ServerProcess(*arguments, "--registration-token", REGISTRATION_TOKEN, "--clock", "offset")
    yield Mock(server, request.param)
    server.stop()


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest, mock: Mock) -> Iterator[Peer]:
    mock.control("POST", "/reset")
    name, _, options = str(request.param).partition("-")
    how = {"is_json": "json" in options, "is_gzip": "gzip" in options}
    url = mock.ready["runner_url"]
    made: Peer
    if name == "grpc":
        made = GrpcPeer(mock.ready["grpc_address"])
    elif name == "connectrpc":
        made = ConnectRpcPeer(url, **how)
    else:
        command, reason = node_peer() if name == "node" else go_peer()
        if reason:
            pytest.skip(reason)
        made = LinePeer(command, url, **how)
    yield made
    made.close()


def good(answer: Answer) -> dict[str, Any]:
    assert answer.message is not None, answer
    return answer.message


def register(peer: Peer) -> dict[str, str]:
    request = {"name": "r1", "token": REGISTRATION_TOKEN, "version": "v1", "labels": ["linux"]}
    runner = good(peer.call("Register", request))["runner"]
    return {"x-runner-uuid": runner["uuid"], "x-runner-token": runner["token"]}


def test_ping_says_hello(peer: Peer) -> None:
    assert good(peer.call("Ping", {"data": "r1"})) == {"data": "Hello, r1!"}


def test_one_job_from_registration_to_its_end(peer: Peer, mock: Mock) -> None:
    runner = register(peer)
    declared = peer.call("Declare", {"version": "v2", "labels": ["linux"]}, runner)
    assert good(declared)["runner"]["version"] == "v2"
    header = "job-summary" if mock.profile == "gitea-1.27" else None
    assert declared.headers.get("x-gitea-actions-capabilities") == header
    run = mock.enqueue(WORKFLOW)
    fetched = good(peer.call("FetchTask", {}, runner, timeout_ms=5000))
    task = fetched["task"]
    assert b"x" * 3000 in base64.b64decode(task["workflowPayload"])
    assert task["context"]["event_name"] == "push"
    rows = [{"time": "2023-11-14T22:13:20.500Z", "content": f"row {number} é"} for number in range(3)]
    log = {"taskId": task["id"], "index": "0", "rows": rows, "noMore": True}
    assert good(peer.call("UpdateLog", log, runner)) == {"ackIndex": "3"}
    state = {"id": task["id"], "result": "RESULT_SUCCESS", "stoppedAt": "2023-11-14T22:13:21Z"}
    ended = good(peer.call("UpdateTask", {"state": state, "outputs": {"k": "v"}}, runner))
    assert ended == {"state": {"id": task["id"], "result": "RESULT_SUCCESS"}, "sentOutputs": ["k"]}
    again = good(peer.call("FetchTask", {"tasksVersion": fetched["tasksVersion"]}, runner))
    assert "task" not in again
    assert mock.run(run["run_id"])["status"] == "success"
    assert "row 2 é" in mock.log(int(task["id"]))


def test_an_unregistered_runner_is_refused_in_the_dialect(peer: Peer, mock: Mock) -> None:
    answer = peer.call("FetchTask", {})
    if mock.profile == "gitea-1.27":
        assert (answer.code, answer.text) == (
            "unknown", "rpc error: code = Unauthenticated desc = unregistered runner",
        )  # fmt: skip
    else:
        assert (answer.code, answer.text) == ("unauthenticated", "unregistered runner")


def test_a_method_that_the_profile_lacks_is_unimplemented(peer: Peer, mock: Mock) -> None:
    answer = peer.call("FetchSingleTask", {}, register(peer))
    assert (answer.code == "unimplemented") == (mock.profile == "gitea-1.27")


def test_a_missing_state_is_unknown(peer: Peer) -> None:
    assert peer.call("UpdateTask", {}, register(peer)).code == "unknown"


def test_a_held_call_ends_at_the_callers_deadline(peer: Peer, mock: Mock) -> None:
    mock.control("POST", "/faults", {"name": "hold", "kind": "hold", "method": "Ping"})
    assert peer.call("Ping", {"data": "r1"}, timeout_ms=300).code == "deadline_exceeded"
    mock.control("DELETE", "/faults/hold")
    assert good(peer.call("Ping", {"data": "r1"})) == {"data": "Hello, r1!"}


def test_a_fault_code_reaches_the_caller(peer: Peer, mock: Mock) -> None:
    mock.control("POST", "/faults", {"name": "down", "kind": "refuse", "code": "unavailable", "times": 1})
    assert peer.call("Ping", {}).code == "unavailable"
    assert good(peer.call("Ping", {})) == {"data": "Hello, !"}
    assert mock.control("GET", "/counters")["calls"]["Ping"] == {"ok": 1, "refused": 1}
