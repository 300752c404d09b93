"""RPC calls made of noise: whatever arrives, the answer is an answer of the protocol and the server is unharmed."""

import gzip
import json
from typing import Any

import pytest
from google.protobuf.message import Message
from hypothesis import given
from hypothesis import strategies as st

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from fuzzserver import FuzzServer, fuzz_server
from rawhttp import Reply
from serverproc import BASE, PING_SERVICE, PROTO, RUNNER_SERVICE, Identity

SERVICES = {
    "Ping": (PING_SERVICE, ping_pb2.PingRequest),
    "Register": (RUNNER_SERVICE, pb.RegisterRequest),
    "Declare": (RUNNER_SERVICE, pb.DeclareRequest),
    "FetchTask": (RUNNER_SERVICE, pb.FetchTaskRequest),
    "UpdateTask": (RUNNER_SERVICE, pb.UpdateTaskRequest),
    "UpdateLog": (RUNNER_SERVICE, pb.UpdateLogRequest),
}
METHODS = st.sampled_from(sorted(SERVICES))
HEADER_TEXT = st.text(st.characters(codec="latin-1", exclude_categories=["Cc"]), max_size=60)
NAMES = st.sampled_from(
    [
        "content-type", "content-encoding", "accept-encoding", "connect-protocol-version", "connect-timeout-ms",
        "x-runner-uuid", "x-runner-token", "x-runner-request-key", "accept", "user-agent", "cookie", "origin",
    ]
)  # fmt: skip
KNOWN_VALUES = st.sampled_from(
    [
        "application/proto",
        "application/json",
        "gzip",
        "identity",
        "gzip;q=0",
        "*",
        "1",
        "0",
        "-1",
        "9999999999",
        "9" * 40,
    ]
)
HEADERS = st.lists(st.tuples(NAMES, KNOWN_VALUES | HEADER_TEXT), max_size=6)
INT64 = st.integers(-(2**63), 2**63 - 1) | st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63 - 1, -(2**63)])
INT32 = st.integers(-(2**31), 2**31 - 1)
TEXT = st.text(max_size=40) | st.sampled_from(
    ["", "\0", "\r\n", "x" * 5000, "'; --", "../../etc/passwd", "\ufeff", "😀"]
)
OUR_BUGS = ("internal error", "Traceback", "store:")
"""What an answer says when the mock itself failed. Refusals are 500 too: real servers answer most of theirs so."""


@st.composite
def stamps(draw: st.DrawFn) -> dict[str, int]:
    """A Timestamp far outside what anybody means."""
    return {"seconds": draw(INT64), "nanos": draw(INT32)}


STEPS = st.builds(
    pb.StepState,
    id=INT64, result=INT32, log_index=INT64, log_length=INT64, started_at=stamps(), stopped_at=stamps(),
)  # fmt: skip
STATES = st.builds(
    pb.TaskState,
    id=INT64 | st.just(1), result=INT32, started_at=stamps(), stopped_at=stamps(), steps=st.lists(STEPS, max_size=5),
)  # fmt: skip
ROWS = st.builds(lambda time, content: pb.LogRow(time=time, content=content), time=stamps(), content=TEXT)
LABELS = st.lists(TEXT, max_size=20)
MESSAGES: dict[str, st.SearchStrategy[Message]] = {
    "Ping": st.builds(lambda data: ping_pb2.PingRequest(data=data), data=TEXT),
    "Register": st.builds(
        pb.RegisterRequest,
        name=TEXT, token=TEXT, version=TEXT, labels=LABELS, agent_labels=LABELS,
        ephemeral=st.booleans(), capabilities=st.lists(TEXT, max_size=4),
    ),
    "Declare": st.builds(
        pb.DeclareRequest, version=TEXT, labels=LABELS
    ),
    "FetchTask": st.builds(
        lambda version, capacity: pb.FetchTaskRequest(tasks_version=version, task_capacity=capacity),
        version=INT64, capacity=st.none() | INT64,
    ),
    "UpdateTask": st.builds(
        lambda state, outputs: pb.UpdateTaskRequest(state=state, outputs=outputs),
        state=st.none() | STATES, outputs=st.dictionaries(TEXT, TEXT, max_size=5),
    ),
    "UpdateLog": st.builds(
        pb.UpdateLogRequest,
        task_id=INT64 | st.just(1), index=INT64 | st.integers(0, 3), rows=st.lists(ROWS, max_size=10),
        no_more=st.booleans(),
    ),
}  # fmt: skip


