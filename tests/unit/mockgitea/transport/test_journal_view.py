import json

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry
from mockgitea.transport.journal_view import view


def closed(method: Method, request: bytes, response: bytes, **values: object) -> Entry:
    entry = Entry(3, 1_700_000_000_500_000, 0.0)
    entry.method, entry.request, entry.response = method, request, response
    entry.outcome, entry.status, entry.content_type, entry.duration_s = Outcome.OK, 200, "application/proto", 0.25
    for name, value in values.items():
        setattr(entry, name, value)
    return entry


def test_view_decodes_bodies_on_reading() -> None:
    shown = view(closed(Method.UPDATE_LOG, bytes.fromhex("08091004"), bytes.fromhex("0805")))
    assert shown["request"] == {"taskId": "9", "index": "4"}
    assert shown["response"] == {"ackIndex": "5"}
    assert (shown["number"], shown["at"], shown["duration_s"]) == (3, "2023-11-14T22:13:20.500000Z", 0.25)
    json.dumps(shown)


def test_view_masks_every_token_and_secret() -> None:
    task = pb.Task(id=1, secrets={"PASSWORD": "hunter2"}, vars={"V": "shown"})
    task.context.update({"token": "hunter2", "gitea_runtime_token": "hunter2", "run_id": "3"})
    messages = [
        (Method.REGISTER, pb.RegisterRequest(name="r", token="hunter2"), pb.RegisterResponse()),
        (Method.REGISTER, pb.RegisterRequest(), pb.RegisterResponse(runner=pb.Runner(token="hunter2"))),
        (Method.FETCH_TASK, pb.FetchTaskRequest(), pb.FetchTaskResponse(task=task, additional_tasks=[task])),
        (Method.FETCH_SINGLE_TASK, pb.FetchSingleTaskRequest(), pb.FetchSingleTaskResponse(task=task)),
    ]
    for method, request, response in messages:
        shown = json.dumps(view(closed(method, request.SerializeToString(), response.SerializeToString())))
        assert "hunter2" not in shown
        assert "***" in shown
    assert "shown" in json.dumps(view(closed(Method.FETCH_TASK, b"", messages[2][2].SerializeToString())))


def test_view_of_an_undecodable_or_cut_body_says_only_its_size() -> None:
    broken = view(closed(Method.REGISTER, b"\xff\xff", b""))
    cut = view(closed(Method.REGISTER, b"", b"", is_cut=True, request_bytes=999_999))
    assert broken["request"] is None
    assert broken["request_bytes"] == 2
    assert (cut["request"], cut["request_bytes"], cut["is_cut"]) == (None, 999_999, True)


def test_view_of_an_open_call_has_no_duration_and_no_bodies() -> None:
    shown = view(closed(Method.FETCH_TASK, b"", b"", outcome=Outcome.OPEN, duration_s=0.0))
    assert (shown["outcome"], shown["duration_s"], shown["request"]) == ("open", None, None)


def test_view_of_a_call_without_an_answer_shows_none() -> None:
    gone = closed(Method.UPDATE_LOG, bytes.fromhex("0809"), b"", status=0, outcome=Outcome.ABANDONED)
    empty = closed(Method.UPDATE_LOG, bytes.fromhex("0809"), b"", status=0, transport="grpc")
    lost = closed(Method.UPDATE_LOG, bytes.fromhex("0809"), bytes.fromhex("0805"), outcome=Outcome.DROPPED)
    assert view(gone)["response"] is None
    assert view(empty)["response"] == {}
    assert view(lost)["response"] == {"ackIndex": "5"}


def test_view_of_an_error_shows_its_code() -> None:
    shown = view(closed(Method.FETCH_TASK, b"", b"", status=500, code="unknown", outcome=Outcome.UNAUTHENTICATED))
    assert shown["response"] == {"code": "unknown", "status": 500}


def test_view_of_a_page_has_no_bodies() -> None:
    shown = view(closed(Method.PAGE, b"", b"", content_type="", path="/x"))
    assert (shown["request"], shown["response"], shown["path"]) == (None, None, "/x")


def test_view_of_times_that_json_cannot_spell_shows_the_nearest() -> None:
    rows = [pb.LogRow(time={"seconds": 2**63 - 1, "nanos": -5}, content="late"), pb.LogRow(time={"seconds": -(2**63)})]
    state = pb.TaskState(id=1, started_at={"seconds": -(2**63)}, steps=[pb.StepState(stopped_at={"nanos": 2**31 - 1})])
    log = view(closed(Method.UPDATE_LOG, pb.UpdateLogRequest(rows=rows).SerializeToString(), b""))
    task = view(
        closed(Method.UPDATE_TASK, pb.UpdateTaskRequest(state=state, outputs={"k": "v"}).SerializeToString(), b"")
    )
    assert log["request"]["rows"][0] == {"time": "9999-12-31T23:59:59Z", "content": "late"}
    assert log["request"]["rows"][1] == {"time": "0001-01-01T00:00:00Z"}
    assert task["request"]["state"]["startedAt"] == "0001-01-01T00:00:00Z"
    assert task["request"]["outputs"] == {"k": "v"}
    json.dumps([log, task])


def test_view_shows_headers_without_secrets() -> None:
    headers = [
        (b"User-Agent", b"r/1"), (b"x-runner-token", b"hunter2"), (b"authorization", b"hunter2"),
        (b"cookie", b"hunter2"), (b"x-api-secret", b"hunter2"), (b"x-runner-uuid", b"u"),
    ]  # fmt: skip
    shown = view(closed(Method.FETCH_TASK, b"", b"", headers=headers, peer="127.0.0.1:9"))
    assert "hunter2" not in json.dumps(shown)
    assert (shown["headers"]["user-agent"], shown["headers"]["x-runner-uuid"]) == ("r/1", "u")
    assert shown["peer"] == "127.0.0.1:9"
