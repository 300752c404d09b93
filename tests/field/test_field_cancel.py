"""F48 to F62: runs that would not end, and cancels that came too early, twice, in vain, or at the wrong moment."""

import asyncio
import threading
from pathlib import Path

import psutil
import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.testing import MockGitea, PlayedRunner
from rawserver import Call, RawServer
from runnerapp import running, shell_task

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
PAIR = """
on: push
jobs:
  a: {runs-on: linux, steps: [{run: echo hello}]}
  b: {runs-on: linux, steps: [{run: echo hello}]}
"""
CLEANING = """
on: push
jobs:
  a:
    runs-on: linux
    steps:
      - run: echo begun; sleep 600; echo too late
      - run: echo never
      - {if: always(), run: echo cleaning}
"""
SERIAL = "on: push\nconcurrency: {group: g}\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"


def taken(played: PlayedRunner) -> int:
    task = played.fetch()
    assert task is not None
    return int(task["id"])


def declare_capable(played: PlayedRunner) -> None:
    """Declare as a runner that cleans up after a cancel and then says so."""
    played.call("Declare", {"version": "played", "labels": ["linux"], "capabilities": ["cancelling"]})


def runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f048_run_is_final_with_the_last_answer_however_its_jobs_end_together(profile: str) -> None:
    """All tasks had ended and the run went on "running", again and again over the years.

    Two jobs whose results arrive in the same moment: whoever asks after the second answer sees the run's end.
    """
    with MockGitea(profile=profile) as server:
        players = [server.new_runner(f"r{number}").play() for number in range(2)]
        for number in range(8):
            run = server.enqueue(PAIR, workflow_file=f"w{number}.yml")
            tasks = [(played, taken(played)) for played in players]
            together = [threading.Thread(target=played.finish, args=(task,)) for played, task in tasks]
            for thread in together:
                thread.start()
            for thread in together:
                thread.join(30)
            assert run.status == "success"
        for played in players:
            played.close()


def test_f050_every_state_that_is_not_final_can_be_cancelled() -> None:
    """After an upgrade runs waited for ever and the button to cancel them did nothing.

    Waiting, blocked by needs, by its group or by approval, running, run again: each ends as cancelled at once.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        needing = PAIR.replace("b: {", "b: {needs: a, ")
        holder = server.enqueue(SERIAL)
        task = taken(played)
        stuck = [
            server.enqueue(ONE.replace("linux", "nobody-has-this")),
            server.enqueue(needing),
            server.enqueue(SERIAL),
            server.enqueue(ONE, needs_approval=True),
            holder,
        ]
        assert [run.status for run in stuck] == ["waiting", "waiting", "blocked", "blocked", "running"]
        for run in stuck:
            run.cancel()
            assert run.wait(1) == "cancelled"
        assert played.report(task) == "cancelled"
        assert played.fetch() is None


def test_f051_run_whose_runner_is_gone_is_ended_by_a_cancel_and_a_second_one_does_no_harm() -> None:
    """Runs without a living task could only be ended in the database, since a cancel looked for running tasks.

    The runner was deleted in mid-job: one cancel ends the run, repeated ones change nothing, and its group is free.
    """
    with MockGitea() as server, server.new_runner("staying").play() as staying:
        runner = server.new_runner("gone")
        with runner.play() as gone:
            declare_capable(gone)
            holder = server.enqueue(SERIAL)
            taken(gone)
            server.delete_runner(runner)
        waiting = server.enqueue(SERIAL)
        holder.cancel()
        assert holder.wait(1) == "cancelled"
        before = holder.state()
        holder.cancel()
        holder.cancel(force=True)
        assert holder.state() == before
        staying.finish(taken(staying))
        assert waiting.wait(5) == "success"


def test_f052_cancel_waits_for_the_runner_and_a_forced_one_does_not() -> None:
    """A cancel that waits for the runner leaves people waiting with it; they need one that does not.

    The first shows that it waits, the forced one ends run and group at once, and late reports change neither.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        declare_capable(played)
        run = server.enqueue(SERIAL)
        task = taken(played)
        waiting = server.enqueue(SERIAL)
        run.cancel()
        assert (run.job("a")["status"], waiting.status) == ("cancelling", "blocked")
        run.cancel(force=True)
        assert run.wait(1) == "cancelled"
        server.wait_until(lambda: waiting.status == "waiting")
        ended = run.state()
        assert played.finish(task, "success", "late row") == "cancelled"
        assert run.state()["jobs"][0]["status"] == ended["jobs"][0]["status"] == "cancelled"
        assert run.log("a") == ["late row"]


