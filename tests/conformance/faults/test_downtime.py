import contextlib
import socket
from collections.abc import Callable

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from faultcase import FaultCase, end_of, is_silent
from rawhttp import Connection
from serverproc import BASE, PROTO, RUNNER_SERVICE, VERSION

FOR_LONG = 3600


def is_refused(mock: FaultCase) -> bool:
    try:
        mock.connect().close()
    except ConnectionRefusedError:
        return True
    return False


def test_planned_peer_sees_503_on_every_path(mock: FaultCase) -> None:
    mock.downtime("planned", retry_after_s=30)
    for reply in (mock.answered_ping(), mock.rest("GET", "/version"), mock.http("GET", "/")):
        assert (reply.status, reply.body, reply.header("retry-after")) == (503, b"service unavailable\n", "30")
    assert (mock.last("Ping")["outcome"], mock.last("Ping")["fault"]) == ("refused", "d")


@pytest.mark.parametrize("kind", ["planned", "refused", "black-hole"])
def test_downtime_leaves_control_health_and_metrics_alone(mock: FaultCase, kind: str) -> None:
    mock.downtime(kind)
    assert mock.control("GET", "/downtime")["downtimes"][0]["is_open"]
    for path in ("/healthz", "/readyz", "/metrics"):
        with Connection(mock.server.control_host, mock.server.control_port) as connection:
            assert connection.request("GET", path).status == 200


def test_planned_leaves_open_connections_and_the_queue(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    with mock.begin("Ping") as connection:
        connection.receive()
        mock.downtime("planned")
        mock.begin("FetchTask", pb.FetchTaskRequest(), runner, on=connection)
        assert connection.receive().status == 503
        assert mock.job(run_id, "a")["status"] == "waiting"
        mock.control("DELETE", "/downtime/d")
        mock.begin("FetchTask", pb.FetchTaskRequest(), runner, on=connection)
        assert pb.FetchTaskResponse.FromString(connection.receive().body).HasField("task")


def test_planned_that_cuts_resets_open_connections_first(mock: FaultCase) -> None:
    with mock.begin("Ping") as connection:
        connection.receive()
        mock.downtime("planned", cuts=True)
        assert end_of(connection) == "rst"
    assert mock.answered_ping().status == 503


def test_refused_peer_sees_a_closed_port_that_stays_reserved(mock: FaultCase) -> None:
    with mock.begin("Ping") as connection:
        connection.receive()
        mock.downtime("refused")
        assert end_of(connection) == "rst"
    assert is_refused(mock)
    with socket.socket() as thief, pytest.raises(OSError, match="in use"):
        thief.bind((mock.server.host, mock.server.port))
        thief.listen()
    mock.control("DELETE", "/downtime/d")
    assert mock.answered_ping().status == 200


def test_refused_leaves_a_claim_in_progress_to_the_profile(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("hold", method="FetchTask", stage="after")
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as connection:
        eventually(lambda: mock.job(run_id, "a")["status"], lambda status: status == "running")
        mock.downtime("refused")
        assert end_of(connection) == "rst"
    mock.last("FetchTask", "abandoned")
    eventually(lambda: mock.job(run_id, "a")["status"], lambda status: status == "waiting")


def test_black_hole_peer_is_accepted_and_never_answered(mock: FaultCase) -> None:
    with mock.begin("Ping") as old:
        old.receive()
        mock.downtime("black-hole")
        mock.begin("Ping", on=old)
        with mock.begin("Ping") as new:
            eventually(lambda: len(mock.entries("Ping")) == 3)
            assert is_silent(old)
            assert is_silent(new)
            mock.control("DELETE", "/downtime/d")
            assert (end_of(old), end_of(new)) == ("rst", "rst")
    assert mock.answered_ping().status == 200


def test_black_hole_leaves_calls_undone_and_loses_answers_in_progress(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("hold", method="UpdateLog", stage="after")
    with mock.begin("UpdateLog", mock.rows_request(task_id, "a"), runner) as early:
        eventually(lambda: mock.entries("UpdateLog")[0]["fault"] == "f")
        mock.downtime("black-hole")
        mock.control("POST", "/faults/f/release")
        eventually(lambda: mock.entries("UpdateLog")[0]["fault"] == "f, d")
        with mock.begin("UpdateLog", mock.rows_request(task_id, "b", index=1), runner) as late:
            eventually(lambda: len(mock.entries("UpdateLog")) == 2)
            assert is_silent(early)
            assert is_silent(late)
            mock.advance(FOR_LONG)
            assert (end_of(early), end_of(late)) == ("rst", "rst")
    assert mock.control("GET", f"/tasks/{task_id}")["log_rows"] == 1


def test_black_hole_loses_the_answer_of_a_call_older_than_every_rule(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    body = mock.rows_request(task_id, "a").SerializeToString()
    with mock.connect() as slow:
        head = [PROTO, VERSION, *runner.headers, ("content-length", str(len(body)))]
        slow.send("POST", f"{BASE}/{RUNNER_SERVICE}/UpdateLog", head, body[:3])
        eventually(lambda: mock.entries("UpdateLog"))
        mock.downtime("black-hole")
        slow.socket.sendall(body[3:])
        eventually(lambda: mock.entries("UpdateLog")[0]["fault"] == "d")
        assert is_silent(slow)
        mock.heal()
        assert end_of(slow) == "rst"
    assert mock.last("UpdateLog", "dropped")["status"] == 0, "no answer left"
    assert mock.control("GET", f"/tasks/{task_id}")["log_rows"] == 1


def test_windows_begin_and_end_with_the_servers_clock(case_of: Callable[..., FaultCase]) -> None:
    mock = case_of("gitea-1.27", "--clock", "manual")
    mock.downtime("refused", start_s=10, duration_s=5, every_s=60, rounds=2)
    seen = []
    for step in (9.999999, 0.000001, 4.999999, 0.000001, 54, 1, 5, 60):
        mock.advance(step)
        seen.append(is_refused(mock))
    assert seen == [False, True, True, False, False, True, False, False]
    assert mock.control("GET", "/downtime")["downtimes"][0]["starts_at"] is None


def test_one_reset_heals_every_kind_of_downtime(mock: FaultCase) -> None:
    for kind in ("planned", "refused", "black-hole"):
        mock.control("POST", "/downtime", {"name": kind, "kind": kind, "duration_s": FOR_LONG})
    mock.control("DELETE", "/faults")
    assert mock.answered_ping().status == 200
    assert mock.control("GET", "/downtime")["downtimes"] == []


def test_a_server_stops_in_the_middle_of_a_refused_window(case_of: Callable[..., FaultCase]) -> None:
    mock = case_of("gitea-1.27", "--seed", "7")
    mock.downtime("refused")
    assert mock.server.stop() == 0
    with contextlib.closing(socket.socket()) as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind((mock.server.host, mock.server.port))
    mock.server.start()


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"duration_s": 0}, "duration_s"),
        ({"start_s": -1}, "start_s"),
        ({"every_s": 10}, "every_s"),
        ({"rounds": 2}, "every_s"),
        ({"kind": "refused", "retry_after_s": 1}, "retry_after_s"),
        ({"name": "a/b"}, "name"),
        ({"kind": "sleepy"}, "kind"),
    ],
)
def test_a_downtime_that_cannot_be_names_its_field(mock: FaultCase, fields: dict[str, object], field: str) -> None:
    body = {"name": "d", "kind": "planned", "duration_s": 60, **fields}
    reply = mock.control_reply("POST", "/downtime", body)
    assert reply.status in (400, 422)
    assert reply.json()["error"]["field"] == field
