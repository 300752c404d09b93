"""F129 to F147: leaving in good order, with tasks on their way, running, deaf to signals, or beside a newer process."""

import asyncio
import signal
import time
from pathlib import Path

import httpx
import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.testing import MockGitea
from rawserver import RawServer
from runnerapp import command, finish, running, shell_task, write_config, write_runner_file

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
BOTH = """
on: push
jobs:
  a: {runs-on: linux, steps: [{run: sleep 600}]}
  b: {runs-on: linux, steps: [{run: sleep 600}]}
"""
GATED = """
on: push
jobs:
  a:
    runs-on: linux
    steps: [{{run: "echo on; until [ -e {gate} ]; do sleep 0.02; done"}}]
"""


@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-1.27", "forgejo-15"])
def test_f129_task_on_its_way_when_the_runner_is_stopped_is_not_lost(profile: str, tmp_path: Path) -> None:
    """Giving up a fetch at shutdown raced with the server's assignment, and the task was nobody's until its time-out.

    The answer in flight is still taken for a short while, and its task is handed back as cancelled.
    """

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            run = server.enqueue(ONE)
            known = server.new_runner()
            with server.gate("FetchTask", stage="after") as gate:
                async with running(server, tmp_path, known=known) as runner:
                    await gate.wait_async()
                    assert run.status == "running"
                    stopped = server.journal.mark()
                    runner.requests.ask()
                    gate.open()
                    assert await runner.ended(10) is Exit.OK
            assert await run.wait_async(5) == "cancelled"
            assert run.job("a")["task"]["is_log_sealed"] or profile == "gitea-1.25"
            server.journal.assert_requests(method="FetchTask", since=stopped, count=0)

    asyncio.run(scenario())


def test_f129_fetch_that_is_never_answered_does_not_keep_the_runner(tmp_path: Path) -> None:
    """The wait for an answer in flight is bounded: a held fetch does not keep an idle runner from leaving."""

    async def scenario() -> None:
        async with MockGitea() as server:
            server.faults.add("hang", method="FetchTask")
            async with running(server, tmp_path, known=server.new_runner(), fetch_timeout="60s") as runner:
                await server.wait_until_async(lambda: server.journal.calls(method="FetchTask", outcome="open"))
                runner.requests.ask()
                assert await runner.ended(10) is Exit.OK

    asyncio.run(scenario())


def test_f130_several_tasks_of_one_answer_are_each_run_or_handed_back(tmp_path: Path) -> None:
    """Tasks that had been fetched but not begun were dropped at a stop.

    Every task of an answer that came together with the stop gets exactly one result.
    """

    async def scenario() -> None:
        async with MockGitea(profile="forgejo-15") as server:
            run = server.enqueue(BOTH)
            known = server.new_runner()
            with server.gate("FetchTask", stage="after") as gate:
                async with running(server, tmp_path, known=known, capacity=2, family="forgejo") as runner:
                    await gate.wait_async()
                    runner.requests.ask()
                    gate.open()
                    assert await runner.ended(10) is Exit.OK
            assert [job["status"] for job in run.state()["jobs"]] == ["cancelled", "cancelled"]
            server.journal.assert_requests(method="UpdateTask", request={"state.result": "cancelled"}, count=2)

    asyncio.run(scenario())