def test_f053_clean_up_runs_after_a_cancel_and_old_runners_are_not_waited_for(tmp_path: Path) -> None:
    """Cancelled at once, jobs never cleaned up; cancelled by handshake, runs of old runners never ended.

    Ours cleans up and then ends as cancelled. One that never declared it is ended at once, one that died by the reaper.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(CLEANING)
            async with running(server, tmp_path, known=server.new_runner()):
                await server.wait_until_async(lambda: "begun" in run.log("a"))
                run.cancel()
                assert run.job("a")["status"] == "cancelling"
                assert await run.wait_async() == "cancelled"
            said = [row for row in run.log("a") if row in ("begun", "never", "cleaning", "too late")]
            assert said == ["begun", "cleaning"]

    asyncio.run(scenario())
    with MockGitea() as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        taken(played)
        run.cancel()
        assert run.wait(1) == "cancelled"
        declare_capable(played)
        run = server.enqueue(ONE)
        taken(played)
        run.cancel()
        assert run.status == "cancelling"
        server.clock.advance(15 * 60)
        assert run.wait(1) == "cancelled"


def test_f054_cancel_that_comes_while_rows_are_on_their_way_loses_neither_rows_nor_answer(tmp_path: Path) -> None:
    """The cancel ended the reporter's own calls: neither the last rows nor the acknowledgement arrived.

    The first closing upload hangs and the second fails; later ones bring every row, the end mark and the result.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(CLEANING)
            async with running(server, tmp_path, known=server.new_runner(), report_close_timeout="300ms"):
                await server.wait_until_async(lambda: "begun" in run.log("a"))
                server.faults.add("hang", name="hangs", method="UpdateLog", times=1)
                server.faults.add("refuse", name="fails", method="UpdateLog", code="unavailable", skip=1, times=1)
                run.cancel()
                assert await run.wait_async() == "cancelled"
            server.journal.assert_order(
                {"method": "UpdateLog", "fault": "hangs"},
                {"method": "UpdateLog", "fault": "fails"},
                {"outcome": "ok", "request": {"no_more": True}},
                {"outcome": "ok", "request": {"state.result": "cancelled"}},
            )
            assert [row for row in run.log("a") if row in ("begun", "cleaning")] == ["begun", "cleaning"]
            assert run.job("a")["task"]["is_log_sealed"]

    asyncio.run(scenario())


@pytest.mark.parametrize("profile", ["gitea-1.27", "gitea-1.25", "forgejo-15"])
def test_f055_cancelled_job_is_not_told_as_a_failure(profile: str, tmp_path: Path) -> None:
    """A job that was cancelled before it had a result was reported as failed by "early termination".

    The runner says cancelled, though the interrupted process failed; and no report makes a failure of it later.
    """

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            run = server.enqueue(ONE.replace("echo hello", "echo on; trap 'exit 7' INT TERM; sleep 600 & wait"))
            async with running(server, tmp_path, known=server.new_runner()):
                await server.wait_until_async(lambda: "on" in run.log("a"))
                task = run.job("a")["task"]["id"]
                run.cancel()
                told = await server.journal.wait_for_async(
                    "UpdateTask", within=15, task=task, request={"state.result": lambda result: result != "unspecified"}
                )
            assert {call.request["state"]["result"] for call in told if call.request} == {"cancelled"}
            assert run.status == "cancelled"
            with server.new_runner("second").play() as played:
                declare_capable(played) if profile == "gitea-1.27" else played.declare()
                run = server.enqueue(ONE)
                task = taken(played)
                run.cancel()
                assert played.finish(task, "failure") == "cancelled"
                assert run.status == "cancelled"

    asyncio.run(scenario())


def test_f057_cancel_ends_the_whole_tree_of_processes_and_the_runner_goes_on(tmp_path: Path) -> None:
    """Only the direct child was ended; what it had started held the pipe, and the runner waited for it for ever.

    Background processes, deaf ones and one in a session of its own are gone, and the next job runs.
    """
    pids = tmp_path / "pids"
    script = (
        f"(trap '' INT TERM; while :; do sleep 1; done) & echo $! >> {pids}; "
        f"setsid sleep 600 & echo $! >> {pids}; sleep 600 & echo $! >> {pids}; echo on; wait"
    )

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(f'on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{{run: "{script}"}}]\n')
            async with running(server, tmp_path, known=server.new_runner()):
                await server.wait_until_async(lambda: "on" in run.log("a"))
                run.cancel()
                assert await run.wait_async(20) == "cancelled"
                assert await server.enqueue(ONE).wait_async() == "success"
            left = [int(pid) for pid in pids.read_text().split()]
            assert len(left) == 3
            await server.wait_until_async(lambda: not any(map(runs, left)))

    asyncio.run(scenario())


