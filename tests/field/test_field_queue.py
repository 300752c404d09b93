"""F16 to F34: who gets a waiting job, that somebody does, and that nobody else gets it too."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.core.faults import Fault, FaultKind
from mockgitea.testing import CallRefused, MockGitea
from rawserver import RawServer
from runnerapp import running, shell_task
from virtualfleet import FleetPlan, VirtualFleet, play
from virtualjobs import Execution

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
GATED = """
on: push
jobs:
  a:
    runs-on: linux
    strategy: {{matrix: {{n: [1, 2, 3, 4]}}}}
    steps: [{{run: "echo on; until [ -e {gate} ]; do sleep 0.02; done"}}]
"""


def matrix(jobs: int, seconds: int) -> str:
    numbers = ", ".join(map(str, range(jobs)))
    strategy = f"strategy: {{matrix: {{n: [{numbers}]}}}}"
    return f"on: push\njobs:\n  a:\n    runs-on: linux\n    {strategy}\n    steps: [{{run: sleep {seconds}}}]\n"


def test_f016_runner_of_every_scope_goes_on_getting_jobs_after_its_first() -> None:
    """The version that a runner was told belonged to another scope than the one compared: one job, and never another.

    Runners of a repository, an owner and the whole server each find the third job by the version they were given.
    """
    for profile in ("gitea-1.27", "forgejo-15"):
        with MockGitea(profile=profile) as server:
            server.create_repository("other/busy")
            scopes: Sequence[dict[str, str]] = ({"repository": "demo/demo"}, {"owner": "demo"}, {})
            for number, scope in enumerate(scopes):
                with server.new_runner(f"r{number}", ["linux"], **scope).play() as played:
                    for _ in range(3):
                        assert played.fetch() is None
                        server.enqueue(ONE.replace("linux", "windows"), repository="other/busy")
                        played.fetch()
                        run = server.enqueue(ONE, workflow_file="w.yml")
                        task = played.fetch()
                        assert task is not None, (profile, scope)
                        played.finish(task["id"])
                        assert run.wait(5) == "success"


def test_f017_losers_of_a_race_go_on_to_the_next_job_and_nobody_idles_while_jobs_wait() -> None:
    """Runners that lost the race for the oldest job were told that nothing was new, and idled beside a long queue.

    Twenty runners that keep losing half of their races finish fifty jobs of a matrix without a pause between two.
    """

    async def scene(fleet: VirtualFleet) -> tuple[float, list[Execution]]:
        await fleet.pass_time(60)
        fleet.faults.add(Fault(name="races", kind=FaultKind.LOST_CLAIM, method="FetchTask", probability=0.5))
        await fleet.enqueue(matrix(50, 30))
        pushed_s = fleet.clock.now_us() / 1e6

        async def ended() -> bool:
            return sum(one.ended_us is not None for one in fleet.jobs.executions) == 50

        assert await fleet.until(ended, within_s=300)
        return pushed_s, fleet.jobs.executions

    pushed_s, jobs = play(scene, FleetPlan(runners=20))
    first = [one.started_us / 1e6 - pushed_s for one in jobs[:20]]
    assert max(first) <= 2 * 6
    assert len({one.runner for one in jobs[:20]}) == 20
    ended_us = {one.runner: one.ended_us or 0 for one in jobs[:20]}
    for one in jobs[20:40]:
        assert one.started_us - ended_us[one.runner] < 1e6


def test_f018_every_matching_runner_gets_its_share() -> None:
    """Some runners of a group were never given a job until the favoured ones were stopped.

    Of eight runners with one big queue each gets at least half of an equal share.
    """

    async def scene(fleet: VirtualFleet) -> list[Execution]:
        await fleet.pass_time(60)
        await fleet.enqueue(matrix(80, 3))
        await fleet.pass_time(60)
        return fleet.jobs.executions

    jobs = play(scene, FleetPlan(runners=8))
    shares = Counter(one.runner for one in jobs)
    assert len(jobs) == 80
    assert len(shares) == 8
    assert min(shares.values()) >= 5


@pytest.mark.parametrize("profile", ["gitea-1.27", "forgejo-15"])
def test_f032_free_slots_fill_at_once_whether_or_not_the_server_fills_several_with_one_answer(
    profile: str, tmp_path: Path
) -> None:
    """Answers with several tasks came late into the protocol, and either side meets peers that do not know them.

    Four slots take four jobs before any idle interval is over, and never more than four; a fifth waits.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            known = server.new_runner()
            run = server.enqueue(GATED.format(gate=gate))
            fifth = server.enqueue(ONE, workflow_file="fifth.yml")
            async with running(
                server, tmp_path, known=known, capacity=4, family=profile.partition("-")[0], fetch_interval="1h"
            ):
                await server.wait_until_async(lambda: [job["status"] for job in run.state()["jobs"]] == ["running"] * 4)
                assert fifth.status == "waiting"
                fetches = server.journal.calls(method="FetchTask")
                assert len(fetches) == (1 if profile == "forgejo-15" else 4)
                gate.touch()
                assert await run.wait_async() == await fifth.wait_async() == "success"
            assert server.audit(capacity={"r1": 4}).is_clean, server.audit(capacity={"r1": 4})

    asyncio.run(scenario())


