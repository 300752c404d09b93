"""F24 to F31: fetches that hang, are cut by something in between, or whose answer with a task in it gets lost."""

import asyncio
import contextlib
import itertools
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.core.faults import Fault, FaultKind
from mockgitea.testing import MockGitea
from rawserver import RawServer, Reply, page
from runnerapp import running, shell_task
from virtualfleet import FleetPlan, VirtualFleet, play
from virtualrunner import Exchange

MARKING = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{{run: echo mark >> {marks}}}]\n"
ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
SILENT = "on: push\njobs:\n  a: {runs-on: linux, steps: [{run: sleep 900}]}\n"
CUT_AFTER_S = 0.15


def longest_silence_s(wire: list[Exchange]) -> float:
    """Between the ends and the beginnings of calls that follow each other."""
    return max((after.began_us - before.ended_us) / 1e6 for before, after in itertools.pairwise(wire))


@contextlib.asynccontextmanager
async def cutting_relay(port: int) -> AsyncIterator[str]:
    """Relay connections to a local port and cut each one that has lived for a while, whatever it is doing."""
    writers: set[asyncio.StreamWriter] = set()

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(1 << 16):
                writer.write(data)
                await writer.drain()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind, onward = await asyncio.open_connection("127.0.0.1", port)
        writers.update((writer, onward))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CUT_AFTER_S):
                await asyncio.gather(pump(reader, onward), pump(behind, writer))
        for each in (writer, onward):
            each.transport.abort()

    relay = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{relay.sockets[0].getsockname()[1]}"
    finally:
        relay.close()
        for writer in writers:
            writer.transport.abort()


def test_f024_runner_whose_fetches_hang_for_long_takes_the_next_job_when_they_no_longer_do() -> None:
    """After a poll had timed out the log said "reconnected", and no job was ever taken again.

    Through half an hour of fetches that are never answered it goes on asking, and then takes what waits.
    """

    async def scene(fleet: VirtualFleet) -> tuple[list[Exchange], float]:
        fleet.faults.add(Fault(name="deaf", kind=FaultKind.HANG, method="FetchTask", until_s=1800))
        await fleet.at(1000)
        await fleet.enqueue(ONE.replace("echo hello", "sleep 1"))
        await fleet.at(1820)
        (execution,) = fleet.jobs.executions
        return fleet.wire, execution.started_us / 1e6

    wire, started_s = play(scene, FleetPlan(runners=1))
    assert 1800 <= started_s <= 1800 + 5 + 6
    asked = [one for one in wire if one.path.endswith("FetchTask")]
    assert all(one.ended_us - one.began_us <= 5_100_000 for one in asked)
    assert longest_silence_s(asked[:-1]) <= 6