def test_f059_cancel_that_comes_before_the_job_has_begun_is_not_lost(tmp_path: Path) -> None:
    """A cancel right at the start was lost: the job began all the same and could then not be cancelled.

    The run is cancelled while its task is still on the way to the runner: the first answer ends it in its first step.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(CLEANING)
            known = server.new_runner()
            with server.gate("FetchTask", stage="after") as gate:
                async with running(server, tmp_path, known=known):
                    await gate.wait_async()
                    run.cancel()
                    gate.open()
                    told = await server.journal.wait_for_async("UpdateTask", request={"state.result": "cancelled"})
                    answers = server.journal.calls(method="UpdateTask")
            assert {call.response["state"]["result"] for call in answers if call.response} == {"cancelled"}
            assert len(told) == 1
            assert run.status == "cancelled"
            assert not {"never", "too late"} & set(run.log("a"))

    asyncio.run(scenario())


def test_f060_cancel_that_is_told_again_and_again_is_carried_out_once(tmp_path: Path) -> None:
    """The same cancellation was delivered several times a second, never completed, and the runner never left.

    Every answer says cancelled, from the first to the last: one stop, one result, one clean-up, and the runner leaves.
    """

    async def scenario() -> None:
        async with RawServer() as server:

            def update(call: Call) -> pb.UpdateTaskResponse:
                return pb.UpdateTaskResponse(state=pb.TaskState(id=call.message.state.id, result=pb.RESULT_CANCELLED))

            server.always("UpdateTask", update)
            deaf = "trap '' INT TERM; echo on; for n in $(seq 40); do sleep 0.05; done"
            server.tasks.append(shell_task(1, deaf, "echo never"))
            with logged() as logs:
                async with running(server, tmp_path, once=True) as runner:
                    assert await runner.ended(20) is Exit.OK
            assert [one["event"] for one in logs].count("job_stopped_by_server") == 1
            told = [c.message.state for c in server.of("UpdateTask") if c.message.state.result]
            assert [state.result for state in told] == [pb.RESULT_CANCELLED]
            assert "never" not in server.rows[1]

    asyncio.run(scenario())


def test_f061_runner_that_ignores_a_cancel_is_ended_by_the_time_limit_at_the_latest() -> None:
    """Five minutes after a cancel the page gave up on it, while the machine stayed busy.

    A runner that goes on reporting is told "cancelled" with every answer; at the time limit the server ends the task.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        declare_capable(played)
        run = server.enqueue(SERIAL)
        task = taken(played)
        waiting = server.enqueue(SERIAL)
        run.cancel()
        minutes = 0
        while run.status == "cancelling" and minutes < 300:
            server.clock.advance(5 * 60)
            minutes += 5
            assert played.report(task) == "cancelled"
        assert (run.status, run.job("a")["status"]) == ("cancelled", "cancelled")
        assert 180 <= minutes <= 215
        server.wait_until(lambda: waiting.status == "waiting")


def test_f062_cancel_is_always_answered_by_one_last_report(tmp_path: Path) -> None:
    """Told that its job was being cancelled, a runner stopped without a last report, and the job never left that state.

    On the wire: the answer that says cancelled, the end of the log, the result, and nothing after it.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(CLEANING)
            async with running(server, tmp_path, known=server.new_runner()):
                await server.wait_until_async(lambda: "begun" in run.log("a"))
                run.cancel()
                assert await run.wait_async() == "cancelled"
                assert await server.enqueue(ONE).wait_async() == "success"
            task = run.job("a")["task"]["id"]
            _, _, last = server.journal.assert_order(
                {"method": "UpdateTask", "task": task, "response": {"state.result": "cancelled"}},
                {"method": "UpdateLog", "task": task, "request": {"no_more": True}},
                {"method": "UpdateTask", "task": task, "request": {"state.result": "cancelled"}},
            )
            assert server.journal.calls(task=task)[-1].number == last.number

    asyncio.run(scenario())
