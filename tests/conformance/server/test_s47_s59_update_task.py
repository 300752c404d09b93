"""UpdateTask, S47 to S59."""

from typing import Any

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from profiles import NEW, every_profile_but, holds_for
from serverproc import Identity, Mock

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: 'true'\n      - run: 'true'\n"
CHAIN = """
on: push
jobs:
  a: {runs-on: linux, outputs: {o: x}, steps: [{run: 'true'}]}
  plain: {needs: a, runs-on: linux, steps: [{run: 'true'}]}
  always: {needs: a, if: always(), runs-on: linux, steps: [{run: 'true'}]}
"""
START = 1_700_000_000


@pytest.fixture
def runner(mock: Mock) -> Identity:
    return mock.runner()


@pytest.fixture
def run_id(mock: Mock) -> int:
    return int(mock.enqueue(ONE, sha="b" * 40)["run_id"])


@pytest.fixture
def task(mock: Mock, runner: Identity, run_id: int) -> pb.Task:
    assert run_id
    return mock.take(runner)


def step(number: int, result: int = 0, *, started: int = 0, stopped: int = 0, index: int = 0, length: int = 0) -> Any:
    made = pb.StepState(id=number, result=result, log_index=index, log_length=length)
    if started:
        made.started_at.seconds = started
        made.started_at.nanos = 900_000_000
    if stopped:
        made.stopped_at.seconds = stopped
    return made


def stored(mock: Mock, task_id: int) -> Any:
    return mock.control("GET", f"/tasks/{task_id}")


@holds_for()
def test_s47_heartbeat_answers_zero_and_refreshes_the_task(mock: Mock, runner: Identity, task: pb.Task) -> None:
    before = stored(mock, task.id)["updated_at"]
    mock.control("POST", "/clock/advance", {"seconds": 30})
    answer = mock.update(runner, task.id)
    assert (answer.state.id, answer.state.result) == (task.id, 0)
    assert not answer.state.HasField("started_at")
    assert not answer.state.steps
    after = stored(mock, task.id)
    assert after["status"] == "running"
    assert after["updated_at"] > before


@holds_for()
def test_s48_started_step_is_running_with_its_positions(mock: Mock, runner: Identity, task: pb.Task) -> None:
    mock.update(runner, task.id, steps=[step(0, started=START, index=2, length=3), step(1)])
    first, second = stored(mock, task.id)["steps"]
    assert (first["status"], first["log_index"], first["log_length"]) == ("running", 2, 3)
    assert second["status"] == "waiting"


@holds_for()
def test_s49_success_of_the_only_job_finishes_the_run(mock: Mock, runner: Identity, run_id: int, task: pb.Task) -> None:
    request = pb.UpdateTaskRequest(state=pb.TaskState(id=task.id, result=pb.RESULT_SUCCESS))
    request.state.stopped_at.seconds = START + 7
    answer = mock.call("UpdateTask", request, pb.UpdateTaskResponse, runner)
    assert answer.state.result == pb.RESULT_SUCCESS
    run = eventually(lambda: mock.run(run_id), lambda run: run["status"] == "success")
    assert run["jobs"][0]["status"] == "success"
    assert stored(mock, task.id)["status"] == "success"
    mock.settle()
    statuses = mock.control("GET", "/commit-statuses", repository="demo/demo", sha="b" * 40)
    (status,) = statuses["statuses"]
    assert status["state"] == "success"
    assert status["context"].endswith("/ a (push)")


@holds_for()
@pytest.mark.parametrize("second", [pb.RESULT_FAILURE, pb.RESULT_CANCELLED, 0])
def test_s50_final_task_keeps_its_result(mock: Mock, runner: Identity, task: pb.Task, second: int) -> None:
    mock.update(runner, task.id, pb.RESULT_SUCCESS, steps=[step(0, pb.RESULT_SUCCESS, started=START)])
    before = stored(mock, task.id)
    answer = mock.update(runner, task.id, second, steps=[step(0, pb.RESULT_FAILURE, started=START + 9)])
    assert answer.state.result == pb.RESULT_SUCCESS
    after = stored(mock, task.id)
    assert (after["status"], after["steps"]) == (before["status"], before["steps"])


