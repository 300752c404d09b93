import time
from email.utils import parsedate_to_datetime

import pytest
from google.protobuf.message import DecodeError

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from faultcase import FaultCase, is_silent

HELLO = ping_pb2.PingResponse(data="Hello, abcdefgh!").SerializeToString()


def log_rows(mock: FaultCase, task_id: int) -> int:
    return int(mock.control("GET", f"/tasks/{task_id}")["log_rows"])


def test_slow_body_peer_gets_the_body_in_pieces(mock: FaultCase) -> None:
    mock.fault("slow-body", chunk_bytes=len(HELLO) - 4, gap_s=3000)
    with mock.begin("Ping", ping_pb2.PingRequest(data="abcdefgh")) as connection:
        received = b""
        while not received.endswith(HELLO[:-4]):
            received += connection.socket.recv(1000)
        assert is_silent(connection)
        mock.advance(3001)
        assert connection.socket.recv(1000) == HELLO[-4:]


def test_slow_body_removed_lets_the_rest_go_at_once(mock: FaultCase) -> None:
    mock.fault("slow-body", gap_s=3000)
    with mock.begin("Ping", ping_pb2.PingRequest(data="abcdefgh")) as connection:
        connection.socket.recv(1)
        mock.heal()
        received = b""
        while not received.endswith(HELLO):
            received += connection.socket.recv(1000)


