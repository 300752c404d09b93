"""N18 to N20 of the protocol: what the runner makes of a task's payload."""

import asyncio
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import RawServer
from runnerapp import raw_task, running

TWO_JOBS = """\
name: w
on: push
jobs:
  one: {runs-on: linux, steps: [{run: "true"}]}
  two: {runs-on: linux, steps: [{run: "true"}]}
"""

NEEDY = """\
name: w
on: push
jobs:
  build:
    runs-on: linux
    if: %s
    steps:
      - run: echo got ${{ needs.before.outputs.word }} ${{ needs.before.result }}
      - run: echo second
"""


def run_one(tmp_path: Path, task: pb.Task) -> RawServer:
    async def scenario() -> RawServer:
        async with RawServer() as server:
            server.tasks.append(task)
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            return server

    return asyncio.run(scenario())


def need(result: "pb.Result.ValueType") -> dict[str, pb.TaskNeed]:
    return {"before": pb.TaskNeed(outputs={"word": "hello"}, result=result)}


def test_n18_payload_with_two_jobs_is_refused_and_reported(tmp_path: Path) -> None:
    server = run_one(tmp_path, raw_task(1, TWO_JOBS))
    assert server.final(1).result == pb.RESULT_FAILURE
    assert any("[error]" in row or "::error" in row for row in server.rows[1])


@pytest.mark.parametrize("condition", ["needs.before.outputs.word == 'hello'", "success()"])
def test_n19_needs_are_usable_and_the_runner_evaluates_if(tmp_path: Path, condition: str) -> None:
    server = run_one(tmp_path, raw_task(1, NEEDY % condition, needs=need(pb.RESULT_SUCCESS)))
    assert "got hello success" in server.rows[1]
    assert server.final(1).result == pb.RESULT_SUCCESS


def test_n19_failed_need_skips_a_job_without_condition(tmp_path: Path) -> None:
    server = run_one(tmp_path, raw_task(1, NEEDY % "success()", needs=need(pb.RESULT_FAILURE)))
    assert server.final(1).result == pb.RESULT_SKIPPED


def test_n19_always_runs_after_a_failed_need(tmp_path: Path) -> None:
    server = run_one(tmp_path, raw_task(1, NEEDY % "always()", needs=need(pb.RESULT_FAILURE)))
    assert "got hello failure" in server.rows[1]
    assert server.final(1).result == pb.RESULT_SUCCESS


def test_n20_false_condition_gives_skipped_job_and_steps(tmp_path: Path) -> None:
    server = run_one(tmp_path, raw_task(1, NEEDY % "needs.before.outputs.word == 'x'", needs=need(pb.RESULT_SUCCESS)))
    final = server.final(1)
    assert final.result == pb.RESULT_SKIPPED
    assert [(step.id, step.result) for step in final.steps] == [(0, pb.RESULT_SKIPPED), (1, pb.RESULT_SKIPPED)]
