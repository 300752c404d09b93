import asyncio
import gzip
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from asgicall import Response, call, http_scope
from fakeservices import TOKEN, UUID, FakeServices, assignment
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.errors import BadRegistration, LimitExceeded, ServerFault
from mockgitea.core.journal import Entry
from mockgitea.core.messages import Fetched
from mockgitea.core.profiles import PROFILES
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.methods import RunnerMethods
from mockgitea.transport.rpc import RunnerRpc

PING = "/api/actions/ping.v1.PingService/Ping"
RUNNER = "/api/actions/runner.v1.RunnerService/"
PROTO = {"Content-Type": "application/proto"}
JSON = {"Content-Type": "application/json"}
AUTH = {"x-runner-uuid": UUID, "x-runner-token": TOKEN}


class Wire:
    """The handler over fake services, with the entry of the last call."""

    def __init__(self, profile: str = "gitea-1.27", **limits: Any) -> None:
        self.services = FakeServices(profile=PROFILES[profile])
        self.faults = FaultGate(self.services.clock)
        self.now_s = 100.0
        self.rpc = RunnerRpc(
            RunnerMethods(self.services),  # type: ignore[arg-type]  # stands for Services
            dialect=self.services.profile.dialect,
            faults=self.faults,
            now_s=lambda: self.now_s,
            **{"body_bytes_max": 100_000, "body_read_s": 5.0, **limits},
        )
        self.entry = Entry(1, 0, 100.0)

    def send(self, path: str, headers: dict[str, str], *pieces: bytes, verb: str = "POST", **how: bool) -> Response:
        self.entry = Entry(1, 0, self.now_s)

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await self.rpc(scope, receive, send, self.entry)

        return asyncio.run(call(app, http_scope(verb, path, headers), *pieces, **how))

    def fetch(self, headers: dict[str, str] | None = None, **fields: Any) -> Response:
        body = pb.FetchTaskRequest(**fields).SerializeToString()
        return self.send(f"{RUNNER}FetchTask", {**PROTO, **AUTH, **(headers or {})}, body)


def code_of(response: Response) -> str:
    assert response.headers["content-type"] == "application/json"
    return str(json.loads(response.body)["code"])


def test_ping_answers_the_byte_vector() -> None:
    response = Wire().send(PING, PROTO, bytes.fromhex("0a027231"))
    assert response.status == 200
    assert response.headers["content-type"] == "application/proto"
    assert response.headers["accept-encoding"] == "gzip"
    assert response.headers["content-length"] == "12"
    assert response.body == bytes.fromhex("0a0a48656c6c6f2c20723121")


def test_ping_is_compressed_whatever_its_size() -> None:
    response = Wire().send(PING, {**PROTO, "Accept-Encoding": "gzip"}, b"")
    assert response.headers["content-encoding"] == "gzip"
    assert ping_pb2.PingResponse.FromString(gzip.decompress(response.body)).data == "Hello, !"


def test_fetch_with_an_empty_body_is_version_zero() -> None:
    wire = Wire()
    response = wire.send(f"{RUNNER}FetchTask", {**PROTO, **AUTH, "Content-Length": "0"})
    assert (response.status, response.body) == (200, bytes.fromhex("1001"))
    assert ("fetch", {"tasks_version": 0, "capacity": None, "request_key": "", "mishap": None}) in wire.services.calls
    assert wire.entry.outcome is Outcome.EMPTY
    assert wire.entry.runner_uuid == UUID


def test_fetch_in_pieces_answers_the_same() -> None:
    body = pb.FetchTaskRequest(tasks_version=300).SerializeToString()
    response = Wire().send(f"{RUNNER}FetchTask", {**PROTO, **AUTH}, body[:1], body[1:2], b"", body[2:])
    assert pb.FetchTaskResponse.FromString(response.body).tasks_version == 300