def test_f033_task_that_is_delivered_again_runs_once_and_is_reported_once(tmp_path: Path) -> None:
    """The check for a running task came before its entry, so that two deliveries of one task both ran.

    Twice in one answer and once more in a later one: one execution, one result, and the other slot stays usable.
    """
    marks, gate = tmp_path / "marks", tmp_path / "gate"

    async def scenario() -> None:
        async with RawServer() as server:
            task = shell_task(1, f"echo mark >> {marks}; until [ -e {gate} ]; do sleep 0.02; done")
            again = pb.FetchTaskResponse(task=task, additional_tasks=[task], tasks_version=1)
            server.script("FetchTask", again, again)
            server.tasks.append(shell_task(2, "echo other"))
            with logged() as logs:
                async with running(server, tmp_path, capacity=2):
                    await server.until(lambda: server.final(2))
                    gate.touch()
                    await server.until(lambda: server.final(1))
            assert marks.read_text().split() == ["mark"]
            told = [c.message.state for c in server.of("UpdateTask") if c.message.state.result]
            assert sorted(state.id for state in told) == [1, 2]
            assert [entry["task_id"] for entry in logs if entry["event"] == "task_already_running"] == [1, 1, 1]

    asyncio.run(scenario())


def test_f034_one_job_never_runs_on_two_runners_even_when_answers_get_lost() -> None:
    """About one launch in fifty ran on two machines at once, and only one of their logs was kept.

    Thirty pushes to two runners whose answers are lost now and then: each job runs on one of them, once.
    """

    async def scene(fleet: VirtualFleet) -> list[Execution]:
        lost = Fault(name="lost", kind=FaultKind.LOSE_ANSWER, method="FetchTask", probability=0.2)
        fleet.faults.add(lost)
        for number in range(30):
            await fleet.enqueue(matrix(1, 1), file=f"w{number}.yml")
            await fleet.pass_time(4)
        await fleet.pass_time(60)
        return fleet.jobs.executions

    jobs = play(scene, FleetPlan(runners=2, profile="forgejo-15", options={"family": "forgejo"}))
    assert sorted(one.run for one in jobs) == sorted({one.run for one in jobs})
    assert len(jobs) == 30
    assert len({one.runner for one in jobs}) == 2
    with MockGitea() as server, server.new_runner("owner").play() as owner, server.new_runner("other").play() as other:
        run = server.enqueue(ONE)
        task = owner.fetch()
        assert task is not None
        assert other.fetch() is None
        with pytest.raises(CallRefused, match="invalid runner for task"):
            other.finish(task["id"], "failure", "foreign row")
        owner.finish(task["id"], "success", "own row")
        assert (run.wait(5), run.log("a")) == ("success", ["own row"])
