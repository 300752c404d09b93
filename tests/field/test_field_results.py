"""F87 to F95: how a job's last rows, outputs and result reach the server when something is slow, lost or too large."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.testing import MockGitea
from rawserver import Call, RawServer, Reply
from runnerapp import raw_task, running, shell_task

TWO = """
on: push
jobs:
  a:
    runs-on: linux
    outputs: {v: "${{ steps.s.outputs.v }}"}
    steps:
      - id: s
        run: echo v=forty-two >> "$GITHUB_OUTPUT"
  b:
    needs: a
    runs-on: linux
    steps: [{run: 'echo got ${{ needs.a.outputs.v }}'}]
"""
SLOW = """
on: push
jobs:
  a:
    runs-on: linux
    steps:
      - run: echo begun; sleep 600
      - {if: always(), run: echo cleaning}
"""
LARGE = """
on: push
jobs:
  a:
    runs-on: linux
    outputs: {small: "${{ steps.s.outputs.small }}", large: "${{ steps.s.outputs.large }}"}
    steps:
      - id: s
        run: |
          echo small=ok >> "$GITHUB_OUTPUT"
          { printf large=; head -c 1100000 /dev/zero | tr '\\0' x; echo; } >> "$GITHUB_OUTPUT"
"""


def waiting(gate: Path) -> str:
    return f"until [ -e {gate} ]; do sleep 0.02; done"


def one_job(script: str) -> str:
    return f"on: push\njobs:\n  a:\n    runs-on: linux\n    steps:\n      - run: |\n          {script}\n"


def test_f087_slow_last_rows_make_the_result_wait_for_them(tmp_path: Path) -> None:
    """The periodic report told the result while the last rows were still on their way, and they were lost.

    No call carries a result before the end of the log has been acknowledged.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            server.faults.add("delay", method="UpdateLog", stage="after", delay_s=0.3)
            run = server.enqueue(one_job("for n in 1 2 3; do echo $n; sleep 0.1; done"))
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            (end,) = server.journal.calls(method="UpdateLog", request={"no_more": True})
            (told,) = server.journal.calls(method="UpdateTask", request={"state.result": "success"})
            assert end.duration_s is not None
            assert told.opened_s >= end.opened_s + end.duration_s
            assert server.audit().is_clean, server.audit()
            assert run.log("a")[-1] == "Job succeeded"

    asyncio.run(scenario())


def test_f088_answers_and_tasks_with_nothing_in_them_cost_at_most_one_task(tmp_path: Path) -> None:
    """An answer without a state, and a task without steps, each brought the whole runner down.

    An empty task ends as a failure that says why, empty answers do no harm, and the next task runs.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.script("Declare", pb.DeclareResponse())
            server.script("FetchTask", pb.FetchTaskResponse(), pb.FetchTaskResponse(task=pb.Task(id=1)))
            server.script("UpdateTask", pb.UpdateTaskResponse(), pb.UpdateTaskResponse())
            server.script("UpdateLog", pb.UpdateLogResponse())
            server.tasks.append(shell_task(2, "echo alive"))
            async with running(server, tmp_path):
                await server.until(lambda: server.final(2))
            assert server.final(1).result == pb.RESULT_FAILURE
            sent = [row.content for c in server.of("UpdateLog") if c.message.task_id == 1 for row in c.message.rows]
            assert any(row.startswith("##[error]") for row in sent)
            assert server.final(2).result == pb.RESULT_SUCCESS
            assert "alive" in server.rows[2]

    asyncio.run(scenario())


def test_f089_call_that_never_returns_does_not_hold_the_job(tmp_path: Path) -> None:
    """Without a limit on its calls a runner stood still for ever in an upload of rows.

    A call that hangs is given up; rows and result arrive with the next ones, and the slot takes another task.
    """

    async def scenario() -> None:
        never = asyncio.Event()
        async with RawServer() as server:
            server.script("UpdateLog", Reply(hold=never))
            server.tasks.extend((shell_task(1, "echo one"), shell_task(2, "echo two")))
            async with running(server, tmp_path, report_close_timeout="50ms"):
                await server.until(lambda: server.final(2))
            first, second, *_ = (call.message for call in server.of("UpdateLog"))
            assert (first.index, second.index) == (0, 0)
            assert "one" in server.rows[1]
            assert server.final(1).result == server.final(2).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_f090_server_away_at_the_end_of_a_job_still_gets_rows_and_result(tmp_path: Path) -> None:
    """Closing reports were tried for too short a time, so an outage at the wrong moment cost the result.

    A job that ends while the server refuses everything is reported when it is back, every row once.
    """

    async def scenario() -> None:
        gate = tmp_path / "gate"
        async with MockGitea() as server:
            run = server.enqueue(one_job(f"echo begun; {waiting(gate)}; echo done"))
            async with running(server, tmp_path, known=server.new_runner(), report_close_timeout="10s"):
                await server.wait_until_async(lambda: "begun" in run.log("a"))
                down = server.faults.add_downtime("planned", duration_s=3600)
                gate.touch()
                await server.journal.wait_for_async("UpdateLog", n=3, outcome="refused")
                server.faults.remove_downtime(down)
                assert await run.wait_async() == "success"
            assert [row for row in run.log("a") if row in ("begun", "done")] == ["begun", "done"]
            assert run.job("a")["task"]["is_log_sealed"]

    asyncio.run(scenario())


def test_f091_lost_answer_to_the_last_report_keeps_outputs_and_result_together(tmp_path: Path) -> None:
    """Result and outputs were told apart, so a job could start without the outputs of the one it needs.

    They travel in one call; although its answer is lost, the dependent job sees the value.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(TWO)
            server.faults.add("lose-answer", method="UpdateTask", every=2)
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            assert "got forty-two" in run.log("b")
            task = run.job("a")["task"]["id"]
            told = server.journal.calls(method="UpdateTask", task=task, request={"state.result": "success"})
            assert told[0].request is not None
            assert told[0].request["outputs"] == {"v": "forty-two"}
            assert len(server.journal.calls(method="FetchTask", outcome="task")) == 2

    asyncio.run(scenario())


