from collections.abc import Callable

import pytest

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from faultcase import FaultCase, end_of


@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.parametrize(("kind", "end"), [("close", "fin"), ("reset", "rst")])
def test_close_and_reset_peer_sees_the_end_without_an_answer(mock: FaultCase, kind: str, end: str, stage: str) -> None:
    mock.fault(kind, stage=stage)
    with mock.begin("Ping") as connection:
        assert end_of(connection) == end
    entry = mock.last("Ping", "dropped")
    assert (entry["fault"], entry["status"]) == ("f", 0 if stage == "before" else 200)
    assert "Exception" not in mock.server.log_text()
    assert "without" not in mock.server.log_text(), "the HTTP library must not complain"


@pytest.mark.parametrize("kind", ["close", "reset"])
@pytest.mark.parametrize(("stage", "rows"), [("before", 0), ("after", 2)])
def test_close_and_reset_leave_rows_as_the_stage_says(mock: FaultCase, kind: str, stage: str, rows: int) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault(kind, method="UpdateLog", stage=stage, times=1)
    with mock.begin("UpdateLog", mock.rows_request(task_id, "a", "b"), runner) as connection:
        end_of(connection)
    mock.last("UpdateLog", "dropped")
    assert mock.control("GET", f"/tasks/{task_id}")["log_rows"] == rows
    assert mock.append(runner, task_id, 0, ["a", "b"]) == 2, "sending again loses and doubles nothing"


@pytest.mark.parametrize(("how", "end"), [("close", "fin"), ("reset", "rst")])
def test_lose_answer_peer_sees_the_end_after_the_work(mock: FaultCase, how: str, end: str) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("lose-answer", method="FetchTask", how=how, times=1)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as connection:
        assert end_of(connection) == end
    assert mock.last("FetchTask", "dropped")["fault"] == "f"
    assert mock.job(run_id, "a")["status"] == "running"


@pytest.mark.parametrize("profile", ["gitea-1.27", "gitea-1.21", "forgejo-11"])
def test_lose_answer_leaves_the_task_running_until_it_is_reaped(
    case_of: Callable[..., FaultCase], profile: str
) -> None:
    mock = case_of(profile)
    runner, run_id = mock.waiting_runner()
    mock.fault("lose-answer", method="FetchTask", times=1)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as connection:
        end_of(connection)
    mock.settle()
    assert mock.job(run_id, "a")["status"] == "running"
    assert not mock.fetch(runner).HasField("task"), "the job is not given out again"
    mock.advance(700)
    mock.control("POST", "/maintenance/stop_zombie_tasks")
    assert mock.job(run_id, "a")["status"] == "failure"


def test_lose_answer_is_recovered_by_the_request_key_of_forgejo(case_of: Callable[..., FaultCase]) -> None:
    mock = case_of("forgejo-15")
    runner, run_id = mock.waiting_runner()
    key = (("x-runner-request-key", "6f1c2a54-0a53-4a1e-9a55-2f5cf2a0f001"),)
    mock.fault("lose-answer", method="FetchTask", times=1)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner, headers=key) as connection:
        end_of(connection)
    task = mock.fetch(runner, 0, headers=key).task
    assert task.id == mock.job(run_id, "a")["task"]["id"]


def test_partial_body_peer_sees_the_length_and_only_a_part(mock: FaultCase) -> None:
    mock.fault("partial-body", kept_bytes=5)
    with mock.begin("Ping", ping_pb2.PingRequest(data="abcdefgh")) as connection:
        received = end_of(connection)
    assert received.startswith("fin after b'HTTP/1.1 200")
    assert "content-length: 18" in received
    assert received.endswith("\\n\\x10Hel'")
    assert mock.last("Ping", "dropped")["status"] == 200


def test_partial_body_leaves_the_rows_stored(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("partial-body", method="UpdateLog", times=1)
    with mock.begin("UpdateLog", mock.rows_request(task_id, "a"), runner) as connection:
        end_of(connection)
    eventually(lambda: mock.control("GET", f"/tasks/{task_id}")["log_rows"], lambda rows: rows == 1)