@pytest.mark.parametrize("status", [502, 504])
def test_f025_proxy_that_answers_in_place_of_the_server_costs_nothing_but_time(status: int, tmp_path: Path) -> None:
    """A balancer cut waiting calls with an empty 504 of its own, which the runner could not read.

    Such answers, empty or as a page, at any call mean "again later": the job's rows and result arrive whole.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            empty = Reply(status, {"Content-Type": "application/json"}, b"")
            for method in ("FetchTask", "UpdateLog", "UpdateTask"):
                server.script(method, empty, page(status))
            server.tasks.append(shell_task(1, "echo one", "echo two"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert server.final(1).result == pb.RESULT_SUCCESS
            assert [row for row in server.rows[1] if row in ("one", "two")] == ["one", "two"]
            assert 1 in server.sealed

    asyncio.run(scenario())


def test_f026_proxy_that_cuts_every_connection_after_a_while_does_not_disturb_a_job(tmp_path: Path) -> None:
    """A proxy ended connections after two minutes; longer jobs hung, and their runner was refused as still busy.

    A job that outlives several connections reports every row once, and its runner goes on to the next job.
    """
    workflow = ONE.replace("echo hello", "for n in $(seq 12); do echo row $n; sleep 0.1; done")

    async def scenario() -> None:
        async with MockGitea(profile="forgejo-15") as server:
            first = server.enqueue(workflow, workflow_file="first.yml")
            second = server.enqueue(ONE, workflow_file="second.yml")
            known = server.new_runner()
            async with (
                cutting_relay(int(server.url.rpartition(":")[2])) as url,
                running(_Behind(url), tmp_path, known=known, report_close_timeout="10s"),
            ):
                assert await first.wait_async() == await second.wait_async() == "success"
            rows = [row for row in first.log("a") if row.startswith("row ")]
            assert rows == [f"row {number}" for number in range(1, 13)]
            assert len({call.peer for call in server.journal.calls()}) >= 6

    asyncio.run(scenario())


class _Behind:
    """A server that is reached by way of something else."""

    def __init__(self, url: str) -> None:
        self.url = url


def test_f027_no_connection_is_silent_for_as_long_as_middle_boxes_wait() -> None:
    """Pings came every five minutes, and what was in between forgot silent connections after one.

    With the defaults an idle runner and a silent job both speak several times a minute.
    """

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        await fleet.pass_time(600)
        await fleet.enqueue(SILENT)
        await fleet.pass_time(600)
        return fleet.wire

    wire = play(scene, FleetPlan(runners=1))
    assert {one.path.rpartition("/")[2] for one in wire if one.began_us > 700e6} == {"UpdateTask"}
    assert longest_silence_s(wire) <= 15


def test_f028_lost_answer_with_a_task_is_asked_for_again_by_its_key(tmp_path: Path) -> None:
    """The connection broke after the assignment: the server took the task for running, and nobody had ever seen it.

    The same request key brings the same task, which then runs once; the key changes with the answer.
    """
    marks = tmp_path / "marks"

    async def scenario() -> None:
        async with MockGitea(profile="forgejo-15") as server:
            run = server.enqueue(MARKING.format(marks=marks))
            server.faults.add("lose-answer", method="FetchTask", times=2)
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
                await server.journal.wait_for_async("FetchTask", n=4)
            assert marks.read_text().split() == ["mark"]
            keys = [call.headers["x-runner-request-key"] for call in server.journal.calls(method="FetchTask")]
            assert keys[0] == keys[1] == keys[2] != keys[3]
            recovered = server.journal.calls(method="FetchTask", outcome="task")[-1]
            assert recovered.tasks == (run.job("a")["task"]["id"],)

    asyncio.run(scenario())


def test_f029_fetch_that_timed_out_is_said_and_its_task_is_recovered(tmp_path: Path) -> None:
    """A time-out that was too short lost task after task, and only the most talkative log level said so.

    The first one is a warning, and what had been assigned comes with the next answer.
    """
    marks = tmp_path / "marks"

    async def scenario() -> None:
        async with MockGitea(profile="forgejo-15") as server:
            run = server.enqueue(MARKING.format(marks=marks))
            server.faults.add("delay", method="FetchTask", stage="after", delay_s=1, times=1)
            with logged() as logs:
                async with running(server, tmp_path, known=server.new_runner(), fetch_timeout="200ms"):
                    assert await run.wait_async() == "success"
            assert marks.read_text().split() == ["mark"]
            (said,) = [one for one in logs if one["event"] == "fetch_failed"]
            assert (said["log_level"], said["code"]) == ("warning", "deadline_exceeded")

    asyncio.run(scenario())


@pytest.mark.parametrize(("profile", "ends"), [("gitea-1.27", "success"), ("gitea-1.25", "failure")])
def test_f030_server_that_is_slower_than_the_fetch_time_limit_loses_no_job_for_good(
    profile: str, ends: str, tmp_path: Path
) -> None:
    """On weak hardware the assignment outlived the runner's patience: nobody's task, failed after ten minutes.

    Today's server takes the claim back and the job runs; an older one ends the task, and holds up no other job.
    """
    marks = tmp_path / "marks"

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            run = server.enqueue(MARKING.format(marks=marks), workflow_file="lost.yml")
            server.faults.add("delay", method="FetchTask", stage="after", delay_s=0.5, times=1)
            async with running(server, tmp_path, known=server.new_runner(), fetch_timeout="200ms"):
                other = server.enqueue(ONE, workflow_file="other.yml")
                assert await other.wait_async() == "success"
                if ends == "failure":
                    assert run.status == "running"
                    await asyncio.to_thread(server.clock.advance, 15 * 60)
                assert await run.wait_async() == ends
            assert marks.exists() == (ends == "success")
            server.journal.assert_requests(method="FetchTask", outcome="abandoned", count=1)

    asyncio.run(scenario())