def test_f133_idle_runner_leaves_soon_after_the_signal(tmp_path: Path) -> None:
    """The same stop ended an idle process at once in one image and after minutes in another.

    With its default intervals an idle process is gone soon after SIGTERM, with status 0.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            write_runner_file(tmp_path, server.url)
            config = write_config(tmp_path, fetch_interval="2s", fetch_interval_max="5s")
            process = await command(tmp_path, "--config", str(config), "daemon")
            await server.until(lambda: server.of("FetchTask"))
            begin = time.monotonic()
            process.send_signal(signal.SIGTERM)
            code, output = await finish(process)
            assert time.monotonic() - begin < 4
            assert code == Exit.OK, output

    asyncio.run(scenario())


def test_f134_draining_runner_keeps_its_job_and_gets_no_other() -> None:
    """Machines were taken away in the middle of jobs because they were given work to the last moment.

    A runner that an operator disables goes on reporting its task, and what waits goes to the other one.
    """
    with MockGitea() as server:
        leaving, staying = server.new_runner("leaving"), server.new_runner("staying")
        first = server.enqueue(ONE)
        with leaving.play() as old, staying.play() as new:
            task = old.fetch()
            assert task is not None
            url = f"{server.control_url}/control/v1/runners/{leaving.id}"
            httpx.patch(url, json={"disabled": True}, timeout=30).raise_for_status()
            second = server.enqueue(ONE)
            assert old.fetch(tasks_version=0) is None
            assert old.log(task["id"], "still here") == 1
            old.finish(task["id"])
            other = new.fetch()
            assert other is not None
            new.finish(other["id"])
        assert (first.wait(5), second.wait(5)) == ("success", "success")


def test_f135_job_that_ignores_signals_is_handed_back_before_the_machine_is_gone(tmp_path: Path) -> None:
    """A machine with two minutes' notice ended without a word about its job, which looked busy long after.

    With a second order the processes are killed and the result is told at once, rows included.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "trap '' INT TERM\necho deaf\nwhile true; do sleep 0.1; done"))
            async with running(server, tmp_path) as runner:
                await server.until(lambda: "deaf" in server.rows.get(1, []))
                runner.requests.ask()
                runner.requests.ask()
                assert await runner.ended(7) is Exit.OK
            assert server.final(1).result == pb.RESULT_CANCELLED
            assert 1 in server.sealed

    asyncio.run(scenario())


def test_f136_draining_runner_is_alive_to_the_server_until_its_job_has_ended(tmp_path: Path) -> None:
    """Heartbeats stopped with the signal, so runners that finished their last job were declared lost.

    Through half an hour of the server's time a silent job stays alive although its runner has been told to stop.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(GATED.format(gate=gate))
            known = server.new_runner()
            async with running(server, tmp_path, known=known, shutdown_timeout="60s") as runner:
                await server.wait_until_async(lambda: "on" in run.log("a"))
                stopped = server.journal.mark()
                runner.requests.ask()
                for _ in range(4):
                    mark = server.journal.mark()
                    await asyncio.to_thread(server.clock.advance, 9 * 60)
                    await server.journal.wait_for_async("UpdateTask", since=mark)
                assert run.status == "running"
                gate.touch()
                assert await runner.ended(10) is Exit.OK
            assert await run.wait_async(5) == "success"
            assert server.audit(stopped={"r1": stopped}).is_clean

    asyncio.run(scenario())


def test_f137_old_process_finishes_its_long_job_beside_the_new_one(tmp_path: Path) -> None:
    """Upgrades had to wait for jobs of a day, or cut them off.

    While the old runner drains, a new one takes what waits; both jobs succeed and neither protocol rule is broken.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea() as server:
            long = server.enqueue(GATED.format(gate=gate))
            old = running(server, tmp_path / "old", known=server.new_runner("old"), shutdown_timeout="60s")
            async with old as leaving:
                await server.wait_until_async(lambda: "on" in long.log("a"))
                stopped = server.journal.mark()
                leaving.requests.ask()
                short = server.enqueue(ONE)
                async with running(server, tmp_path / "new", known=server.new_runner("new")):
                    assert await short.wait_async() == "success"
                    assert long.status == "running"
                    gate.touch()
                    assert await leaving.ended(10) is Exit.OK
                    assert await long.wait_async(5) == "success"
            assert server.audit(stopped={"old": stopped}).is_clean
            (taken,) = server.journal.calls(method="FetchTask", runner="new", outcome="task")
            assert taken.tasks == (short.job("a")["task"]["id"],)

    asyncio.run(scenario())


def test_f147_first_order_says_what_is_waited_for_and_the_second_forces(tmp_path: Path) -> None:
    """The first interrupt seemed to do nothing, so people killed the process.

    It says at once which tasks are waited for and how long; the second one ends the wait.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(7, "echo on\nsleep 600"))
            with logged() as logs:
                async with running(server, tmp_path, shutdown_timeout="1h") as runner:
                    await server.until(lambda: "on" in server.rows.get(7, []))
                    beats = len(server.of("UpdateTask"))
                    runner.requests.ask()
                    await server.until(lambda: len(server.of("UpdateTask")) > beats)
                    (said,) = [entry for entry in logs if entry["event"] == "stopping"]
                    assert (said["waiting_for"], said["patience_s"]) == ((7,), 3600)
                    runner.requests.ask()
                    assert await runner.ended(15) is Exit.OK
            assert server.final(7).result == pb.RESULT_CANCELLED

    asyncio.run(scenario())
