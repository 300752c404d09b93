"""Workflows from file to final state with real processes: matrix, needs, capacity, rerun, ephemeral runner."""

from collections import Counter
from collections.abc import Callable

from eventually import eventually
from runnerproc import RunnerProcess, finished, log_rows
from serverproc import Mock

Serve = Callable[..., Mock]
Runners = Callable[..., RunnerProcess]

MATRIX = """
on: push
jobs:
  build:
    runs-on: linux
    strategy:
      matrix:
        os: [a, b, c]
        n: [1, 2]
    steps:
      - run: echo "combination ${{ matrix.os }}-${{ matrix.n }}"
"""
NEEDS = """
on: push
jobs:
  first:
    runs-on: linux
    outputs:
      word: ${{ steps.say.outputs.word }}
    steps:
      - id: say
        run: echo "word=from-first" >> "$GITHUB_OUTPUT"
  second:
    needs: first
    runs-on: linux
    steps:
      - run: echo "got ${{ needs.first.outputs.word }} / ${{ needs.first.result }}"
"""
FLAKY = """
on: push
jobs:
  steady:
    runs-on: linux
    steps: [{run: echo steady}]
  flaky:
    runs-on: linux
    steps:
      - run: |
          echo "attempt ${{ github.run_attempt }}"
          test "${{ github.run_attempt }}" -gt 1
"""


def test_matrix_of_six_runs_every_combination(serve: Serve, runners: Runners) -> None:
    mock = serve()
    for _ in range(2):
        runners(mock, capacity=3)
    run = finished(mock, mock.enqueue(MATRIX)["run_id"])
    assert run["status"] == "success"
    assert len(run["jobs"]) == 6
    said = {row for job in run["jobs"] for row in log_rows(mock, job["task"]["id"]) if row.startswith("combination")}
    assert said == {f"combination {os}-{n}" for os in "abc" for n in (1, 2)}


def test_needs_hand_outputs_over(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runners(mock)
    run = finished(mock, mock.enqueue(NEEDS)["run_id"])
    assert run["status"] == "success"
    second = next(job for job in run["jobs"] if job["job_id"] == "second")
    assert "got from-first / success" in log_rows(mock, second["task"]["id"])


def test_rerun_failed_runs_the_failed_job_only(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runners(mock, capacity=2)
    run_id = mock.enqueue(FLAKY)["run_id"]
    run = finished(mock, run_id)
    assert {job["job_id"]: job["status"] for job in run["jobs"]} == {"steady": "success", "flaky": "failure"}
    mock.control("POST", f"/runs/{run_id}/rerun", {"failed_only": True})
    run = eventually(lambda: mock.run(run_id), lambda run: run["status"] == "success", within_s=60)
    flaky = mock.job(run_id, "flaky")
    assert "attempt 2" in log_rows(mock, flaky["task"]["id"])
    tasks = {job["task"]["id"] for job in run["jobs"] if job["task"]}
    assert len(tasks) == 2, "the steady job keeps its task"


def test_two_runners_with_capacity_three_share_the_work(serve: Serve, runners: Runners) -> None:
    mock = serve()
    for _ in range(2):
        runners(mock, capacity=3)
    workflow = "on: push\njobs:\n" + "".join(
        f"  j{number}:\n    runs-on: linux\n    steps: [{{run: 'until test -e {{}}; do sleep 0.1; done'}}]\n"
        for number in range(6)
    )
    # The jobs wait for a file, so all six must be running at the same time.
    folder = mock.server.folder / "gate"
    run_id = mock.enqueue(workflow.replace("{}", str(folder)))["run_id"]
    run = eventually(
        lambda: mock.run(run_id), lambda run: all(job["status"] == "running" for job in run["jobs"]), within_s=60
    )
    assert sorted(Counter(job["task"]["runner_id"] for job in run["jobs"]).values()) == [3, 3]
    folder.touch()
    assert finished(mock, run_id)["status"] == "success"


def test_ephemeral_runner_takes_one_job_and_leaves(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runner = runners(mock, ephemeral=True)
    first = mock.enqueue(NEEDS.replace("needs: first\n    ", ""))["run_id"]
    assert runner.wait() == 0, runner.log_text()[-3000:]
    statuses = Counter(job["status"] for job in mock.run(first)["jobs"])
    assert statuses == {"success": 1, "waiting": 1}
    assert mock.control("GET", "/runners")["runners"] == []
    done = next(job for job in mock.run(first)["jobs"] if job["status"] == "success")
    assert done["task"]["log_rows"] > 0
    assert done["task"]["is_log_sealed"]