@holds_for()
def test_s51_unknown_task_is_an_internal_error(mock: Mock, runner: Identity, refused) -> None:  # type: ignore[no-untyped-def]
    reply = mock.rpc("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=987_654)), runner)
    refused(reply, "internal", "update task: resource does not exist")


@every_profile_but("gitea-1.20", "gitea-1.21")
def test_s52_another_runners_task_is_refused(mock: Mock, runner: Identity, task: pb.Task, refused) -> None:  # type: ignore[no-untyped-def]
    other = mock.runner(name="r2")
    reply = mock.rpc("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task.id)), other)
    refused(reply, "internal", "update task: invalid runner for task")
    assert runner != other


@holds_for("gitea-1.21")
def test_s52_old_server_does_not_look_at_the_owner(mock: Mock, runner: Identity, task: pb.Task) -> None:
    other = mock.runner(name="r2")
    assert runner != other
    assert mock.update(other, task.id).state.id == task.id


@holds_for()
def test_s53_first_output_value_wins(mock: Mock, runner: Identity, run_id: int, task: pb.Task) -> None:
    assert list(mock.update(runner, task.id, outputs={"a": "1"}).sent_outputs) == ["a"]
    answer = mock.update(runner, task.id, outputs={"a": "2", "b": "3"})
    assert sorted(answer.sent_outputs) == ["a", "b"]
    assert mock.job(run_id, "a")["task"]["outputs"] == {"a": "1", "b": "3"}


@holds_for()
def test_s53_outputs_are_stored_after_the_end_too(mock: Mock, runner: Identity, task: pb.Task) -> None:
    mock.update(runner, task.id, pb.RESULT_SUCCESS)
    assert list(mock.update(runner, task.id, pb.RESULT_SUCCESS, outputs={"late": "1"}).sent_outputs) == ["late"]


@holds_for()
def test_s54_oversized_outputs_are_dropped_without_error(mock: Mock, runner: Identity, task: pb.Task) -> None:
    limit = 1_048_576
    outputs = {"k" * 256: "v", "k" * 255: "v", "big": "x" * (limit + 1), "full": "x" * limit}
    assert sorted(mock.update(runner, task.id, outputs=outputs).sent_outputs) == sorted(["k" * 255, "full"])


def cancel(mock: Mock, run_id: int) -> None:
    mock.control("POST", f"/runs/{run_id}/cancel")


@holds_for()
def test_s55_cancel_without_support_ends_the_task_at_once(
    mock: Mock, runner: Identity, run_id: int, task: pb.Task
) -> None:
    mock.update(runner, task.id, steps=[step(0, started=START)])
    cancel(mock, run_id)
    after = stored(mock, task.id)
    assert after["status"] == "cancelled"
    assert {one["status"] for one in after["steps"]} == {"cancelled"}
    assert mock.update(runner, task.id).state.result == pb.RESULT_CANCELLED
    assert mock.update(runner, task.id, pb.RESULT_SUCCESS).state.result == pb.RESULT_CANCELLED
    old_rule = mock.profile in {"gitea-1.20", "gitea-1.21"}  # there a cancelled job makes the run a failure
    assert mock.run(run_id)["status"] == ("failure" if old_rule else "cancelled")
    assert mock.append(runner, task.id, 0, ["late"]) == 1


@holds_for("gitea-1.25", "gitea-1.27", "forgejo-15")
def test_s55_cancelled_ephemeral_runner_is_unregistered(mock: Mock, refused) -> None:  # type: ignore[no-untyped-def]
    runner = mock.runner(ephemeral=True)
    run_id = mock.enqueue(ONE)["run_id"]
    task = mock.take(runner)
    cancel(mock, run_id)
    reply = mock.rpc("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task.id)), runner)
    refused(reply, "unauthenticated", "unregistered runner")


@holds_for(*NEW)
def test_s56_cancel_with_support_waits_for_the_runner(mock: Mock, runner: Identity, run_id: int) -> None:
    mock.call("Declare", pb.DeclareRequest(labels=["linux"], capabilities=["cancelling"]), pb.DeclareResponse, runner)
    task = mock.take(runner)
    cancel(mock, run_id)
    assert stored(mock, task.id)["status"] == "cancelling"
    cancel(mock, run_id)
    assert stored(mock, task.id)["status"] == "cancelling"
    assert mock.update(runner, task.id).state.result == pb.RESULT_CANCELLED
    assert stored(mock, task.id)["status"] == "cancelling"
    assert mock.update(runner, task.id, pb.RESULT_SUCCESS).state.result == pb.RESULT_CANCELLED
    assert (stored(mock, task.id)["status"], mock.run(run_id)["status"]) == ("cancelled", "cancelled")


@every_profile_but("gitea-1.20")
def test_s57_dependant_becomes_waiting_with_result_and_outputs(mock: Mock, runner: Identity) -> None:
    mock.enqueue(CHAIN)
    task = mock.take(runner)
    version = mock.fetch(runner).tasks_version
    mock.update(runner, task.id, pb.RESULT_SUCCESS, outputs={"o": "42"})
    answer = eventually(lambda: mock.fetch(runner, version), lambda answer: answer.HasField("task"))
    assert answer.tasks_version > version
    need = answer.task.needs["a"]
    assert (need.result, dict(need.outputs)) == (pb.RESULT_SUCCESS, {"o": "42"})


@holds_for()
def test_s58_failed_need_skips_all_but_always(mock: Mock, runner: Identity) -> None:
    run_id = mock.enqueue(CHAIN)["run_id"]
    task = mock.take(runner)
    mock.update(runner, task.id, pb.RESULT_FAILURE)
    eventually(lambda: mock.job(run_id, "always")["status"], lambda status: status == "waiting")
    eventually(lambda: mock.job(run_id, "plain")["status"], lambda status: status == "skipped")
    dependant = mock.take(runner)
    assert dependant.needs["a"].result == pb.RESULT_FAILURE


@holds_for()
def test_s59_missing_step_falls_back_to_running_and_zero_erases_nothing(
    mock: Mock, runner: Identity, task: pb.Task
) -> None:
    done = step(0, pb.RESULT_SUCCESS, started=START, stopped=START + 2, index=2, length=3)
    mock.update(runner, task.id, steps=[done, step(1)])
    full = stored(mock, task.id)["steps"][0]
    assert full["status"] == "success"
    mock.update(runner, task.id, steps=[step(1)])
    kept = stored(mock, task.id)["steps"][0]
    assert kept == {**full, "status": "running"}
    mock.update(runner, task.id, steps=[step(0, pb.RESULT_SUCCESS), step(1)])
    assert stored(mock, task.id)["steps"][0] == full
    mock.update(runner, task.id, steps=[step(0), step(1), step(7, pb.RESULT_FAILURE, started=START)])
    after = stored(mock, task.id)["steps"]
    assert len(after) == 2, "extra step ids are ignored"
    assert after[1]["status"] == "waiting"


@holds_for("gitea-1.27", "forgejo-15")
def test_update_task_cuts_times_to_whole_seconds(mock: Mock, runner: Identity, task: pb.Task) -> None:
    mock.update(runner, task.id, steps=[step(0, started=START)])
    assert stored(mock, task.id)["steps"][0]["started_at"] == "2023-11-14T22:13:20.000000Z"


@holds_for("gitea-1.27", "forgejo-15")
def test_update_task_with_absurd_times_keeps_the_server_up(mock: Mock, runner: Identity, task: pb.Task) -> None:
    request = pb.UpdateTaskRequest(state=pb.TaskState(id=task.id, result=pb.RESULT_SUCCESS))
    request.state.stopped_at.seconds = 2**62
    request.state.steps.append(pb.StepState(id=0, log_index=2**62, log_length=2**62))
    request.state.steps[0].started_at.seconds = -(2**62)
    request.state.steps[0].started_at.nanos = -5
    reply = mock.rpc("UpdateTask", request, runner)
    assert reply.status in {200, 400}, reply
    assert mock.ping("still there") == "Hello, still there!"
    assert stored(mock, task.id)["id"] == task.id


@holds_for()
def test_update_task_without_state_is_an_error_and_the_server_goes_on(mock: Mock, runner: Identity) -> None:
    reply = mock.rpc("UpdateTask", pb.UpdateTaskRequest(), runner)
    assert reply.status >= 400
    assert mock.ping("r1") == "Hello, r1!"
