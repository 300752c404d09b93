"""F138 to F146: what a server knows after it was killed, who may still write, its database, and exit statuses."""

import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from actionswire.result import Result
from enginejob import run as run_job
from enginejob import workflow
from mockgitea.testing import CallRefused, MockGitea, PlayedRunner
from serverproc import Identity, Mock, ServerProcess

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
SERIAL = """
on: push
concurrency: {group: release}
jobs:
  a:
    runs-on: linux
    steps: [{run: echo hello}]
"""
TWO = """
on: push
jobs:
  a: {runs-on: linux, steps: [{run: echo hello}]}
  b: {needs: a, runs-on: linux, steps: [{run: echo hello}]}
"""


@dataclass
class Crashed:
    """A server that was killed and started again, and what it had been told before."""

    mock: Mock
    runner: Identity
    done: int
    lost: int
    lost_task: int
    half: int
    holder: int
    holder_task: int
    follower: int


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crashed]:
    """One crash for all: a finished run, one whose runner died, one half done, and two that share a group."""
    folder = tmp_path_factory.mktemp("crashed")
    ports = ("--port", "0", "--control-port", "0", "--database", str(folder / "mock.db"))
    server = ServerProcess(*ports, folder=folder)
    try:
        mock = Mock(server, "gitea-1.27")
        runner, dead = mock.runner(), mock.runner(name="dead")
        done = mock.enqueue(ONE)["run_id"]
        finish(mock, runner)
        lost = mock.enqueue(ONE)["run_id"]
        lost_task = mock.take(dead).id
        holder = mock.enqueue(SERIAL)["run_id"]
        holder_task = mock.take(runner).id
        follower = mock.enqueue(SERIAL)["run_id"]
        half = mock.enqueue(TWO)["run_id"]
        finish(mock, runner)
        server.kill()
        server.start()
        mock.ready = server.ready
        yield Crashed(mock, runner, done, lost, lost_task, half, holder, holder_task, follower)
    finally:
        server.kill()


def finish(mock: Mock, runner: Identity, task: int = 0) -> None:
    task = task or mock.take(runner).id
    mock.append(runner, task, 0, ["row"], no_more=True)
    mock.update(runner, task, 1)
    mock.settle()


def started(played: PlayedRunner) -> int:
    task = played.fetch()
    assert task is not None
    return int(task["id"])


def test_f139_finished_run_is_not_executed_again_after_a_crash(crashed: Crashed) -> None:
    """Builds were queued before they were saved, so finished ones ran again after a restart.

    What had ended has ended, with its log, and so has the finished half of a run.
    """
    mock = crashed.mock
    run = mock.run(crashed.done)
    assert run["status"] == "success"
    assert run["jobs"][0]["task"]["is_log_sealed"]
    assert mock.log(run["jobs"][0]["task"]["id"]).count("row") == 1
    assert mock.run(crashed.half)["jobs"][0]["status"] == "success"


def test_f140_half_done_run_and_its_serial_group_go_on_after_a_crash(crashed: Crashed) -> None:
    """A restart between two transitions lost a build while it still blocked its group.

    The dependent job is offered, and the run that waits for its group follows when the first one has ended.
    """
    mock, runner = crashed.mock, crashed.runner
    assert mock.run(crashed.follower)["status"] == "blocked"
    finish(mock, runner)
    assert mock.run(crashed.half)["status"] == "success"
    assert not mock.fetch(runner).HasField("task")
    finish(mock, runner, crashed.holder_task)
    finish(mock, runner)
    assert [mock.run(run)["status"] for run in (crashed.holder, crashed.follower)] == ["success", "success"]


def test_f138_task_whose_runner_died_with_the_server_is_not_running_for_ever(crashed: Crashed) -> None:
    """Runner and server restarted together left a build running for ever, and only the database could end it.

    The task is still known as running after the crash and is failed once it has been silent for too long.
    """
    mock = crashed.mock
    assert mock.control("GET", f"/tasks/{crashed.lost_task}")["status"] == "running"
    mock.control("POST", f"/tasks/{crashed.lost_task}/age", {"seconds": 11 * 60})
    mock.control("POST", "/maintenance/stop_zombie_tasks")
    assert mock.run(crashed.lost)["status"] == "failure"