def post(server: FuzzServer, method: str, body: Any, headers: Any, caller: Identity | None) -> Reply:
    """One call on a connection of its own; a time-out fails the test."""
    credentials = caller.headers if caller else []
    return server.mock.http("POST", f"{BASE}/{SERVICES[method][0]}/{method}", [*headers, *credentials], body)


def check(reply: Reply) -> None:
    """Assert that this is an answer of the protocol, and not the one for a bug of ours."""
    if reply.status == 200:
        return
    assert reply.status in {400, 401, 404, 408, 409, 415, 429, 499, 500, 501, 503, 504}, reply
    text = reply.body.decode()
    if reply.header("content-type") == "application/json":
        error = json.loads(text)
        assert set(error) == {"code", "message"}, reply
        text = error["message"]
    assert not any(mark in text for mark in OUR_BUGS), reply


@given(method=METHODS, body=st.binary(max_size=400), headers=HEADERS, known=st.booleans())
def test_any_bytes_and_headers_are_answered(
    server: FuzzServer, method: str, body: bytes, headers: list[tuple[str, str]], known: bool
) -> None:
    check(post(server, method, body, headers, server.runner if known else None))


@given(data=st.data(), method=METHODS, encoding=st.sampled_from(["", "gzip"]), spoil=st.none() | st.integers(0, 200))
def test_any_message_is_answered(
    server: FuzzServer, data: st.DataObject, method: str, encoding: str, spoil: Any
) -> None:
    body = data.draw(MESSAGES[method]).SerializeToString()
    if encoding:
        body = gzip.compress(body)
    if spoil is not None:
        body = body[:spoil]
    headers = [PROTO, ("content-encoding", encoding)] if encoding else [PROTO]
    check(post(server, method, body, headers, server.runner))


JSON_NAMES = st.sampled_from(
    [
        "state", "id", "result", "steps", "rows", "time", "content", "taskId", "index", "noMore", "outputs", "labels",
        "tasksVersion", "startedAt", "data", "name", "token", "seconds", "nanos", "logIndex",
    ]
)  # fmt: skip
JSON_LEAVES = st.none() | st.booleans() | st.floats() | st.integers() | TEXT | st.sampled_from(["\ud800", "1970-01-01"])
JSON_VALUES = st.recursive(
    JSON_LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(TEXT | JSON_NAMES | st.just("\ud800"), inner, max_size=5)
    ),
    max_leaves=12,
)


@given(method=METHODS, value=JSON_VALUES)
def test_any_json_is_answered(server: FuzzServer, method: str, value: Any) -> None:
    check(post(server, method, json.dumps(value).encode(), [("content-type", "application/json")], server.runner))


@given(
    data=st.data(), method=METHODS,
    wrapped=st.sampled_from(["state", "rows", "outputs", "labels", "tasksVersion", "taskId", "data", "noMore"]),
)  # fmt: skip
def test_any_json_field_is_answered(server: FuzzServer, data: st.DataObject, method: str, wrapped: str) -> None:
    body = json.dumps({wrapped: data.draw(JSON_VALUES)}).encode()
    check(post(server, method, body, [("content-type", "application/json")], server.runner))


@given(rows=st.lists(ROWS, max_size=10), index=INT64 | st.integers(0, 5), state=STATES)
def test_absurd_values_for_a_real_task_are_answered(
    server: FuzzServer, rows: list[pb.LogRow], index: int, state: pb.TaskState
) -> None:
    task_id = server.task()
    state.id = task_id
    log = pb.UpdateLogRequest(task_id=task_id, index=index, rows=rows)
    check(post(server, "UpdateLog", log.SerializeToString(), [PROTO], server.worker))
    check(post(server, "UpdateTask", pb.UpdateTaskRequest(state=state).SerializeToString(), [PROTO], server.worker))
    run_id = server.mock.control("GET", "/runs", limit=1)["runs"][0]["id"]
    run = server.mock.run(run_id)
    link = f"/demo/demo/actions/runs/{run_id}/jobs/{run['jobs'][0]['id']}"
    cursors = {"logCursors": [{"step": step, "cursor": None, "expanded": True} for step in range(3)]}
    page = server.mock.web(link, cursors)
    assert page.status == 200, page
    shown = server.mock.http("GET", link)
    assert shown.status == 200, shown


@pytest.mark.parametrize("profile", ["gitea-1.20", "gitea-next", "forgejo-15"])
def test_every_dialect_survives_noise(profile: str) -> None:
    with fuzz_server(profile) as server:

        @given(method=METHODS, body=st.binary(max_size=200), headers=HEADERS)
        def shoot(method: str, body: bytes, headers: list[tuple[str, str]]) -> None:
            check(post(server, method, body, headers, server.runner))

        shoot()
        server.check()
