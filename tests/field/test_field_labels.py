"""F110 to F112: who may get which job, and labels that change."""

import asyncio
import random
from pathlib import Path

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.testing import MockGitea
from rawserver import RawServer
from runnerapp import raw_task, running, shell_task

LABELS = ("linux", "windows", "arm64", "gpu")
SEED = 110


def job_for(*labels: str) -> str:
    return f"on: push\njobs:\n  a:\n    runs-on: [{', '.join(labels)}]\n    steps: [{{run: echo hello}}]\n"


def test_f110_runner_with_the_wrong_scheme_refuses_instead_of_running_it_otherwise(tmp_path: Path) -> None:
    """A job that was meant for one kind of machine often ran in another place, or in the wrong kind of environment.

    A job that asks for a label which means a container here is refused with a row, and none of its steps runs.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            mark = tmp_path / "ran"
            text = f"on: push\njobs:\n  a:\n    runs-on: boxed\n    steps: [{{run: touch {mark}}}]\n"
            server.tasks.extend((raw_task(1, text), shell_task(2, "echo hello")))
            labels = ("linux:host", "boxed:docker://node:22")
            async with running(server, tmp_path, labels=labels):
                await server.until(lambda: server.final(2))
            assert server.of("Declare")[0].message.labels == ["linux", "boxed"]
            assert server.final(1).result == pb.RESULT_FAILURE
            assert any("boxed:docker://node:22" in row and "container" in row for row in server.rows[1])
            assert not mark.exists()
            assert server.final(2).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_f111_no_runner_of_a_mixed_fleet_ever_gets_a_foreign_job_and_none_is_forgotten() -> None:
    """For days machines of a group got jobs that were meant for another kind.

    In any order of polls a job goes only to a runner that has all of its labels, and each that has one goes out once.
    """
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    with MockGitea(seed=SEED) as server:
        kinds = [set(rng.sample(LABELS, rng.randint(1, 3))) for _ in range(5)]
        fleet = [server.new_runner(f"r{n}", sorted(kind)).play() for n, kind in enumerate(kinds)]
        wanted = {}
        for _ in range(25):
            labels = rng.sample(LABELS, rng.randint(1, 2))
            wanted[server.enqueue(job_for(*labels)).id] = set(labels)
        given: dict[int, set[str]] = {}
        idle = 0
        while idle < 3 * len(fleet):
            played, kind = rng.choice(list(zip(fleet, kinds, strict=True)))
            task = played.fetch(tasks_version=0)
            if task is None:
                idle += 1
                continue
            idle = 0
            run_id = int(task["context"]["run_id"])
            assert run_id not in given
            given[run_id] = kind
            played.finish(task["id"])
        for played, kind in zip(fleet, kinds, strict=True):
            assert played.fetch(tasks_version=0) is None, kind
            played.close()
        assert all(wanted[run_id] <= kind for run_id, kind in given.items())
        assert set(given) == {run for run, labels in wanted.items() if any(labels <= kind for kind in kinds)}


def test_f112_labels_changed_in_the_configuration_count_from_the_next_start_on(tmp_path: Path) -> None:
    """New labels were ignored until one registered again, and a label with colons could not be said.

    Each start declares the labels of the moment: the server matches those and no longer the old ones.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            known = server.new_runner(labels=["linux"])
            async with running(server, tmp_path, known=known):
                await server.journal.wait_for_async("FetchTask")
            old, new = server.enqueue(job_for("linux")), server.enqueue(job_for("metal"))
            labels = ("metal:host", "boxed:docker://registry.example:5000/image:1")
            async with running(server, tmp_path, known=known, labels=labels):
                assert await new.wait_async() == "success"
            (seen,) = server.snapshot()["runners"]
            assert seen["labels"] == ["metal", "boxed"]
            assert old.status == "waiting"

    asyncio.run(scenario())
