"""Transport and authentication, S1 to S16."""

import gzip
import json

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from profiles import DECLARING, holds_for
from rawhttp import Reply
from serverproc import PING_SERVICE, PROTO, VERSION, Identity, Mock

PING = bytes.fromhex("0a027231")
PONG = bytes.fromhex("0a0a") + b"Hello, r1!"
UNKNOWN_UUID = "00000000-0000-4000-8000-000000000000"
RUNNER_CALLS = (
    ("Declare", pb.DeclareRequest(version="v1", labels=["linux"])),
    ("FetchTask", pb.FetchTaskRequest()),
    ("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=1))),
    ("UpdateLog", pb.UpdateLogRequest(task_id=1)),
)


def calls_of(profile: str) -> list[tuple[str, object]]:
    return [call for call in RUNNER_CALLS if call[0] != "Declare" or profile != "gitea-1.20"]


@holds_for()
def test_s01_ping_answers_hello(mock: Mock) -> None:
    reply = mock.post("Ping", PING, [PROTO], PING_SERVICE)
    assert (reply.status, reply.header("content-type"), reply.body) == (200, "application/proto", PONG)


@holds_for()
def test_s02_ping_may_be_compressed(mock: Mock) -> None:
    reply = mock.post("Ping", PING, [PROTO, ("Accept-Encoding", "gzip")], PING_SERVICE)
    assert reply.status == 200
    encoding = reply.header("content-encoding") or "identity"
    assert encoding in {"gzip", "identity"}
    assert (gzip.decompress(reply.body) if encoding == "gzip" else reply.body) == PONG


@holds_for(*DECLARING)
def test_s03_empty_body_is_the_empty_message(mock: Mock) -> None:
    runner = mock.runner()
    reply = mock.post("FetchTask", b"", [PROTO, VERSION, ("Content-Length", "0"), *runner.headers])
    assert reply.status == 200
    answer = pb.FetchTaskResponse.FromString(reply.body)
    assert answer.tasks_version >= 1
    assert not answer.HasField("task")


@holds_for(*DECLARING)
def test_s04_chunked_body_gets_the_same_answer(mock: Mock) -> None:
    runner = mock.runner()
    headers = [PROTO, VERSION, *runner.headers]
    body = pb.FetchTaskRequest(tasks_version=5).SerializeToString()
    with mock.connect() as connection:
        plain = connection.request("POST", "/api/actions/runner.v1.RunnerService/FetchTask", headers, body)
        chunked = connection.request(
            "POST", "/api/actions/runner.v1.RunnerService/FetchTask", headers, [body[:1], body[1:]]
        )
    assert (chunked.status, chunked.body) == (plain.status, plain.body) == (200, plain.body)


@holds_for(*DECLARING)
@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
def test_s05_json_codec_answers_json(mock: Mock, content_type: str) -> None:
    runner = mock.runner()
    reply = mock.post("FetchTask", b'{"tasksVersion":"0"}', [("Content-Type", content_type), VERSION, *runner.headers])
    assert reply.status == 200
    assert reply.header("content-type") == content_type
    version = reply.json()["tasksVersion"]
    assert isinstance(version, str)
    assert int(version) >= 1


@holds_for(*DECLARING)
@pytest.mark.parametrize("body", ['{"tasks_version": 0}', '{"tasksVersion": 0, "nonsense": [1]}', "{}"])
def test_s05_json_codec_reads_both_spellings_numbers_and_unknown_keys(mock: Mock, body: str) -> None:
    runner = mock.runner()
    reply = mock.post("FetchTask", body.encode(), [("Content-Type", "application/json"), VERSION, *runner.headers])
    assert (reply.status, int(reply.json()["tasksVersion"]) >= 1) == (200, True)


@holds_for("gitea-1.27", "forgejo-15")
def test_s05_empty_json_body_is_invalid(mock: Mock) -> None:
    reply = mock.post("FetchTask", b"", [("Content-Type", "application/json"), VERSION, *mock.runner().headers])
    assert (reply.status, reply.json()["code"]) == (400, "invalid_argument")


@holds_for()
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-protobuf", "application/proto; a=b", ""])
def test_s06_other_content_type_is_415_with_accept_post(mock: Mock, content_type: str) -> None:
    reply = mock.post("FetchTask", b"", [("Content-Type", content_type)] if content_type else [])
    assert reply.status == 415
    accepted = reply.header("accept-post") or ""
    assert "application/proto" in accepted
    assert "application/json" in accepted


@holds_for()
@pytest.mark.parametrize("service", ["runner.v1.RunnerService", "ping.v1.PingService"])
def test_s07_unknown_method_is_a_plain_404(mock: Mock, service: str) -> None:
    reply = mock.post("Nope", b"", [PROTO, VERSION], service)
    assert reply.status == 404
    assert (reply.header("content-type") or "").startswith("text/plain")


@holds_for()
@pytest.mark.parametrize("service", ["nope.v1.Service", "runner.v2.RunnerService"])
def test_s07_unknown_service_is_404_and_not_json(mock: Mock, service: str) -> None:
    reply = mock.post("Ping", b"", [PROTO, VERSION], service)
    assert reply.status == 404
    assert not (reply.header("content-type") or "").startswith("application/json")


@holds_for("gitea-1.27", "forgejo-15")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_s07_other_verb_is_405_with_allow(mock: Mock, method: str) -> None:
    reply = mock.http(method, "/api/actions/runner.v1.RunnerService/FetchTask")
    assert (reply.status, reply.header("allow"), reply.body) == (405, "POST", b"")


def assert_invalid_argument(reply: Reply) -> None:
    assert (reply.status, reply.header("content-type")) == (400, "application/json")
    body = reply.json()
    assert body["code"] == "invalid_argument"
    assert body["message"]
    assert "details" not in body


@holds_for()
@pytest.mark.parametrize("registered", [True, False])
def test_s08_other_protocol_version_is_invalid(mock: Mock, *, registered: bool) -> None:
    credentials = mock.runner().headers if registered else []
    assert_invalid_argument(mock.post("FetchTask", b"", [PROTO, ("Connect-Protocol-Version", "2"), *credentials]))


@holds_for()
@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("timeout", ["12345678901", "-1", "1.5", "soon", "0x10"])
def test_s09_malformed_timeout_is_invalid(mock: Mock, timeout: str, *, registered: bool) -> None:
    credentials = mock.runner().headers if registered else []
    reply = mock.post("FetchTask", b"", [PROTO, VERSION, ("Connect-Timeout-Ms", timeout), *credentials])
    assert_invalid_argument(reply)


@holds_for()
@pytest.mark.parametrize("registered", [True, False])
@pytest.mark.parametrize("body", [b"\xff", b"\x08", b"\x0a\x7f\x00", b"\x00" * 40])
def test_s10_undecodable_body_is_invalid(mock: Mock, body: bytes, *, registered: bool) -> None:
    credentials = mock.runner().headers if registered else []
    assert_invalid_argument(mock.post("UpdateLog", body, [PROTO, VERSION, *credentials]))


@holds_for("gitea-1.27", "forgejo-15")
def test_s10_undecodable_json_is_invalid(mock: Mock) -> None:
    for body in (b"{", b"[]", b'{"tasksVersion": "many"}'):
        assert_invalid_argument(mock.post("FetchTask", body, [("Content-Type", "application/json"), VERSION]))


@holds_for("gitea-1.27", "forgejo-15")
def test_s10_gzip_request_is_accepted_and_broken_gzip_refused(mock: Mock) -> None:
    runner = mock.runner()
    headers = [PROTO, VERSION, ("Content-Encoding", "gzip"), *runner.headers]
    body = gzip.compress(pb.FetchTaskRequest(tasks_version=0).SerializeToString())
    assert mock.post("FetchTask", body, headers).status == 200
    assert_invalid_argument(mock.post("FetchTask", b"not gzip", headers))
    unknown = mock.post("FetchTask", body, [PROTO, VERSION, ("Content-Encoding", "br"), *runner.headers])
    assert (unknown.status, unknown.json()["code"]) == (501, "unimplemented")


@holds_for()
def test_s11_calls_without_headers_are_unregistered(mock: Mock, profile: str, refused) -> None:  # type: ignore[no-untyped-def]
    for method, message in calls_of(profile):
        refused(mock.rpc(method, message), "unauthenticated", "unregistered runner")


@holds_for()
def test_s12_wrong_token_is_answered_exactly_like_no_token(mock: Mock, profile: str) -> None:
    runner = mock.runner()
    wrong = Identity(runner.id, runner.uuid, "0" * 40)
    unknown = Identity(0, UNKNOWN_UUID, runner.token)
    for method, message in calls_of(profile):
        replies = [mock.rpc(method, message, identity) for identity in (None, wrong, unknown)]
        bare = [(reply.status, reply.body) for reply in replies]
        assert bare[0] == bare[1] == bare[2]


@holds_for()
def test_s13_deleted_runner_is_unregistered(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    runner = mock.runner()
    mock.fetch(runner)
    mock.control("DELETE", f"/runners/{runner.id}")
    refused(mock.rpc("FetchTask", pb.FetchTaskRequest(), runner), "unauthenticated", "unregistered runner")


@holds_for("gitea-1.21", "gitea-1.25", "gitea-1.27")
def test_s14_dialect_a_wraps_the_refusal(mock: Mock) -> None:
    reply = mock.rpc("FetchTask", pb.FetchTaskRequest())
    assert (reply.status, reply.json()["code"]) == (500, "unknown")
    assert reply.json()["message"].startswith("rpc error: code = Unauthenticated")


@holds_for("gitea-1.27", "forgejo-15")
def test_s15_only_large_runner_answers_are_compressed(mock: Mock) -> None:
    runner = mock.runner()
    headers = [("Accept-Encoding", "gzip")]
    small = mock.rpc("FetchTask", pb.FetchTaskRequest(), runner, headers)
    assert (small.header("content-encoding") or "identity") == "identity"
    padding = "\n".join(f"      # padding line {number}" for number in range(200))
    mock.enqueue(f"on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: |\n          true\n{padding}\n")
    large = mock.rpc("FetchTask", pb.FetchTaskRequest(), runner, headers)
    body = gzip.decompress(large.body) if large.header("content-encoding") == "gzip" else large.body
    assert pb.FetchTaskResponse.FromString(body).HasField("task")


@holds_for("gitea-1.20")
def test_s16_declare_on_a_server_without_it_is_404(mock: Mock) -> None:
    reply = mock.rpc("Declare", pb.DeclareRequest(version="v1", labels=["linux"]), mock.runner())
    assert reply.status == 404
    assert (reply.header("content-type") or "").startswith("text/plain")


@holds_for("gitea-1.21", "gitea-1.25", "gitea-1.27", "gitea-next", "forgejo-11")
def test_s16_fetch_single_task_exists_on_newest_forgejo_only(mock: Mock) -> None:
    reply = mock.rpc("FetchSingleTask", pb.FetchSingleTaskRequest(), mock.runner())
    assert reply.status == 404
    with pytest.raises(json.JSONDecodeError):
        json.loads(reply.body)


@holds_for()
def test_strictness_success_has_the_exact_content_type_and_a_length(mock: Mock) -> None:
    reply = mock.rpc("FetchTask", pb.FetchTaskRequest(), mock.runner())
    assert (reply.status, reply.header("content-type")) == (200, "application/proto")
    assert reply.header("content-length") == str(len(reply.body))
    assert reply.header("trailer") is None


@holds_for("gitea-1.27", "forgejo-15")
def test_keep_alive_connection_serves_many_calls_after_errors(mock: Mock) -> None:
    runner = mock.runner()
    path = "/api/actions/runner.v1.RunnerService/FetchTask"
    with mock.connect() as connection:
        for _ in range(3):
            assert connection.request("POST", path, [PROTO], b"\xff").status == 400
            assert connection.request("POST", path, [("Content-Type", "text/plain")], b"x").status == 415
            assert connection.request("POST", path, [PROTO, *runner.headers], b"").status == 200
