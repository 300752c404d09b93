"""F37 to F44: jobs that say nothing, runners that have gone, and tasks that the server has ended or forgotten."""

import asyncio
import itertools
from pathlib import Path

import httpx
import psutil
import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from enginejob import until
from eventlog import logged
from mockgitea.testing import MockGitea, PlayedRunner
from rawserver import Call, RawServer, error
from runnerapp import running, shell_task
from virtualfleet import FleetPlan, VirtualFleet, play

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
SERIAL = "on: push\nconcurrency: {group: release}\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
NEWEST = """
on: push
concurrency: {{group: g, cancel-in-progress: true}}
jobs:
  a:
    runs-on: linux
    steps: [{{run: "{script}"}}]
"""


def taken(played: PlayedRunner) -> int:
    task = played.fetch()
    assert task is not None
    return int(task["id"])


def test_f037_job_that_is_silent_for_hours_is_not_taken_for_dead() -> None:
    """Reports were left out when nothing had changed, so quiet jobs were declared orphans while they ran.

    Two and a half silent hours against a limit of ten minutes: the job succeeds and is heard all the time.
    """

    async def scene(fleet: VirtualFleet) -> tuple[dict[str, str], list[int]]:
        steps = "sleep 3600\\nsleep 3600\\nsleep 1800"
        run = await fleet.enqueue(f'on: push\njobs:\n  a: {{runs-on: linux, steps: [{{run: "{steps}"}}]}}\n')
        await fleet.pass_time(2.5 * 3600 + 60)
        beats = [one.began_us for one in fleet.wire if one.path.endswith("UpdateTask")]
        return await fleet.statuses(run), beats

    statuses, beats = play(scene, FleetPlan(runners=1))
    assert statuses == {"a": "success"}
    assert max(after - before for before, after in itertools.pairwise(beats)) <= 15e6


def test_f038_job_that_the_server_has_failed_stops_and_frees_its_slot(tmp_path: Path) -> None:
    """A runner that only knew "cancelled" carried on with a task that the server had failed for its length.

    After the time limit its process is gone, the next job runs, and the failed one stays failed.
    """
    pid = tmp_path / "pid"

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(ONE.replace("echo hello", f"echo $$ > {pid}; exec sleep 600"))
            with logged() as logs:
                async with running(server, tmp_path, known=server.new_runner()):
                    await until(lambda: pid.exists() and pid.read_text() != "", "the process to begin")
                    await asyncio.to_thread(server.clock.advance, 4 * 3600)
                    assert await run.wait_async(5) == "failure"
                    other = server.enqueue(ONE)
                    assert await other.wait_async() == "success"
                    assert not psutil.pid_exists(int(pid.read_text()))
            assert run.status == "failure"
            (stop,) = [entry for entry in logs if entry["event"] == "job_stopped_by_server"]
            assert (stop["cause"], stop["result"]) == ("server", "failure")

    asyncio.run(scenario())


