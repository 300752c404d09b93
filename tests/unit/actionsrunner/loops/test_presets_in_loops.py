"""The production loops with every preset, over a fake server, in virtual time."""

import asyncio
import random
from typing import Any

import pytest

from actionsrunner.core.family import Family
from actionsrunner.core.polling import HaltReason
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.loops.poll_loop import PollLoop
from actionsrunner.loops.report_loop import ReportParts
from actionsrunner.loops.task_run import Job, TaskRunner
from actionsrunner.strategies import PRESETS, build_strategies, select
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from fakeserver import FakeServer, VirtualClock
from virtualtime import run_virtual


def runner(preset: str, server: FakeServer, job: Job, *, capacity: int, tasks_max: int | None = None) -> PollLoop[Any]:
    rng = random.Random(1)
    clock = VirtualClock()
    built = build_strategies(select(preset), capacity=capacity, rng=rng, tasks_max=tasks_max)
    client = RunnerClient(server, version="v", identity=Identity("u", "t"), family=Family.GITEA)
    parts = ReportParts(
        client=client, clock=clock, strategy=built.report, memory_bytes_max=10**6, job_limit_us=3 * 3600 * 10**6
    )
    return PollLoop(client, clock, built.poll, TaskRunner(job, parts).run, fetch_limit_s=5)


async def sleep(seconds: float) -> None:
    clock = VirtualClock()
    await clock.sleep_until(clock.now_us() + round(seconds * 1e6))


def chatty(seconds: int) -> Job:
    """A job of one step that logs a row a second."""

    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.steps_known(1)
        sink.step_started(0)
        for number in range(seconds):
            sink.log(f"row {number}")
            await sleep(1)
        sink.step_finished(0, Result.SUCCESS)
        return JobOutcome(Result.SUCCESS)

    return job


def with_tasks(count: int, *, rtt_s: float = 0.01) -> FakeServer:
    server = FakeServer(rtt_s=rtt_s)
    server.tasks.extend(pb.Task(id=number + 1) for number in range(count))
    return server


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_delivers_all_rows_and_the_result(preset: str) -> None:
    server = with_tasks(3)
    poll = runner(preset, server, chatty(20), capacity=1 if "claimed" in preset else 3, tasks_max=3)
    assert run_virtual(poll.run()) is HaltReason.SERVED
    assert poll.failure is None
    for task_id in (1, 2, 3):
        assert [row for row in server.rows[task_id] if row] == [f"row {number}" for number in range(20)]
    finals = [request.state for request in server.requests("UpdateTask") if request.state.result]
    assert sorted(state.id for state in finals) == [1, 2, 3]
    assert all(state.result == pb.RESULT_SUCCESS for state in finals)


def idle_polls(preset: str, *, capacity: int, hours: float = 1, **server: float) -> list[float]:
    async def scenario() -> list[float]:
        fake = FakeServer(**server)
        poll = runner(preset, fake, chatty(1), capacity=capacity)
        running = asyncio.ensure_future(poll.run())
        await sleep(hours * 3600)
        poll.stop()
        assert await running is HaltReason.STOPPED
        return fake.times("FetchTask")

    return run_virtual(scenario())


@pytest.mark.parametrize(
    ("preset", "capacity", "polls"),
    [("fixed", 60, 1800), ("single", 60, 60), ("per-worker", 60, 3600), ("per-worker", 1, 60), ("current", 60, 720)],
)
def test_idle_polls_of_an_hour_are_those_of_the_closed_form(preset: str, capacity: int, polls: int) -> None:
    # The first two minutes, in which the waits are still short, make up the rest.
    assert len(idle_polls(preset, capacity=capacity, rtt_s=0.0)) == pytest.approx(polls, rel=0.13)


def test_slots_that_poll_for_themselves_have_their_fetches_in_flight_together() -> None:
    times = idle_polls("per-worker", capacity=20, hours=0.001, rtt_s=2.0)
    assert times[:20] == [0.0] * 20


def test_full_runner_is_silent_until_a_slot_is_free() -> None:
    def polls(preset: str) -> list[float]:
        async def scenario() -> list[float]:
            server = with_tasks(3, rtt_s=0.0)
            poll = runner(preset, server, chatty(100), capacity=3)
            running = asyncio.ensure_future(poll.run())
            await sleep(130)
            poll.stop()
            await running
            return server.times("FetchTask")

        return run_virtual(scenario())

    for preset in ("fixed", "per-worker", "single", "current"):
        assert not [at for at in polls(preset) if 6 < at < 100], preset
    assert len([at for at in polls("fixed-claimed") if 6 < at < 100]) == 47


def stop_after(preset: str, seconds: float) -> FakeServer:
    """A server that cancels the task with the first state after ``seconds``."""

    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.steps_known(1)
        sink.step_started(0)
        while cancel.reason is None:
            sink.log("on and on")
            await sleep(1)
        return JobOutcome(Result.CANCELLED)

    server = with_tasks(1)

    def hook(request: pb.UpdateTaskRequest) -> pb.UpdateTaskResponse | None:
        late = asyncio.get_running_loop().time() > seconds
        return pb.UpdateTaskResponse(state=pb.TaskState(id=1, result=pb.RESULT_CANCELLED)) if late else None

    server.hooks["UpdateTask"] = hook
    assert run_virtual(runner(preset, server, job, capacity=1, tasks_max=1).run()) is HaltReason.SERVED
    return server


@pytest.mark.parametrize(("preset", "reported"), [("fixed", False), ("single", False), ("current", True)])
def test_result_of_a_cancelled_task_reaches_the_server_only_today(preset: str, *, reported: bool) -> None:
    server = stop_after(preset, 0.5 if preset == "fixed" else 2)
    assert any(request.state.result for request in server.requests("UpdateTask")) is reported


@pytest.mark.parametrize("preset", ["current", "single", "fixed", "per-worker"])
def test_one_seed_gives_one_trace(preset: str) -> None:
    def trace() -> list[tuple[float, str, str]]:
        server = with_tasks(4)
        run_virtual(runner(preset, server, chatty(5), capacity=2, tasks_max=4).run())
        return [(at, method, str(request)) for at, method, request in server.calls]

    assert trace() == trace()