def test_f141_late_writer_of_an_old_attempt_cannot_touch_the_new_one() -> None:
    """A tracker that had lost its lock went on, and the same steps ran twice under two hands.

    The runner of a reaped attempt learns its result and changes nothing of the attempt that followed.
    """
    with MockGitea() as server, server.new_runner("late").play() as late, server.new_runner("next").play() as following:
        run = server.enqueue(ONE)
        old = started(late)
        late.log(old, "old row")
        server.age_task(old, 11 * 60)
        server.maintenance("stop_zombie_tasks")
        httpx.post(f"{server.control_url}/control/v1/runs/{run.id}/rerun", json={}, timeout=30).raise_for_status()
        new = started(following)
        following.log(new, "new row")
        assert late.report(old, "success") == "failure"
        with pytest.raises(CallRefused, match="invalid runner for task"):
            late.report(new, "cancelled")
        with pytest.raises(CallRefused, match="invalid runner for task"):
            late.log(new, "foreign row", index=1)
        assert (run.status, run.log("a")) == ("running", ["new row"])
        following.finish(new)
        assert run.wait(5) == "success"


def play_one(played: PlayedRunner, failures: list[BaseException]) -> None:
    """Take a task and report on it in small pieces."""
    try:
        task = started(played)
        for number in range(20):
            played.log(task, f"row {number}")
            played.report(task)
        played.finish(task)
    except Exception as error:
        failures.append(error)


def read_all(url: str, until: threading.Event, failures: list[BaseException]) -> None:
    """Read lists and a run until told to stop."""
    try:
        with httpx.Client(base_url=url, timeout=30) as http:
            while not until.is_set():
                for path in ("runs", "runners", "runs/1", "counters"):
                    http.get(f"/control/v1/{path}").raise_for_status()
    except Exception as error:
        failures.append(error)


def test_f142_readers_and_writers_at_once_meet_no_locked_database(tmp_path: Path) -> None:
    """A fresh set-up locked itself while one job listed things and others wrote rows.

    Reports, polls and pages at the same time get no error at all, and the file is in write-ahead mode.
    """
    database = tmp_path / "mock.db"
    failures: list[BaseException] = []
    with MockGitea(database=str(database)) as server:
        runs = [server.enqueue(ONE) for _ in range(6)]
        players = [server.new_runner(f"r{number}").play() for number in range(6)]
        written = threading.Event()
        reader = threading.Thread(target=read_all, args=(server.control_url, written, failures))
        writers = [threading.Thread(target=play_one, args=(played, failures)) for played in players]
        for thread in (reader, *writers):
            thread.start()
        for thread in writers:
            thread.join(30)
        written.set()
        reader.join(30)
        for played in players:
            played.close()
        assert not failures
        assert {run.wait(5) for run in runs} == {"success"}
        server.journal.assert_requests(outcome=("internal", "unknown", "unavailable"), count=0)
        connection = sqlite3.connect(database)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        connection.close()


def test_f146_quick_steps_are_judged_by_their_own_exit_status(tmp_path: Path) -> None:
    """A status that was read before it was there marked healthy steps as broken, at random.

    Of many steps that end at once each has the result of its own status, with a reader left behind in some of them.
    """
    codes = [0, 3, 0, 0, 1, 0, 141, 0] * 2
    steps = "\n".join(
        f"- run: {'sleep 30 & ' if number % 5 == 0 else ''}exit {code}\n  continue-on-error: true\n  id: s{number}"
        for number, code in enumerate(codes)
    )
    last = "\n- run: echo '${{ toJSON(steps.*.outcome) }}' | tr -d ' \\n'"
    done = run_job(tmp_path, workflow(steps + last))
    assert done.result is Result.SUCCESS
    outcomes = ["success" if code == 0 else "failure" for code in codes]
    assert done.output_of(len(codes)) == ["[" + ",".join(f'"{outcome}"' for outcome in outcomes) + "]"]