def test_f092_output_that_is_too_large_is_dropped_with_a_warning(tmp_path: Path) -> None:
    """One value above the limit made the whole report fail.

    The value is left out and a row says so; the other outputs and the result arrive. A server names only what it keeps.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(LARGE)
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            assert run.job("a")["task"]["outputs"] == {"small": "ok"}
            assert any("large" in row and "warning" in row for row in run.log("a"))

    asyncio.run(scenario())
    with MockGitea() as server, server.new_runner().play() as played:
        server.enqueue(LARGE)
        task = played.fetch()
        assert task is not None
        outputs = {"kept": "v", "large": "x" * (1024 * 1024 + 1), "n" * 256: "v"}
        answer = played.call("UpdateTask", {"state": {"id": task["id"]}, "outputs": outputs})
        assert answer["sent_outputs"] == ["kept"]


def test_f093_secret_of_several_lines_stays_hidden_across_calls_and_in_other_forms(tmp_path: Path) -> None:
    """Parts of a secret of several lines, and its encoded forms, were readable in logs.

    No call carries a line of it, plain, escaped or in base64, although every row travels alone.
    """
    lines = ["first-canary-line", "second canary/line?", "third-canary-line"]
    secret = "\n".join(lines)
    script = (
        'printf "%s\\n" "$KEY"\necho "one row: ${KEY//$\'\\n\'/\\\\n}"\n'
        'printf %s "$KEY" | base64 -w0; echo\necho "second%20canary%2Fline%3F"\necho visible'
    )

    async def scenario() -> None:
        async with RawServer() as server:
            extra = "    env: {KEY: '${{ secrets.KEY }}'}\n"
            server.tasks.append(shell_task(1, script, secrets={"KEY": secret}, extra=extra))
            async with running(server, tmp_path, once=True, log_report_batch_size=1) as runner:
                await runner.ended()
            text = "\n".join(str(call.message) for call in server.of("UpdateLog"))
            encoded = base64.b64encode(secret.encode()).decode()
            for canary in (*lines, json.dumps(secret)[1:-1], encoded, "second%20canary"):
                assert canary not in text
            assert server.rows[1].count("***") >= 3
            assert "visible" in server.rows[1]

    asyncio.run(scenario())


def test_f094_time_limit_of_the_runner_is_told_as_a_failure_with_its_reason(tmp_path: Path) -> None:
    """When the runner's own limit ended a job, the same interruption silenced its reports.

    The server gets the failure, a row that names the limit, and the rows of the steps that clean up.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(raw_task(1, SLOW))
            async with running(server, tmp_path, once=True, timeout="500ms") as runner:
                assert await runner.ended() is Exit.OK
            assert server.final(1).result == pb.RESULT_FAILURE
            assert {"begun", "cleaning"} <= set(server.rows[1])
            assert any(row.startswith("##[error]") and "limit of 0.5 s" in row for row in server.rows[1])

    asyncio.run(scenario())


def test_f095_result_is_told_before_the_workspace_is_cleared_and_the_slot_freed_after(tmp_path: Path) -> None:
    """Clearing a large workspace counted into the job, because the result was told only afterwards.

    The workspace is still there when the result arrives, and gone when the next task is asked for.
    """
    jobs = tmp_path / "jobs"
    left: list[tuple[str, int]] = []

    def look(method: str, server: RawServer) -> Any:
        def answer(call: Call) -> Any:
            if method == "FetchTask" or call.message.state.result:
                left.append((method, len(list(jobs.glob("*/hostexecutor")))))
            return server.default(call)

        return answer

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.extend((shell_task(1, "touch file"), shell_task(2, "true")))
            for method in ("FetchTask", "UpdateTask"):
                server.always(method, look(method, server))
            async with running(server, tmp_path):
                await server.until(lambda: server.final(2))

    asyncio.run(scenario())
    assert left[:4] == [("FetchTask", 0), ("UpdateTask", 1), ("FetchTask", 0), ("UpdateTask", 1)]
