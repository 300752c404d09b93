"""Lifecycle and page, S72 to S78."""

import re
from typing import Any

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from profiles import NEW, every_profile_but, holds_for
from rawhttp import Reply
from serverproc import Identity, Mock

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: 'true'\n"
BLOCKED = ONE + "  b:\n    needs: a\n    runs-on: linux\n    steps:\n      - run: 'true'\n"
REST_LOGS = ("gitea-1.25", "gitea-1.27", "gitea-next")
START = 1_700_000_000


@pytest.fixture
def runner(mock: Mock) -> Identity:
    return mock.runner()


@pytest.fixture
def run(mock: Mock) -> Any:
    return mock.enqueue(ONE)


def advance(mock: Mock, seconds: float) -> None:
    mock.control("POST", "/clock/advance", {"seconds": seconds})


def maintain(mock: Mock, name: str) -> None:
    mock.control("POST", f"/maintenance/{name}")
    mock.settle()


@holds_for()
def test_s72_silent_task_is_reaped_as_failure(mock: Mock, runner: Identity, run: Any, refused) -> None:  # type: ignore[no-untyped-def]
    task = mock.take(runner)
    mock.append(runner, task.id, 0, ["last words"])
    advance(mock, 9 * 60)
    maintain(mock, "stop_zombie_tasks")
    assert mock.control("GET", f"/tasks/{task.id}")["status"] == "running"
    advance(mock, 2 * 60)
    maintain(mock, "stop_zombie_tasks")
    stored = mock.control("GET", f"/tasks/{task.id}")
    assert (stored["status"], stored["is_log_sealed"]) == ("failure", True)
    assert mock.run(run["run_id"])["status"] == "failure"
    assert mock.update(runner, task.id).state.result == pb.RESULT_FAILURE
    late = pb.UpdateLogRequest(task_id=task.id, index=1, rows=mock.rows("late"))
    refused(mock.rpc("UpdateLog", late, runner), "already_exists", "log file has been archived")


@holds_for()
def test_s72_reaped_task_without_rows_is_not_sealed(mock: Mock, runner: Identity, run: Any) -> None:
    task = mock.take(runner)
    advance(mock, 11 * 60)
    maintain(mock, "stop_zombie_tasks")
    stored = mock.control("GET", f"/tasks/{task.id}")
    assert run
    assert (stored["status"], stored["is_log_sealed"]) == ("failure", False)


@holds_for()
@pytest.mark.parametrize("sign_of_life", ["state", "rows"])
def test_s72_reporting_task_is_no_zombie_but_may_be_endless(
    mock: Mock, runner: Identity, run: Any, sign_of_life: str
) -> None:
    task = mock.take(runner)
    for number in range(18):  # 171 minutes: below the three hours after which the server's own rounds end the task
        advance(mock, 9.5 * 60)
        if sign_of_life == "state":
            mock.update(runner, task.id)
        else:
            mock.append(runner, task.id, number, ["row"])
        maintain(mock, "stop_zombie_tasks")
    assert run
    assert mock.control("GET", f"/tasks/{task.id}")["status"] == "running"
    advance(mock, 9.5 * 60)
    maintain(mock, "stop_endless_tasks")
    assert mock.control("GET", f"/tasks/{task.id}")["status"] == "failure"


@holds_for(*NEW)
def test_s72_cancelling_zombie_ends_cancelled(mock: Mock, runner: Identity, run: Any) -> None:
    mock.call("Declare", pb.DeclareRequest(labels=["linux"], capabilities=["cancelling"]), pb.DeclareResponse, runner)
    task = mock.take(runner)
    mock.control("POST", f"/runs/{run['run_id']}/cancel")
    advance(mock, 11 * 60)
    maintain(mock, "stop_zombie_tasks")
    assert mock.control("GET", f"/tasks/{task.id}")["status"] == "cancelled"