def test_fetch_in_json_answers_json_of_the_same_type() -> None:
    headers = {**AUTH, "Content-Type": "application/json; charset=utf-8"}
    response = Wire().send(f"{RUNNER}FetchTask", headers, b'{"tasksVersion":"0"}')
    assert response.headers["content-type"] == "application/json; charset=utf-8"
    assert json.loads(response.body) == {"tasksVersion": "1"}


def test_a_compressed_request_is_read() -> None:
    body = gzip.compress(pb.FetchTaskRequest(tasks_version=9).SerializeToString())
    response = Wire().send(f"{RUNNER}FetchTask", {**PROTO, **AUTH, "Content-Encoding": "gzip"}, body)
    assert pb.FetchTaskResponse.FromString(response.body).tasks_version == 9


def test_an_empty_request_marked_gzip_is_the_default_message() -> None:
    assert Wire().fetch({"Content-Encoding": "gzip"}).status == 200


def test_a_large_answer_is_compressed_and_a_small_one_never() -> None:
    wire = Wire()
    assert "content-encoding" not in wire.fetch({"Accept-Encoding": "gzip"}).headers
    wire.services.answer = Fetched(2, (assignment(9, payload=b"x" * 5000),))
    response = wire.fetch({"Accept-Encoding": "gzip"})
    assert response.headers["content-encoding"] == "gzip"
    answer = pb.FetchTaskResponse.FromString(gzip.decompress(response.body))
    assert answer.task.id == 9
    assert pb.FetchTaskResponse.FromString(wire.entry.response) == answer


@pytest.mark.parametrize("headers", [{}, {"Content-Type": "text/plain"}, {"Content-Type": "application/grpc"}])
def test_another_content_type_is_415_with_accept_post_and_no_body(headers: dict[str, str]) -> None:
    wire = Wire()
    response = wire.send(f"{RUNNER}FetchTask", headers, b"x")
    assert (response.status, response.body) == (415, b"")
    assert "application/proto" in response.headers["accept-post"]
    assert "content-type" not in response.headers
    assert wire.entry.outcome is Outcome.INVALID_ARGUMENT


@pytest.mark.parametrize("path", [f"{RUNNER}Nope", "/api/actions/runner.v1.Nope/FetchTask", "/api/actions/"])
def test_an_unknown_method_is_404_in_plain_text(path: str) -> None:
    wire = Wire()
    response = wire.send(path, PROTO)
    assert response.status == 404
    assert response.headers["content-type"].startswith("text/plain")
    assert (wire.entry.method, wire.entry.outcome) == (Method.UNKNOWN_RPC, Outcome.UNIMPLEMENTED)


@pytest.mark.parametrize("verb", ["GET", "PUT", "OPTIONS", "HEAD"])
@pytest.mark.parametrize("path", [PING, f"{RUNNER}FetchTask", f"{RUNNER}Nope"])
def test_another_verb_below_a_known_service_is_405(verb: str, path: str) -> None:
    response = Wire().send(path, PROTO, verb=verb)
    assert (response.status, response.body) == (405, b"")
    assert response.headers["allow"] == "POST"


def test_another_verb_on_an_unknown_service_is_404() -> None:
    assert Wire().send("/api/actions/nope.v1.Nope/Nope", {}, verb="GET").status == 404


@pytest.mark.parametrize(
    ("profile", "method", "status"),
    [
        ("gitea-1.20", "Declare", 404), ("gitea-1.21", "Declare", 200),
        ("gitea-1.27", "FetchSingleTask", 404), ("forgejo-11", "FetchSingleTask", 404),
        ("forgejo-15", "FetchSingleTask", 200),
    ],
)  # fmt: skip
def test_methods_exist_as_the_profile_says(profile: str, method: str, status: int) -> None:
    assert Wire(profile).send(f"{RUNNER}{method}", {**PROTO, **AUTH}).status == status


