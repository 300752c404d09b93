"""UpdateLog, S60 to S71."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from profiles import NEW, every_profile_but, holds_for
from serverproc import BASE, PROTO, VERSION, Identity, Mock

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: 'true'\n"
STAMP = "2023-11-14T22:13:20.5000000Z"


@pytest.fixture
def runner(mock: Mock) -> Identity:
    return mock.runner()


@pytest.fixture
def task(mock: Mock, runner: Identity) -> int:
    mock.enqueue(ONE)
    return int(mock.take(runner).id)


def lines(mock: Mock, task: int) -> list[str]:
    return [line.removeprefix(f"{STAMP} ") for line in mock.log(task).splitlines()]


@holds_for()
def test_s60_append_at_the_start(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, ["a", "b", "c"]) == 3
    assert mock.log(task) == "".join(f"{STAMP} {row}\n" for row in "abc")


@holds_for()
def test_s61_repeat_stores_nothing(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 0, ["x", "y", "z"]) == 3
    assert mock.append(runner, task, 1, ["y"]) == 3
    assert lines(mock, task) == ["a", "b", "c"]


@holds_for()
def test_s62_overlap_stores_the_fresh_rows_only(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 2, ["other", "d"]) == 4
    assert lines(mock, task) == ["a", "b", "c", "d"]


@holds_for()
def test_s63_gap_stores_nothing(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 5, ["f"]) == 3
    assert mock.append(runner, task, 5, ["f"], no_more=True) == 3
    assert lines(mock, task) == ["a", "b", "c"]
    assert not mock.control("GET", f"/tasks/{task}")["is_log_sealed"]


@holds_for()
def test_s64_gap_does_not_seal(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 5, no_more=True) == 3
    assert not mock.control("GET", f"/tasks/{task}")["is_log_sealed"]
    assert mock.append(runner, task, 3, ["d"]) == 4


@holds_for()
def test_s65_empty_final_call_seals_on_new_servers_only(mock: Mock, profile: str, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 3, no_more=True) == 3
    assert mock.control("GET", f"/tasks/{task}")["is_log_sealed"] is (profile in NEW)


@holds_for(*NEW)
def test_s65_repeated_rows_with_no_more_seal_too(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a", "b", "c"])
    assert mock.append(runner, task, 1, ["b", "c"], no_more=True) == 3
    assert mock.control("GET", f"/tasks/{task}")["is_log_sealed"]


@holds_for()
def test_s66_sealed_log_answers_repeats(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, ["a", "b", "c", "d"], no_more=True) == 4
    assert mock.control("GET", f"/tasks/{task}")["is_log_sealed"]
    for index, rows in ((0, ["a", "b", "c", "d"]), (3, ["d"]), (4, []), (9, ["z"])):
        for no_more in (True, False):
            assert mock.append(runner, task, index, rows, no_more=no_more) == 4


@holds_for()
def test_s67_sealed_log_refuses_fresh_rows(mock: Mock, runner: Identity, task: int, refused) -> None:  # type: ignore[no-untyped-def]
    mock.append(runner, task, 0, ["a", "b", "c", "d"], no_more=True)
    for index, rows in ((4, ["e"]), (2, ["c", "d", "e"])):
        request = pb.UpdateLogRequest(task_id=task, index=index, rows=mock.rows(*rows))
        refused(mock.rpc("UpdateLog", request, runner), "already_exists", "log file has been archived")
    assert lines(mock, task) == ["a", "b", "c", "d"]


@holds_for(*NEW)
def test_s68_empty_log_can_be_sealed(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, no_more=True) == 0
    assert mock.control("GET", f"/tasks/{task}")["is_log_sealed"]


@every_profile_but(*NEW)
def test_s68_old_servers_leave_an_empty_log_open(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, no_more=True) == 0
    assert mock.append(runner, task, 0, ["a"]) == 1


@holds_for()
def test_s69_line_feeds_are_spelled_out_and_long_rows_cut(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, ["two\nlines", "x" * 70_000, "after", "y" * 65_535 + "\nzz"]) == 4
    rows = lines(mock, task)
    assert rows[0] == "two\\nlines"
    assert rows[1] == "x" * 65_536
    assert rows[2] == "after"
    assert rows[3] == "y" * 65_535 + "\\", "the cut comes after the line feed is spelled out"


@holds_for("gitea-1.27")
def test_s69_cut_may_fall_inside_a_character(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, ["x" * 65_535 + "é", "next"]) == 2
    body = mock.control_reply("GET", f"/tasks/{task}/log").body
    assert body.startswith(f"{STAMP} ".encode() + b"x" * 65_535 + "é".encode()[:1] + b"\n")


@holds_for()
def test_s70_final_task_still_takes_rows(mock: Mock, runner: Identity, task: int) -> None:
    mock.append(runner, task, 0, ["a"])
    mock.update(runner, task, pb.RESULT_SUCCESS)
    assert mock.append(runner, task, 1, ["b"]) == 2
    assert lines(mock, task) == ["a", "b"]


@holds_for()
def test_s71_unknown_task_is_named(mock: Mock, runner: Identity, refused) -> None:  # type: ignore[no-untyped-def]
    reply = mock.rpc("UpdateLog", pb.UpdateLogRequest(task_id=424_242, rows=mock.rows("a")), runner)
    refused(reply, "internal", "get task: task with id 424242: resource does not exist")


@every_profile_but("gitea-1.20", "gitea-1.21")
def test_s71_another_runners_task_is_refused(mock: Mock, task: int, refused) -> None:  # type: ignore[no-untyped-def]
    reply = mock.rpc("UpdateLog", pb.UpdateLogRequest(task_id=task, rows=mock.rows("a")), mock.runner(name="r2"))
    refused(reply, "internal", "invalid runner for task")


@holds_for("gitea-1.27", "forgejo-15")
def test_update_log_of_a_running_task_may_be_sealed(mock: Mock, runner: Identity, task: int) -> None:
    assert mock.append(runner, task, 0, ["a"], no_more=True) == 1
    assert mock.control("GET", f"/tasks/{task}")["status"] == "running"


@holds_for("gitea-1.27", "forgejo-15")
def test_update_log_with_absurd_times_keeps_the_row(mock: Mock, runner: Identity, task: int) -> None:
    request = pb.UpdateLogRequest(task_id=task)
    for seconds, nanos in ((2**62, 0), (-(2**62), 0), (0, -1), (253_402_300_800, 999_999_999), (0, 2**31 - 1)):
        row = request.rows.add(content="odd")
        row.time.seconds, row.time.nanos = seconds, nanos
    request.rows.add(content="timeless")
    reply = mock.rpc("UpdateLog", request, runner)
    if reply.status == 200:
        assert pb.UpdateLogResponse.FromString(reply.body).ack_index == 6
        stored = mock.log(task).splitlines()
        assert len(stored) == 6
        assert stored[-1] == "1970-01-01T00:00:00.0000000Z timeless"
    else:
        assert (reply.status, reply.json()["code"]) == (400, "invalid_argument")
        assert mock.append(runner, task, 0, ["fine"]) == 1


@holds_for("gitea-1.27")
def test_update_log_from_many_connections_stores_each_row_once(mock: Mock, runner: Identity, task: int) -> None:
    contents = [f"row {number}" for number in range(200)]
    request = pb.UpdateLogRequest(task_id=task, index=0, rows=mock.rows(*contents)).SerializeToString()
    headers = [PROTO, VERSION, *runner.headers]

    def send(_: int) -> int:
        with mock.connect() as connection:
            reply = connection.request("POST", f"{BASE}/runner.v1.RunnerService/UpdateLog", headers, request)
        return int(pb.UpdateLogResponse.FromString(reply.body).ack_index)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(send, range(16))) == {200}
    assert lines(mock, task) == contents


@holds_for("gitea-1.27")
def test_update_log_beyond_the_body_limit_is_refused_and_nothing_is_lost(
    mock: Mock, runner: Identity, task: int
) -> None:
    mock.append(runner, task, 0, ["kept"])
    huge = pb.UpdateLogRequest(task_id=task, index=1, rows=mock.rows("z" * (100 * 1024 * 1024)))
    reply = mock.rpc("UpdateLog", huge, runner)
    if reply.status == 200:
        assert len(lines(mock, task)[1]) == 65_536
    else:
        assert (reply.status, reply.json()["code"]) == (429, "resource_exhausted")
        assert mock.append(runner, task, 1, ["next"]) == 2
        assert lines(mock, task) == ["kept", "next"]