@holds_for("gitea-1.25", "gitea-1.27", "forgejo-15")
def test_s72_reaped_ephemeral_runner_is_unregistered(mock: Mock, run: Any, refused) -> None:  # type: ignore[no-untyped-def]
    runner = mock.runner(ephemeral=True)
    task = mock.take(runner)
    assert run
    advance(mock, 11 * 60)
    maintain(mock, "stop_zombie_tasks")
    reply = mock.rpc("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task.id)), runner)
    refused(reply, "unauthenticated", "unregistered runner")


@holds_for("gitea-1.27")
def test_s72_one_task_can_be_aged_alone(mock: Mock) -> None:
    healthy, dead = mock.runner(name="healthy"), mock.runner(name="dead")
    mock.enqueue(ONE)
    mock.enqueue(ONE)
    kept, reaped = mock.take(healthy), mock.take(dead)
    mock.control("POST", f"/tasks/{reaped.id}/age", {"seconds": 11 * 60})
    maintain(mock, "stop_zombie_tasks")
    assert mock.control("GET", f"/tasks/{reaped.id}")["status"] == "failure"
    assert mock.control("GET", f"/tasks/{kept.id}")["status"] == "running"


@holds_for()
def test_s73_job_waiting_for_a_day_is_abandoned(mock: Mock) -> None:
    run_id = mock.enqueue(BLOCKED)["run_id"]
    advance(mock, 23 * 3600)
    maintain(mock, "cancel_abandoned_jobs")
    assert mock.job(run_id, "a")["status"] == "waiting"
    advance(mock, 2 * 3600)
    maintain(mock, "cancel_abandoned_jobs")
    assert {job["status"] for job in mock.run(run_id)["jobs"]} == {"cancelled"}


@holds_for()
def test_s74_runner_state_follows_its_calls(mock: Mock, runner: Identity, run: Any) -> None:
    def status() -> str:
        return str(mock.control("GET", f"/runners/{runner.id}")["status"])

    task = mock.take(runner)
    assert run
    advance(mock, 100)
    mock.update(runner, task.id)
    assert status() == "active"
    advance(mock, 15)
    assert status() == "idle"
    advance(mock, 100)
    assert status() == "offline"
    mock.fetch(runner)
    assert status() == "idle"


# --- the page


def page_path(mock: Mock, run_id: int, job_id: str) -> str:
    run = mock.run(run_id)
    rows = run["jobs"]
    position = [job["job_id"] for job in rows].index(job_id)
    if mock.profile in NEW:
        return f"/demo/demo/actions/runs/{run_id}/jobs/{rows[position]['id']}"
    path = f"/demo/demo/actions/runs/{run['number']}/jobs/{position}"
    return f"{path}/attempt/{rows[position]['attempt']}" if mock.profile == "forgejo-15" else path


def poll(mock: Mock, path: str, cursors: list[dict[str, Any]], headers: list[tuple[str, str]] | None = None) -> Reply:
    return mock.web(path, {"logCursors": cursors}, headers if headers is not None else csrf(mock, path))


def csrf(mock: Mock, path: str) -> list[tuple[str, str]]:
    """What the page of an older server sends along: the token that the HTML carries."""
    if mock.profile in {*NEW, "forgejo-15"}:
        return []
    page = mock.http("GET", path).body.decode()
    found = re.search(r"csrfToken: '([^']+)'", page) or re.search(r'name="_csrf" content="([^"]+)"', page)
    assert found, page[:2000]
    return [("X-Csrf-Token", found.group(1))]


def cursor(step: int, at: int | None = None, *, expanded: bool = True) -> dict[str, Any]:
    return {"step": step, "cursor": at, "expanded": expanded}


def step(number: int, result: int = 0, *, index: int = 0, length: int = 0, started: int = START) -> Any:
    made = pb.StepState(id=number, result=result, log_index=index, log_length=length)
    made.started_at.seconds = started
    return made


@holds_for()
def test_s75_rows_show_under_the_step_once_stored_and_covered(mock: Mock, runner: Identity, run: Any) -> None:
    task = mock.take(runner)
    mock.append(runner, task.id, 0, [f"row {number}" for number in range(5)])
    mock.update(runner, task.id, steps=[step(0, index=2, length=0)])
    path = page_path(mock, run["run_id"], "a")
    answer = poll(mock, path, [cursor(0), cursor(1)]).json()
    setup, own = answer["logs"]["stepsLog"]
    assert (len(setup["lines"]), setup["cursor"]) == (2, 2)
    assert (own["lines"], own["cursor"]) == ([], 0)
    mock.update(runner, task.id, steps=[step(0, index=2, length=3)])
    (own,) = poll(mock, path, [cursor(1, 0)]).json()["logs"]["stepsLog"]
    assert ([line["index"] for line in own["lines"]], own["cursor"]) == ([1, 2, 3], 3)
    assert [line["message"] for line in own["lines"]] == ["row 2", "row 3", "row 4"]
    assert own["lines"][0]["timestamp"] == START + 0.5
    assert answer["state"]["run"]["done"] is False
    assert [one["summary"] for one in answer["state"]["currentJob"]["steps"]][0::2] == ["Set up job", "Complete job"]


@holds_for()
def test_s76_cursor_goes_on_where_it_was(mock: Mock, runner: Identity, run: Any) -> None:
    task = mock.take(runner)
    path = page_path(mock, run["run_id"], "a")
    mock.append(runner, task.id, 0, [f"row {number}" for number in range(4)])
    mock.update(runner, task.id, steps=[step(0, index=0, length=5)])
    (own,) = poll(mock, path, [cursor(1, 2)]).json()["logs"]["stepsLog"]
    assert ([line["index"] for line in own["lines"]], own["cursor"]) == ([3, 4], 4)
    mock.append(runner, task.id, 4, ["row 4"])
    (own,) = poll(mock, path, [cursor(1, 2)]).json()["logs"]["stepsLog"]
    assert ([line["index"] for line in own["lines"]], own["cursor"]) == ([3, 4, 5], 5)
    (own,) = poll(mock, path, [cursor(1, 5)]).json()["logs"]["stepsLog"]
    assert (own["lines"], own["cursor"]) == ([], 5)
    assert poll(mock, path, [cursor(1, 2, expanded=False)]).json()["logs"]["stepsLog"] == []


@holds_for()
def test_page_refuses_a_step_that_does_not_exist(mock: Mock, runner: Identity, run: Any) -> None:
    mock.take(runner)
    assert poll(mock, page_path(mock, run["run_id"], "a"), [cursor(9)]).status == 500


@holds_for()
def test_page_of_a_job_without_task_has_no_steps(mock: Mock, run: Any, profile: str) -> None:
    if profile == "forgejo-15":
        path = page_path(mock, run["run_id"], "a").rsplit("/", 1)[0] + "/0"
    else:
        path = page_path(mock, run["run_id"], "a")
    answer = poll(mock, path, []).json()
    assert answer["state"]["currentJob"]["steps"] == []
    assert answer["logs"]["stepsLog"] == []


@holds_for()
def test_page_refuses_another_sites_request(mock: Mock, run: Any) -> None:
    path = page_path(mock, run["run_id"], "a")
    if mock.profile in {*NEW, "forgejo-15"}:
        headers = [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "cross-site")]
    else:
        headers = []
    assert poll(mock, path, [], headers).status in {400, 403}