@pytest.mark.parametrize(
    ("headers", "body", "code"),
    [
        ({"Connect-Protocol-Version": "2"}, b"", "invalid_argument"),
        ({"Connect-Timeout-Ms": "12345678901"}, b"", "invalid_argument"),
        ({"Content-Encoding": "br"}, b"", "unimplemented"),
        ({"Content-Encoding": "gzip"}, b"no gzip", "invalid_argument"),
        ({}, b"\xff\xff", "invalid_argument"),
        ({}, b"x" * 100_001, "resource_exhausted"),
        ({"Content-Length": "1000000"}, b"", "resource_exhausted"),
        ({"Content-Encoding": "gzip"}, gzip.compress(b"\0" * 200_000, mtime=0), "resource_exhausted"),
    ],
)
@pytest.mark.parametrize("auth", [{}, AUTH])
def test_protocol_errors_are_genuine_and_come_before_authentication(
    headers: dict[str, str], body: bytes, code: str, auth: dict[str, str]
) -> None:
    wire = Wire()
    response = wire.send(f"{RUNNER}FetchTask", {**PROTO, **auth, **headers}, body)
    assert code_of(response) == code
    assert wire.entry.outcome.value == wire.entry.code == code
    assert not wire.services.calls


def test_an_oversized_chunked_body_is_refused_before_its_end() -> None:
    response = Wire().send(f"{RUNNER}FetchTask", {**PROTO, **AUTH}, b"x" * 60_000, b"x" * 60_000, b"never read")
    assert code_of(response) == "resource_exhausted"


@pytest.mark.parametrize("method", ["Declare", "FetchTask", "UpdateTask", "UpdateLog"])
@pytest.mark.parametrize("auth", [{}, {**AUTH, "x-runner-token": "0" * 40}, {**AUTH, "x-runner-uuid": "nobody"}])
def test_every_way_of_being_unregistered_answers_the_same(method: str, auth: dict[str, str]) -> None:
    wire = Wire()
    response = wire.send(f"{RUNNER}{method}", {**PROTO, **auth})
    assert response.status == 500
    assert json.loads(response.body) == {
        "code": "unknown",
        "message": "rpc error: code = Unauthenticated desc = unregistered runner",
    }
    assert wire.entry.outcome is Outcome.UNAUTHENTICATED
    assert wire.entry.runner_uuid == ""


@pytest.mark.parametrize(("profile", "status"), [("gitea-1.27", 500), ("gitea-next", 401), ("forgejo-15", 401)])
def test_unregistered_travels_in_the_dialect(profile: str, status: int) -> None:
    assert Wire(profile).send(f"{RUNNER}FetchTask", PROTO).status == status


def test_seen_marks_reports_as_active_and_polls_not() -> None:
    wire = Wire()
    wire.fetch()
    wire.send(f"{RUNNER}UpdateLog", {**PROTO, **AUTH})
    assert [call for call in wire.services.calls if call[0] == "seen"] == [("seen", False), ("seen", True)]


def test_register_reads_every_field_and_shows_the_token_once() -> None:
    wire = Wire()
    wire.services.runner.is_ephemeral = True
    vector = "0a02723112015 41a056c696e75782a027631 32056c696e75783801420a63616e63656c6c696e67".replace(" ", "")
    response = wire.send(f"{RUNNER}Register", PROTO, bytes.fromhex(vector))
    runner = pb.RegisterResponse.FromString(response.body).runner
    assert (runner.id, runner.uuid, runner.token, runner.ephemeral) == (7, UUID, TOKEN, True)
    assert runner.status == 0
    registering = wire.services.calls[0][1]
    assert (registering.name, registering.token, registering.ephemeral) == ("r1", "T", True)
    assert registering.labels == registering.agent_labels == ("linux",)
    assert registering.capabilities == ("cancelling",)


@pytest.mark.parametrize(("profile", "echoed"), [("gitea-1.21", False), ("gitea-1.27", True), ("forgejo-15", True)])
def test_register_echoes_ephemeral_where_the_server_knows_it(profile: str, echoed: bool) -> None:
    wire = Wire(profile)
    wire.services.runner.is_ephemeral = True
    response = wire.send(f"{RUNNER}Register", PROTO)
    assert pb.RegisterResponse.FromString(response.body).runner.ephemeral is echoed


