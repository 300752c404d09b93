"""Bad moments with real processes: cancel mid-step, SIGKILL of the runner, SIGKILL of the server, SIGTERM."""

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

from eventually import eventually
from runnerproc import RunnerProcess, finished, log_rows
from serverproc import Mock

Serve = Callable[..., Mock]
Runners = Callable[..., RunnerProcess]

LONG = """
on: push
jobs:
  long:
    runs-on: linux
    steps:
      - run: |
          echo "pid $$"
          sleep 600 & echo "child $!"
          wait
      - if: always()
        run: echo "cleaning up"
      - if: cancelled()
        run: echo "was cancelled"
      - run: echo "never said"
"""
COUNTING = """
on: push
jobs:
  count:
    runs-on: linux
    steps:
      - run: |
          for n in $(seq 1 {rows}); do echo "line $n"; sleep 0.02; done
      - run: echo "the end"
"""


def started_task(mock: Mock, run_id: int, job_id: str) -> int:
    return int(
        eventually(
            lambda: mock.job(run_id, job_id), lambda job: bool(job["task"] and job["task"]["log_rows"]), within_s=40
        )["task"]["id"]
    )


def row_matching(mock: Mock, task_id: int, pattern: str) -> re.Match[str]:
    def probe() -> re.Match[str] | None:
        return next((found for row in log_rows(mock, task_id) if (found := re.fullmatch(pattern, row))), None)

    found = eventually(probe, within_s=40)
    assert found is not None
    return found


def test_cancel_mid_step_stops_the_process_tree_and_runs_cleanup(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runners(mock)
    run_id = mock.enqueue(LONG)["run_id"]
    task_id = started_task(mock, run_id, "long")
    pids = [int(row_matching(mock, task_id, rf"{word} (\d+)").group(1)) for word in ("pid", "child")]
    mock.control("POST", f"/runs/{run_id}/cancel")
    run = finished(mock, run_id)
    assert run["status"] == "cancelled"
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    eventually(lambda: mock.control("GET", f"/tasks/{task_id}")["is_log_sealed"])
    rows = log_rows(mock, task_id)
    assert "cleaning up" in rows
    assert "was cancelled" in rows
    assert "never said" not in rows


def test_killed_runner_leaves_a_zombie_that_is_reaped(serve: Serve, runners: Runners) -> None:
    mock = serve("--clock", "offset")
    runner = runners(mock)
    run_id = mock.enqueue(LONG)["run_id"]
    task_id = started_task(mock, run_id, "long")
    pids = [int(row_matching(mock, task_id, rf"{word} (\d+)").group(1)) for word in ("pid", "child")]
    runner.kill()
    mock.control("POST", "/clock/advance", {"seconds": 16 * 60})
    run = finished(mock, run_id)
    assert run["status"] == "failure"
    task = mock.control("GET", f"/tasks/{task_id}")
    assert (task["status"], task["is_log_sealed"]) == ("failure", True)
    for pid in pids:  # the killed runner could not: its job's processes are ours to end
        if Path(f"/proc/{pid}").exists():
            os.kill(pid, signal.SIGKILL)


def test_server_killed_and_restarted_mid_job_loses_and_repeats_no_row(
    serve: Serve, runners: Runners, tmp_path: Path
) -> None:
    database = tmp_path / "mock.db"
    mock = serve("--database", str(database))
    runner = runners(mock)
    run_id = mock.enqueue(COUNTING.replace("{rows}", "500"))["run_id"]
    task_id = started_task(mock, run_id, "count")
    row_matching(mock, task_id, r"line \d+")
    port, control_port = str(mock.server.port), str(mock.server.control_port)
    mock.server.kill()
    mock.server.start("--port", port, "--control-port", control_port)
    mock.ready = mock.server.ready
    run = finished(mock, run_id, within_s=90)
    assert run["status"] == "success", runner.log_text()[-3000:]
    task = mock.control("GET", f"/tasks/{task_id}")
    assert task["is_log_sealed"]
    counted = [row for row in log_rows(mock, task_id) if re.fullmatch(r"line \d+", row)]
    assert counted == [f"line {number}" for number in range(1, 501)]
    assert "the end" in log_rows(mock, task_id)
    assert [step["status"] for step in task["steps"]] == ["success", "success"]


def test_sigterm_stops_polling_and_reports_the_job_as_cancelled(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runner = runners(mock)
    run_id = mock.enqueue(LONG)["run_id"]
    task_id = started_task(mock, run_id, "long")
    row_matching(mock, task_id, r"child \d+")
    code = runner.stop()
    task = mock.control("GET", f"/tasks/{task_id}")
    assert (task["status"], task["is_log_sealed"]) == ("cancelled", True), runner.log_text()[-3000:]
    assert code == 0


def test_graceful_shutdown_lets_the_job_finish(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runner = runners(mock, settings={"shutdown_timeout": "60s"})
    run_id = mock.enqueue(COUNTING.replace("{rows}", "100"))["run_id"]
    started_task(mock, run_id, "count")
    assert runner.stop() == 0
    assert mock.run(run_id)["status"] == "success"