def download(mock: Mock, run_id: int) -> Reply:
    job = mock.job(run_id, "a")
    if mock.profile in REST_LOGS:
        return mock.rest("GET", f"/repos/demo/demo/actions/jobs/{job['id']}/logs")
    return mock.http("GET", page_path(mock, run_id, "a") + "/logs")


@holds_for()
def test_s77_download_shows_the_stored_lines(mock: Mock, runner: Identity, run: Any, profile: str) -> None:
    if profile == "forgejo-15":
        assert mock.http("GET", page_path(mock, run["run_id"], "a") + "/logs").status == 404
    else:
        assert download(mock, run["run_id"]).status == 404
    task = mock.take(runner)
    if not profile.startswith("forgejo"):
        assert download(mock, run["run_id"]).status == 404
    mock.append(runner, task.id, 0, ["one", "two"])
    open_log = download(mock, run["run_id"])
    assert open_log.status == 200
    assert (open_log.header("content-type") or "").startswith("text/plain")
    assert open_log.body.decode() == "2023-11-14T22:13:20.5000000Z one\n2023-11-14T22:13:20.5000000Z two\n"
    mock.append(runner, task.id, 2, ["three"], no_more=True)
    sealed = download(mock, run["run_id"])
    assert sealed.body.decode() == open_log.body.decode() + "2023-11-14T22:13:20.5000000Z three\n"


@holds_for()
def test_s78_rerun_makes_a_new_task_of_the_same_run(mock: Mock, runner: Identity, run: Any, profile: str) -> None:
    first = mock.take(runner)
    mock.update(runner, first.id, pb.RESULT_FAILURE)
    eventually(lambda: mock.run(run["run_id"])["status"], lambda status: status == "failure")
    old_job = mock.job(run["run_id"], "a")["id"]
    mock.control("POST", f"/runs/{run['run_id']}/rerun", {})
    again = mock.take(runner)
    assert again.id > first.id
    assert again.context["run_id"] == first.context["run_id"]
    assert again.context["run_number"] == first.context["run_number"]
    assert (first.context["run_attempt"], again.context["run_attempt"]) == ("1", "2")
    assert (mock.job(run["run_id"], "a")["id"] != old_job) is (profile in NEW)


@every_profile_but()
def test_s78_unfinished_run_cannot_be_rerun(mock: Mock, runner: Identity, run: Any) -> None:
    mock.take(runner)
    assert mock.control_reply("POST", f"/runs/{run['run_id']}/rerun", {}).status in {400, 409}