@pytest.mark.parametrize(
    ("profile", "header", "echoed"),
    [("gitea-1.25", None, False), ("gitea-1.27", "job-summary", False), ("forgejo-15", None, True)],
)
def test_declare_answers_header_and_ephemeral_of_the_profile(profile: str, header: str | None, echoed: bool) -> None:
    wire = Wire(profile)
    wire.services.runner.is_ephemeral = True
    response = wire.send(f"{RUNNER}Declare", {**PROTO, **AUTH})
    runner = pb.DeclareResponse.FromString(response.body).runner
    assert response.headers.get("X-Gitea-Actions-Capabilities") == header
    assert (runner.token, runner.ephemeral) == ("", echoed)


def test_plain_errors_of_register_travel_verbatim() -> None:
    wire = Wire()
    wire.services.answer = BadRegistration("runner registration token not found")
    response = wire.send(f"{RUNNER}Register", PROTO)
    assert json.loads(response.body) == {"code": "unknown", "message": "runner registration token not found"}


def test_capacity_and_request_key_reach_the_service_where_the_profile_has_them() -> None:
    newer, older = Wire("forgejo-15"), Wire("gitea-1.27")
    for wire in (newer, older):
        wire.fetch({"x-runner-request-key": "k"}, tasks_version=5, task_capacity=0)
    assert newer.services.calls[-1] == (
        "fetch",
        {"tasks_version": 5, "capacity": 0, "request_key": "k", "mishap": None},
    )
    assert older.services.calls[-1] == (
        "fetch",
        {"tasks_version": 5, "capacity": None, "request_key": "", "mishap": None},
    )


def test_several_tasks_fill_task_and_additional_tasks() -> None:
    wire = Wire("forgejo-15")
    wire.services.answer = Fetched(2, (assignment(1), assignment(2), assignment(3)))
    answer = pb.FetchTaskResponse.FromString(wire.fetch(task_capacity=3).body)
    assert [answer.task.id, *(task.id for task in answer.additional_tasks)] == [1, 2, 3]
    assert wire.entry.outcome is Outcome.TASK


def test_fetch_single_passes_an_absent_handle_as_none() -> None:
    wire = Wire("forgejo-15")
    wire.services.answer = Fetched(2, (assignment(1),))
    response = wire.send(f"{RUNNER}FetchSingleTask", {**PROTO, **AUTH})
    assert response.body.startswith(bytes.fromhex("080212"))
    wire.send(f"{RUNNER}FetchSingleTask", {**PROTO, **AUTH}, bytes.fromhex("120168"))
    asked = [value["handle"] for name, value in wire.services.calls if name == "fetch_single"]
    assert asked == [None, "h"]


@pytest.mark.parametrize(("profile", "released"), [("gitea-1.27", True), ("gitea-1.25", False)])
def test_a_claim_for_a_caller_who_left_is_released_where_the_profile_does(profile: str, released: bool) -> None:
    wire = Wire(profile)
    wire.services.answer = Fetched(2, (assignment(4),))
    response = wire.send(f"{RUNNER}FetchTask", {**PROTO, **AUTH}, hang_up=True)
    assert (("release", [4]) in wire.services.calls) is released
    assert (response.status, wire.entry.outcome) == (0, Outcome.OPEN), "nobody is there to be answered"


def test_a_claim_after_the_deadline_is_released_and_says_so() -> None:
    wire = Wire()
    wire.services.answer = Fetched(2, (assignment(4),))
    fetch = wire.services.fetch

    async def slow(*args: Any, **asked: Any) -> Fetched:
        wire.now_s += 1.0
        return await fetch(*args, **asked)

    wire.services.fetch = slow  # type: ignore[method-assign]  # a slow database
    response = wire.fetch({"Connect-Timeout-Ms": "500"})
    assert ("release", [4]) in wire.services.calls
    assert json.loads(response.body)["message"].endswith("pick task: context deadline exceeded")


