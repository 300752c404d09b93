import json
import time

import pytest

from actionswire.codes import HTTP_STATUS, Code
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from faultcase import FaultCase, is_silent


@pytest.mark.parametrize("code", list(Code))
def test_refuse_peer_sees_any_connect_code(mock: FaultCase, code: Code) -> None:
    mock.fault("refuse", code=code.value, message="not today", retry_after_s=7)
    reply = mock.answered_ping()
    assert reply.status == HTTP_STATUS[code]
    assert reply.json() == {"code": code.value, "message": "not today"}
    assert (reply.header("content-type"), reply.header("retry-after")) == ("application/json", "7")
    assert mock.last("Ping")["fault"] == "f"


@pytest.mark.parametrize(
    ("fields", "status", "content_type", "start"),
    [
        ({"status": 502, "body": "html"}, 502, "text/html; charset=utf-8", b"<!DOCTYPE html>"),
        ({"status": 503, "body": "empty"}, 503, None, b""),
        ({"status": 500}, 500, "text/plain; charset=utf-8", b"Internal Server Error\n"),
        ({"status": 429, "body": "json", "message": "slow down"}, 429, "application/json", b'{"message":"slow down"}'),
        ({"status": 200, "body": "html", "content_type": "application/proto"}, 200, "application/proto", b"<!DOCTYPE"),
        ({"status": 204, "body": "empty"}, 204, None, b""),
        ({"status": 599}, 599, "text/plain; charset=utf-8", b"status 599\n"),
    ],
)
def test_refuse_peer_sees_a_bare_status(
    mock: FaultCase, fields: dict[str, object], status: int, content_type: str | None, start: bytes
) -> None:
    mock.fault("refuse", **fields)
    reply = mock.answered_ping()
    assert (reply.status, reply.header("content-type")) == (status, content_type)
    assert reply.body.startswith(start)


@pytest.mark.parametrize(("stage", "status"), [("before", "waiting"), ("after", "running")])
def test_refuse_leaves_the_job_waiting_before_and_taken_after_the_work(
    mock: FaultCase, stage: str, status: str
) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("refuse", method="FetchTask", stage=stage, times=1)
    assert mock.rpc("FetchTask", pb.FetchTaskRequest(), runner).status == 503
    assert mock.job(run_id, "a")["status"] == status
    entry = mock.last("FetchTask")
    assert (entry["outcome"], entry["status"], entry["code"], entry["fault"]) == ("refused", 503, "unavailable", "f")


def test_refuse_over_rest_has_the_shape_of_rest(mock: FaultCase) -> None:
    mock.fault("refuse", method="rest", code="internal", message="no")
    reply = mock.rest("GET", "/version")
    assert (reply.status, json.loads(reply.body)) == (500, {"message": "no"})


def test_delay_peer_waits_for_the_servers_clock(mock: FaultCase) -> None:
    mock.fault("delay", delay_s=3000)
    with mock.begin("Ping") as connection:
        eventually(lambda: mock.entries("Ping"))
        assert is_silent(connection)
        mock.advance(3001)
        assert connection.receive().status == 200
    assert mock.last("Ping")["outcome"] == "ok"


def test_delay_of_real_time_is_about_as_long_as_asked(mock: FaultCase) -> None:
    mock.fault("delay", delay_s=0.2)
    began = time.monotonic()
    assert mock.answered_ping().status == 200
    assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize(("stage", "status"), [("before", "waiting"), ("after", "running")])
def test_delay_leaves_the_work_for_later_or_does_it_first(mock: FaultCase, stage: str, status: str) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("delay", delay_s=3000, method="FetchTask", stage=stage)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as connection:
        eventually(lambda: mock.job(run_id, "a")["status"], lambda found: found == status)
        mock.control("DELETE", "/faults/f")
        assert connection.receive().status == 200
    assert mock.job(run_id, "a")["status"] == "running"


def test_hold_peer_hears_nothing_until_release(mock: FaultCase) -> None:
    mock.fault("hold", method="Ping")
    with mock.begin("Ping") as first:
        eventually(lambda: mock.entries("Ping"))
        assert is_silent(first)
        mock.control("POST", "/faults/f/release")
        assert first.receive().status == 200
        mock.begin("Ping", on=first)
        eventually(lambda: len(mock.entries("Ping")) == 2)
        assert is_silent(first), "the rule stays and holds later calls"
        mock.control("DELETE", "/faults/f")
        assert first.receive().status == 200


def test_hold_leaves_the_rows_stored_after_the_work(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("hold", method="UpdateLog", stage="after")
    with mock.begin("UpdateLog", mock.rows_request(task_id, "one"), runner) as connection:
        eventually(lambda: mock.log(task_id).count("one"))
        assert is_silent(connection)
        mock.heal()
        assert pb.UpdateLogResponse.FromString(connection.receive().body).ack_index == 1


def test_hold_ends_with_its_time_to_live(mock: FaultCase) -> None:
    mock.fault("hold", ttl_s=100)
    with mock.begin("Ping") as connection:
        eventually(lambda: mock.entries("Ping"))
        mock.advance(101)
        assert connection.receive().status == 200
    assert mock.control("GET", "/faults")["faults"] == []


@pytest.mark.parametrize("kind", ["hold", "hang"])
@pytest.mark.parametrize("stage", ["before", "after"])
def test_a_held_call_ends_when_its_caller_goes(mock: FaultCase, kind: str, stage: str) -> None:
    mock.fault(kind, stage=stage)
    with mock.begin("Ping"):
        eventually(lambda: mock.entries("Ping"))
    assert mock.last("Ping", "abandoned")["fault"] == "f"


def test_hang_peer_hears_nothing_until_the_rule_is_removed(mock: FaultCase) -> None:
    mock.fault("hang")
    with mock.begin("Ping") as connection:
        eventually(lambda: mock.entries("Ping"))
        assert mock.control_reply("POST", "/faults/f/release").status == 400
        assert is_silent(connection)
        mock.heal()
        assert connection.receive().status == 200


@pytest.mark.parametrize(("stage", "status"), [("before", "waiting"), ("after", "running")])
def test_hang_leaves_the_claim_as_the_stage_says(mock: FaultCase, stage: str, status: str) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("hang", method="FetchTask", stage=stage)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner):
        eventually(lambda: mock.entries("FetchTask"))
        eventually(lambda: mock.job(run_id, "a")["status"], lambda found: found == status)