def test_f039_step_that_blocks_does_not_hide_that_a_newer_push_has_replaced_its_run(tmp_path: Path) -> None:
    """A checkout that hung on the network sent nothing, so the runner never heard that a newer push had ended its task.

    Reports go on beside a blocked and silent step: it ends, and the newer run gets the only slot.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            older = server.enqueue(NEWEST.format(script="trap '' TERM; read line < <(sleep 600)"))
            async with running(server, tmp_path, known=server.new_runner()):
                await server.journal.wait_for_async("UpdateTask", n=3)
                newer = server.enqueue(NEWEST.format(script="echo newer"))
                assert await newer.wait_async(15) == "success"
                assert await older.wait_async() == "cancelled"

    asyncio.run(scenario())


def test_f041_runners_log_says_for_every_ended_task_who_ended_it(tmp_path: Path) -> None:
    """Two jobs were marked as failed at once, and no log told whether by a person, a limit, a stop or an outage.

    Cancelled, failed by the server, given to another runner, out of time, stopped: each leaves records of its own.
    """
    on = "echo on\nsleep 600"
    answers = {1: pb.RESULT_CANCELLED, 2: pb.RESULT_FAILURE}

    async def scenario() -> list[tuple[str, str, str]]:
        async with RawServer() as server:

            def update(call: Call) -> object:
                state = call.message.state
                if "on" not in server.rows.get(state.id, []) or state.result:
                    return server.default(call)
                if state.id == 3:
                    return error(500, "internal", "update task: invalid runner for task")
                return pb.UpdateTaskResponse(state=pb.TaskState(id=state.id, result=answers.get(state.id, 0)))

            server.always("UpdateTask", update)  # type: ignore[arg-type]  # either kind of answer
            server.tasks.extend(shell_task(number, on) for number in (1, 2, 3))
            server.tasks.append(shell_task(4, on, extra="    timeout-minutes: 0.005\n"))
            server.tasks.append(shell_task(5, on))
            with logged() as logs:
                async with running(server, tmp_path) as runner:
                    await server.until(lambda: "on" in server.rows.get(5, []))
                    runner.requests.ask()
                    await runner.ended(20)
            ends = ("job_stopped_by_server", "cancelling_jobs", "task_ended")
            return [
                (one["event"], str(one.get("cause", "")), str(one.get("result", "")))
                for one in logs
                if one["event"] in ends
            ]

    assert asyncio.run(scenario()) == [
        ("job_stopped_by_server", "server", "cancelled"),
        ("task_ended", "", "cancelled"),
        ("job_stopped_by_server", "server", "failure"),
        ("task_ended", "", "failure"),
        ("job_stopped_by_server", "task_gone", "unspecified"),
        ("task_ended", "", "cancelled"),
        ("task_ended", "", "failure"),
        ("cancelling_jobs", "", ""),
        ("task_ended", "", "cancelled"),
    ]


def test_f042_group_held_by_a_dead_runner_is_freed_by_its_silence_and_not_by_its_age() -> None:
    """Runs of machines that had died held their group for six hours, and whoever cleaned up had to guess.

    A task that is two hours old and reports is left alone; one that has been silent for ten minutes frees its group.
    """
    with MockGitea() as server:
        living, dead = server.new_runner("living").play(), server.new_runner("dead").play()
        with living, dead:
            long = server.enqueue(ONE)
            task = taken(living)
            for _ in range(24):
                server.clock.advance(5 * 60)
                living.report(task)
            holder = server.enqueue(SERIAL)
            taken(dead)
            waiting = server.enqueue(SERIAL)
            assert waiting.status == "blocked"
            for _ in range(4):
                server.clock.advance(4 * 60)
                living.report(task)
            assert (holder.status, long.status) == ("failure", "running")
            living.finish(task)
            living.finish(taken(living))
            assert (long.wait(5), waiting.wait(5)) == ("success", "success")


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f043_task_whose_rows_still_arrive_is_alive(profile: str) -> None:
    """On a busy machine the renewals stopped, and the job was declared lost while its output still came in.

    Rows alone, without any report on the state, keep a task alive for an hour; then silence ends it.
    """
    with MockGitea(profile=profile) as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        task = taken(played)
        for number in range(12):
            server.clock.advance(5 * 60)
            played.log(task, f"row {number}")
        assert run.status == "running"
        server.clock.advance(15 * 60)
        assert run.wait(5) == "failure"


def test_f044_runner_leaves_a_job_that_was_deleted_under_it(tmp_path: Path) -> None:
    """Reports on a job that the server had deleted failed for ever, and the runner took no other until a restart.

    It stops at the first such answer, sends nothing more about the task, and takes what waits.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(ONE.replace("echo hello", "echo on; sleep 600"))
            async with running(server, tmp_path, known=server.new_runner()):
                await server.wait_until_async(lambda: "on" in run.log("a"))
                task = run.job("a")["task"]["id"]
                with server.gate("UpdateTask", stage="before") as gate:
                    await gate.wait_async()
                    run.cancel(force=True)
                    async with httpx.AsyncClient() as http:
                        (await http.delete(f"{server.control_url}/control/v1/runs/{run.id}")).raise_for_status()
                assert await server.enqueue(ONE).wait_async() == "success"
            (last,) = server.journal.calls(task=task, outcome="internal")
            assert server.journal.calls(task=task)[-1].number == last.number

    asyncio.run(scenario())


@pytest.mark.parametrize("code", ["not_found", "failed_precondition"])
def test_f044_a_plain_code_says_so_as_well_as_a_text(code: str, tmp_path: Path) -> None:
    """A server that has codes for it is understood too: the job ends, one call was enough, the next one runs."""

    async def scenario() -> None:
        async with RawServer() as server:
            refused = error(404 if code == "not_found" else 400, code, "no such task")

            def update(call: Call) -> object:
                return refused if call.message.state.id == 1 else server.default(call)

            server.always("UpdateTask", update)  # type: ignore[arg-type]  # either kind of answer
            server.tasks.extend((shell_task(1, "sleep 600"), shell_task(2, "echo hello")))
            async with running(server, tmp_path):
                await server.until(lambda: server.final(2))
            assert [call.message.state.id for call in server.of("UpdateTask")].count(1) == 1

    asyncio.run(scenario())