def test_slow_body_leaves_the_rows_stored(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("slow-body", method="UpdateLog", gap_s=3000)
    with mock.begin("UpdateLog", mock.rows_request(task_id, "a"), runner) as connection:
        connection.socket.recv(1)
        assert log_rows(mock, task_id) == 1
        mock.heal()


def test_bandwidth_peer_gets_the_body_at_the_rate(mock: FaultCase) -> None:
    mock.fault("bandwidth", bytes_per_s=36)
    began = time.monotonic()
    assert mock.answered_ping().body == HELLO
    assert time.monotonic() - began >= 0.9 * (len(HELLO) - 3) / 36


def test_bandwidth_leaves_the_rows_stored(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("bandwidth", method="UpdateLog", bytes_per_s=1000)
    assert mock.append(runner, task_id, 0, ["a"]) == 1
    assert log_rows(mock, task_id) == 1


def test_truncate_peer_sees_valid_http_that_does_not_decode(mock: FaultCase) -> None:
    mock.fault("truncate", kept_bytes=5)
    reply = mock.answered_ping()
    assert (reply.status, reply.header("content-length"), reply.body) == (200, "5", HELLO[:5])
    with pytest.raises(DecodeError):
        ping_pb2.PingResponse.FromString(reply.body)


def test_truncate_leaves_the_claim_made(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("truncate", method="FetchTask", times=1)
    assert mock.rpc("FetchTask", pb.FetchTaskRequest(), runner).status == 200
    assert mock.job(run_id, "a")["status"] == "running"


def test_corrupt_peer_sees_changed_bytes_and_the_same_length(mock: FaultCase) -> None:
    mock.fault("corrupt", changed_bytes=2)
    reply = mock.answered_ping()
    assert (reply.status, len(reply.body)) == (200, len(HELLO))
    assert sum(one != other for one, other in zip(reply.body, HELLO, strict=True)) == 2


def test_corrupt_leaves_the_claim_made(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("corrupt", method="FetchTask", times=1)
    assert mock.rpc("FetchTask", pb.FetchTaskRequest(), runner).status == 200
    assert mock.job(run_id, "a")["status"] == "running"


def test_answer_twice_peer_sees_a_second_response(mock: FaultCase) -> None:
    mock.fault("answer-twice", times=1)
    with mock.begin("Ping", ping_pb2.PingRequest(data="abcdefgh")) as connection:
        first, second = connection.receive(), connection.receive()
    assert (first.status, first.body) == (second.status, second.body) == (200, HELLO)
    assert first.header("content-type") == second.header("content-type")
    assert len(mock.entries("Ping")) == 1


def test_answer_twice_leaves_the_rows_once(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("answer-twice", method="UpdateLog", times=1)
    with mock.begin("UpdateLog", mock.rows_request(task_id, "a"), runner) as connection:
        assert connection.receive().body == connection.receive().body
    assert log_rows(mock, task_id) == 1


def test_stale_answer_peer_sees_the_earlier_answer_again(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("stale-answer", method="UpdateLog", skip=1)
    assert mock.append(runner, task_id, 0, ["a"]) == 1
    assert mock.append(runner, task_id, 1, ["b", "c"]) == 1
    assert mock.append(runner, task_id, 3, ["d"]) == 3
    other = mock.runner(name="r2")
    reply = mock.rpc("UpdateLog", mock.rows_request(task_id, "x"), other)
    assert reply.status == 500, "another runner has its own earlier answers"


def test_stale_answer_leaves_the_newer_rows_stored(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("stale-answer", method="UpdateLog")
    assert mock.append(runner, task_id, 0, ["a"]) == 1, "the first has nothing to repeat"
    assert mock.append(runner, task_id, 1, ["b"]) == 1
    assert log_rows(mock, task_id) == 2


def test_reorder_peer_gets_its_answer_after_the_next_call(mock: FaultCase) -> None:
    mock.fault("reorder", method="Ping", wait_s=3000)
    with mock.begin("Ping", ping_pb2.PingRequest(data="1")) as first:
        eventually(lambda: mock.entries("Ping")[0]["fault"] == "f")
        assert is_silent(first)
        with mock.begin("Ping", ping_pb2.PingRequest(data="2")) as second:
            assert ping_pb2.PingResponse.FromString(second.receive().body).data == "Hello, 2!"
            assert ping_pb2.PingResponse.FromString(first.receive().body).data == "Hello, 1!"


def test_reorder_with_swap_peer_gets_the_other_calls_answer(mock: FaultCase) -> None:
    mock.fault("reorder", method="Ping", swap=True, wait_s=3000)
    with mock.begin("Ping", ping_pb2.PingRequest(data="1")) as first:
        eventually(lambda: mock.entries("Ping")[0]["fault"] == "f")
        with mock.begin("Ping", ping_pb2.PingRequest(data="2")) as second:
            assert ping_pb2.PingResponse.FromString(second.receive().body).data == "Hello, 1!"
            assert ping_pb2.PingResponse.FromString(first.receive().body).data == "Hello, 2!"


def test_reorder_with_swap_keeps_answers_among_calls_of_one_method(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("reorder", swap=True, wait_s=3000)
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as fetch, mock.connect() as browser:
        eventually(lambda: mock.entries("FetchTask")[0]["fault"] == "f")
        browser.send("GET", "/api/v1/version", [], b"")
        eventually(lambda: [entry for entry in mock.entries() if entry["fault"] == "f"], lambda held: len(held) == 2)
        assert is_silent(browser)
        mock.heal()
        assert pb.FetchTaskResponse.FromString(fetch.receive().body).HasField("task")
        assert list(browser.receive().json()) == ["version"]
    assert mock.job(run_id, "a")["status"] == "running"


def test_reorder_leaves_both_calls_done_in_the_order_of_arrival(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("reorder", method="UpdateLog", wait_s=3000)
    with mock.begin("UpdateLog", mock.rows_request(task_id, "first"), runner) as early:
        eventually(lambda: log_rows(mock, task_id) == 1)
        with mock.begin("UpdateLog", mock.rows_request(task_id, "second", index=1), runner) as late:
            assert pb.UpdateLogResponse.FromString(late.receive().body).ack_index == 2
            assert pb.UpdateLogResponse.FromString(early.receive().body).ack_index == 1
    lines = mock.log(task_id).splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["first", "second"]


def test_reorder_without_a_second_call_ends_by_time(mock: FaultCase) -> None:
    mock.fault("reorder", wait_s=3000)
    with mock.begin("Ping") as connection:
        eventually(lambda: mock.entries("Ping")[0]["fault"] == "f")
        mock.advance(3001)
        assert connection.receive().status == 200


@pytest.mark.parametrize(("rows", "ack"), [(-2, 1), (5, 8), (-100, 0)])
def test_wrong_ack_peer_sees_an_index_too_low_or_too_high(mock: FaultCase, rows: int, ack: int) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("wrong-ack", rows=rows)
    assert mock.append(runner, task_id, 0, ["a", "b", "c"]) == ack


def test_wrong_ack_speaks_json_and_gzip_too(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("wrong-ack", rows=-1)
    body = b'{"taskId": "%d", "index": "0", "rows": [{"content": "a"}, {"content": "b"}]}' % task_id
    headers = [("Content-Type", "application/json"), ("Accept-Encoding", "gzip"), *runner.headers]
    assert mock.post("UpdateLog", body, headers).json() == {"ackIndex": "1"}


def test_wrong_ack_leaves_the_rows_stored(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("wrong-ack", rows=-1, times=1)
    assert mock.append(runner, task_id, 0, ["a", "b"]) == 1
    assert log_rows(mock, task_id) == 2
    assert mock.append(runner, task_id, 1, ["b", "c"]) == 3, "a repeated row is not stored twice"
    assert log_rows(mock, task_id) == 3


@pytest.mark.parametrize("skew_s", [86_400, -86_400])
def test_clock_skew_peer_sees_one_date_that_is_off(mock: FaultCase, skew_s: int) -> None:
    mock.fault("clock-skew", skew_s=skew_s)
    reply = mock.answered_ping()
    dates = [value for name, value in reply.headers if name == "date"]
    assert len(dates) == 1
    now_s = mock.control("GET", "/clock")["now_us"] / 1e6
    assert abs(parsedate_to_datetime(dates[0]).timestamp() - now_s - skew_s) < 10


def test_clock_skew_leaves_stored_times_true(mock: FaultCase) -> None:
    mock.fault("clock-skew", skew_s=86_400)
    before = mock.control("GET", "/clock")["now"][:19]
    _, task_id, _ = mock.running_task()
    started = mock.control("GET", f"/tasks/{task_id}")["started_at"][:19]
    assert before <= started <= mock.control("GET", "/clock")["now"][:19]