def test_a_deadline_that_has_passed_before_the_work_is_deadline_exceeded() -> None:
    wire = Wire()
    response = wire.fetch({"Connect-Timeout-Ms": "0"})
    assert (response.status, code_of(response)) == (504, "deadline_exceeded")


def test_update_task_without_state_is_a_text_page_as_from_a_crash() -> None:
    wire = Wire()
    response = wire.send(f"{RUNNER}UpdateTask", {**PROTO, **AUTH})
    assert response.status == 500
    assert response.headers["content-type"].startswith("text/plain")
    assert b"state" in response.body
    assert wire.entry.outcome is Outcome.UNKNOWN


def test_update_task_reads_the_byte_vector() -> None:
    wire = Wire()
    vector = (
        "0a2808091001 1a0c0880e2cfaa061080cab5ee01 220c0880e2cfaa061080cab5ee01 2a06100128023003 12060a016b120176"
    ).replace(" ", "")
    response = wire.send(f"{RUNNER}UpdateTask", {**PROTO, **AUTH}, bytes.fromhex(vector))
    report, outputs = wire.services.calls[-1][1]
    assert (report.task_id, report.result, report.started_us) == (9, 1, 1_700_000_000_500_000)
    assert (report.steps[0].number, report.steps[0].log_index, report.steps[0].log_length) == (0, 2, 3)
    assert outputs == {"k": "v"}
    assert response.body == bytes.fromhex("0a02080912016b")


def test_update_log_reads_rows_in_nanoseconds() -> None:
    wire = Wire()
    vector = "080910041a120a0c0880e2cfaa061080cab5ee01120268692001"
    response = wire.send(f"{RUNNER}UpdateLog", {**PROTO, **AUTH}, bytes.fromhex(vector))
    assert wire.services.calls[-1][1] == {
        "task_id": 9, "index": 4, "rows": [(1_700_000_000_500_000_000, "hi")], "no_more": True,
    }  # fmt: skip
    assert response.body == bytes.fromhex("0805")


@pytest.mark.parametrize(
    ("method", "message", "field"),
    [
        ("UpdateTask", {"state": {"id": 1, "started_at": {"seconds": 1 << 62}}}, "state.started_at"),
        ("UpdateTask", {"state": {"id": 1, "stopped_at": {"seconds": -(1 << 62)}}}, "state.stopped_at"),
        ("UpdateTask", {"state": {"id": 1, "result": 77}}, "state.result"),
        ("UpdateTask", {"state": {"id": 1, "steps": [{"id": 0, "result": -3}]}}, "state.steps[0].result"),
        ("UpdateLog", {"task_id": 1, "rows": [{}, {"time": {"seconds": 1 << 60}}]}, "rows[1].time"),
    ],
)
def test_values_that_mean_nothing_are_refused_with_their_field(method: str, message: Any, field: str) -> None:
    types = {"UpdateTask": pb.UpdateTaskRequest, "UpdateLog": pb.UpdateLogRequest}
    body = types[method](**message).SerializeToString()
    response = Wire().send(f"{RUNNER}{method}", {**PROTO, **AUTH}, body)
    assert code_of(response) == "invalid_argument"
    assert json.loads(response.body)["message"].startswith(f"{field}:")


def test_a_full_mailbox_is_resource_exhausted_in_every_dialect() -> None:
    wire = Wire()
    wire.services.answer = LimitExceeded("log mailbox is full")
    response = wire.send(f"{RUNNER}UpdateLog", {**PROTO, **AUTH})
    assert (response.status, code_of(response)) == (429, "resource_exhausted")


def test_our_own_bug_answers_internal_with_a_number_and_no_text() -> None:
    wire = Wire()
    wire.services.answer = KeyError("secret thing")
    response = wire.fetch()
    assert json.loads(response.body) == {"code": "internal", "message": "internal error, request 1"}
    assert wire.entry.outcome is Outcome.INTERNAL


