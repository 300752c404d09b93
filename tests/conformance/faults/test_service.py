import contextlib
from collections.abc import Callable

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from faultcase import TWO_JOBS, FaultCase, end_of
from rawhttp import Reply


def is_up(mock: FaultCase) -> bool:
    with contextlib.suppress(ConnectionError):
        return mock.answered_ping().status == 200
    return False


def message_of(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json()["message"]


def test_lost_wakeup_peer_sees_the_newest_version_and_no_task(mock: FaultCase) -> None:
    runner, _ = mock.waiting_runner()
    mock.fault("lost-wakeup", times=1)
    lost = mock.fetch(runner, 0)
    assert not lost.HasField("task")
    assert lost.tasks_version > 0
    again = mock.fetch(runner, lost.tasks_version)
    assert not again.HasField("task"), "it sleeps although a job waits"
    mock.enqueue(TWO_JOBS, ref="refs/heads/other")
    assert mock.fetch(runner, lost.tasks_version).HasField("task"), "the next bump wakes it"


def test_lost_wakeup_leaves_the_job_waiting(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("lost-wakeup", times=1)
    mock.fetch(runner)
    job = mock.job(run_id, "a")
    assert (job["status"], job["task"]) == ("waiting", None)


@pytest.mark.parametrize(("profile", "goes_on"), [("gitea-1.27", True), ("gitea-1.25", False), ("forgejo-15", False)])
def test_lost_claim_peer_sees_the_end_of_the_fetch_or_the_next_job(
    case_of: Callable[..., FaultCase], profile: str, goes_on: bool
) -> None:
    mock = case_of(profile)
    runner, _ = mock.waiting_runner(TWO_JOBS)
    mock.fault("lost-claim", times=1)
    answer = mock.fetch(runner)
    assert answer.HasField("task") is goes_on
    assert answer.tasks_version > 0


def test_lost_claim_leaves_the_first_job_waiting(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner(TWO_JOBS)
    mock.fault("lost-claim", times=1)
    mock.fetch(runner)
    assert mock.job(run_id, "a")["status"] == "waiting"
    assert mock.job(run_id, "b")["status"] == "running"
    assert mock.fetch(runner).HasField("task")


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("gitea-1.27", (500, "rpc error: code = Unauthenticated desc = unregistered runner")),
        ("gitea-next", (401, "unregistered runner")),
        ("forgejo-15", (401, "unregistered runner")),
    ],
)
def test_expired_token_peer_is_unregistered_in_the_dialect(
    case_of: Callable[..., FaultCase], profile: str, expected: tuple[int, str]
) -> None:
    mock = case_of(profile)
    runner = mock.runner()
    mock.fault("expired-token", runner="r1", times=1)
    assert message_of(mock.rpc("FetchTask", pb.FetchTaskRequest(), runner)) == expected
    assert mock.last("FetchTask")["outcome"] == "unauthenticated"
    assert mock.fetch(runner).tasks_version > 0


@pytest.mark.parametrize("kind", ["expired-token", "database-busy"])
def test_faults_of_the_service_hit_polls_that_learn_nothing_new_too(mock: FaultCase, kind: str) -> None:
    runner = mock.runner()
    version = mock.fetch(runner).tasks_version
    mock.fault(kind)
    assert mock.rpc("FetchTask", pb.FetchTaskRequest(tasks_version=version), runner).status == 500
    mock.heal()
    assert mock.fetch(runner, version).tasks_version == version


def test_expired_token_over_rest_is_401(mock: FaultCase) -> None:
    mock.fault("expired-token", method="rest")
    assert message_of(mock.rest("GET", "/version")) == (401, "token is expired")


def test_expired_token_leaves_nothing_of_the_call(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("expired-token", method="UpdateLog")
    assert mock.rpc("UpdateLog", mock.rows_request(task_id, "a"), runner).status == 500
    assert mock.control("GET", f"/tasks/{task_id}")["log_rows"] == 0


@pytest.mark.parametrize(
    ("method", "message", "start"),
    [
        ("FetchTask", pb.FetchTaskRequest(), "pick task: "),
        ("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=1)), "update task: "),
        ("UpdateLog", pb.UpdateLogRequest(task_id=1), "get task: "),
    ],
)
def test_database_busy_peer_sees_an_internal_error(
    case_of: Callable[..., FaultCase], method: str, message: pb.FetchTaskRequest, start: str
) -> None:
    mock = case_of("forgejo-15")
    runner = mock.runner()
    mock.fault("database-busy", times=1)
    reply = mock.rpc(method, message, runner)
    assert message_of(reply) == (500, f"{start}database is locked")
    assert mock.last(method)["outcome"] == "internal"


def test_database_busy_takes_its_time(mock: FaultCase) -> None:
    runner = mock.runner()
    mock.fault("database-busy", busy_s=3000, method="FetchTask")
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as connection:
        eventually(lambda: mock.entries("FetchTask"))
        mock.advance(3001)
        assert connection.receive().status == 500
    assert mock.rest("GET", "/version").status == 200


def test_database_busy_leaves_nothing_stored(mock: FaultCase) -> None:
    runner, run_id = mock.waiting_runner()
    mock.fault("database-busy", times=1)
    assert mock.rpc("FetchTask", pb.FetchTaskRequest(), runner).status == 500
    assert mock.job(run_id, "a")["status"] == "waiting"


def test_runner_deleted_peer_is_unregistered_from_now_on(mock: FaultCase) -> None:
    runner, task_id, _ = mock.running_task()
    mock.fault("runner-deleted", method="UpdateTask", task=task_id, times=1)
    request = pb.UpdateTaskRequest(state=pb.TaskState(id=task_id))
    for _ in range(2):
        status, text = message_of(mock.rpc("UpdateTask", request, runner))
        assert (status, text) == (500, "rpc error: code = Unauthenticated desc = unregistered runner")


def test_runner_deleted_leaves_its_task_running_until_it_is_reaped(mock: FaultCase) -> None:
    runner, task_id, run_id = mock.running_task()
    mock.fault("runner-deleted", method="UpdateTask", times=1)
    mock.rpc("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task_id)), runner)
    assert mock.control("GET", "/runners")["runners"] == []
    assert mock.job(run_id, "a")["status"] == "running"
    mock.advance(700)
    mock.control("POST", "/maintenance/stop_zombie_tasks")
    assert mock.job(run_id, "a")["status"] == "failure"


def test_restart_graceful_peer_gets_its_answer_then_a_closed_port(mock: FaultCase) -> None:
    mock.fault("restart", method="Ping", times=1, down_s=3000)
    with mock.connect() as idle, mock.begin("Ping") as connection:
        assert connection.receive().status == 200
        assert end_of(connection) == "fin"
        assert end_of(idle) == "fin"
    eventually(lambda: not is_up(mock))
    mock.advance(3001)
    eventually(lambda: is_up(mock))


def test_restart_graceful_leaves_all_that_was_written_behind(mock: FaultCase) -> None:
    runner = mock.runner()
    mock.fetch(runner)
    seen = mock.control("GET", f"/runners/{runner.id}")["last_online_at"]
    mock.fault("restart", method="Ping", times=1)
    with mock.begin("Ping") as connection:
        assert connection.receive().status == 200
    eventually(lambda: is_up(mock))
    assert mock.control("GET", f"/runners/{runner.id}")["last_online_at"] == seen
    assert mock.fetch(runner).tasks_version > 0


def test_restart_kill_peer_sees_a_reset_then_a_refused_port(mock: FaultCase) -> None:
    mock.fault("restart", mode="kill", method="Ping", times=1, down_s=3000)
    with mock.connect() as idle, mock.begin("Ping") as connection:
        assert end_of(connection) == "rst"
        assert end_of(idle) == "rst"
    with pytest.raises(ConnectionRefusedError):
        eventually(lambda: mock.connect().close(), lambda _: False)
    assert mock.last("Ping", "dropped")["fault"] == "f"
    mock.control("DELETE", "/faults/f")
    mock.advance(2990)
    assert not is_up(mock), "it is down for as long as was asked, whatever happens to the rule"
    mock.advance(11)
    eventually(lambda: is_up(mock))


@pytest.mark.parametrize("mode", ["graceful", "kill"])
def test_one_reset_heals_a_restart_too(mock: FaultCase, mode: str) -> None:
    mock.fault("restart", mode=mode, method="Ping", times=1, down_s=3000)
    with mock.begin("Ping") as connection:
        end_of(connection)
    assert not is_up(mock)
    mock.heal()
    assert is_up(mock)


def test_restart_kill_leaves_claims_and_loses_what_was_in_memory(case_of: Callable[..., FaultCase]) -> None:
    mock = case_of("gitea-1.27", "--clock", "manual")  # nothing is written behind while time stands still
    runner, run_id = mock.waiting_runner()
    stored = mock.control("GET", f"/runners/{runner.id}")["last_online_at"]
    mock.fault("hold", method="FetchTask", stage="after")
    with mock.begin("FetchTask", pb.FetchTaskRequest(), runner) as held:
        eventually(lambda: mock.job(run_id, "a")["status"], lambda status: status == "running")
        assert mock.control("GET", f"/runners/{runner.id}")["last_online_at"] != stored
        mock.control("POST", "/faults", {"name": "kill", "kind": "restart", "mode": "kill", "method": "Ping"})
        with mock.begin("Ping") as connection:
            end_of(connection)
        assert end_of(held) == "rst"
    mock.heal()
    eventually(lambda: is_up(mock))
    mock.settle()
    assert mock.job(run_id, "a")["status"] == "running", "a dead process gives no claim back"
    assert mock.control("GET", f"/runners/{runner.id}")["last_online_at"] == stored