def test_a_server_fault_is_wrapped_by_the_dialect() -> None:
    wire = Wire()
    wire.services.answer = ServerFault("pick task: runner has been removed")
    assert json.loads(wire.fetch().body)["message"] == (
        "rpc error: code = Internal desc = pick task: runner has been removed"
    )


def test_a_caller_who_leaves_inside_the_body_gets_no_answer_and_counts_as_abandoned() -> None:
    wire = Wire()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await wire.rpc(scope, gone, send, wire.entry)

    async def gone() -> Any:
        return {"type": "http.disconnect"}

    response = asyncio.run(call(app, http_scope("POST", PING, PROTO)))
    assert response.status == 0
    assert wire.entry.outcome is Outcome.OPEN


def test_a_body_that_does_not_arrive_in_time_is_deadline_exceeded() -> None:
    wire = Wire(body_read_s=0.01)
    first = [{"type": "http.request", "body": b"", "more_body": True}]

    async def app(scope: Any, _: Any, send: Any) -> None:
        async def receive() -> Any:
            return first.pop() if first else await asyncio.Event().wait()

        await wire.rpc(scope, receive, send, wire.entry)

    response = asyncio.run(call(app, http_scope("POST", PING, PROTO)))
    assert code_of(response) == "deadline_exceeded"


HEADER_NAMES = [
    "content-type", "content-encoding", "accept-encoding", "connect-protocol-version", "connect-timeout-ms",
    "content-length", "x-runner-uuid", "x-runner-token", "x-runner-request-key", "x-other",
]  # fmt: skip
PLAUSIBLE = ["application/proto", "application/json", "gzip", "identity", "1", "0", "100", UUID, TOKEN]
HEADERS = st.lists(
    st.tuples(st.sampled_from(HEADER_NAMES), st.sampled_from(PLAUSIBLE) | st.text(st.characters(max_codepoint=255)))
)
BODIES = st.lists(st.binary(max_size=300), max_size=3)
METHODS = ["Register", "Declare", "FetchTask", "FetchSingleTask", "UpdateTask", "UpdateLog", "Nope"]


@settings(max_examples=150, deadline=None)
@given(
    profile=st.sampled_from(sorted(PROFILES)), verb=st.sampled_from(["POST", "POST", "GET", "PATCH"]),
    method=st.sampled_from(METHODS), headers=HEADERS, pieces=BODIES, known=st.booleans(), is_json=st.booleans(),
)  # fmt: skip
def test_no_bytes_and_headers_crash_or_hang_the_handler(
    profile: str, verb: str, method: str, headers: Any, pieces: list[bytes], known: bool, is_json: bool
) -> None:
    wire = Wire(profile)
    base = [*(JSON if is_json else PROTO).items(), *AUTH.items()] if known else []
    entry = wire.entry

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await wire.rpc(scope, receive, send, entry)

    response = asyncio.run(call(app, http_scope(verb, RUNNER + method, [*base, *headers]), *pieces))
    assert response.is_complete
    assert response.headers["content-length"] == str(len(response.body))
    assert b"Traceback" not in response.body
    assert entry.outcome not in (Outcome.OPEN, Outcome.INTERNAL)
    if response.status == 500 and response.headers["content-type"] == "application/json":
        assert json.loads(response.body)["message"].startswith("rpc error: code = Unauthenticated")


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(["id", "state", "rows", "time", "steps", "result", "content"]), inner),
    max_leaves=10,
)  # fmt: skip


@settings(max_examples=100, deadline=None)
@given(method=st.sampled_from(METHODS), value=JSON_VALUES)
def test_no_json_crashes_the_handler(method: str, value: Any) -> None:
    wire = Wire("forgejo-15")
    response = wire.send(RUNNER + method, {**JSON, **AUTH}, json.dumps(value).encode("utf-8", "surrogatepass"))
    assert response.is_complete
    assert wire.entry.outcome not in (Outcome.OPEN, Outcome.INTERNAL)
