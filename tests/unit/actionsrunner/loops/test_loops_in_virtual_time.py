"""The production loops over a fake server, in virtual time."""

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable

import pytest

from actionsrunner.core.family import Family
from actionsrunner.core.poller import BackoffPoller, PollPolicy
from actionsrunner.core.polling import HaltReason
from actionsrunner.core.reporter import EventReporter, ReportPolicy
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.edge.transport import RawAnswer
from actionsrunner.loops.cancel import CancelToken
from actionsrunner.loops.poll_loop import PollLoop
from actionsrunner.loops.report_loop import ReportParts
from actionsrunner.loops.shutdown import ShutdownRequests, leave_in_order
from actionsrunner.loops.task_run import Job, TaskRunner
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from fakeserver import FakeServer, VirtualClock
from virtualtime import run_virtual


class Lab:
    """A runner whose jobs are functions."""

    def __init__(self, server: FakeServer, job: Job, *, tasks_max: int | None = 1, capacity: int = 1) -> None:
        rng = random.Random(1)
        self.server = server
        self.clock = VirtualClock()
        client = RunnerClient(server, version="v", identity=Identity("u", "t"), family=Family.GITEA)
        parts = ReportParts(
            client=client,
            clock=self.clock,
            strategy=EventReporter(ReportPolicy(), rng),
            memory_bytes_max=10**6,
            job_limit_us=3 * 3600 * 10**6,
        )
        policy = PollPolicy(capacity=capacity, tasks_max=tasks_max)
        run_task = TaskRunner(job, parts, hidden=["proxy-password"]).run
        self.poll = PollLoop(client, self.clock, BackoffPoller(policy, rng), run_task, fetch_limit_s=5)

    def final(self, task_id: int = 1) -> pb.TaskState:
        states = [request.state for request in self.server.requests("UpdateTask") if request.state.id == task_id]
        return next(state for state in states if state.result)


async def sleep(seconds: float) -> None:
    clock = VirtualClock()
    await clock.sleep_until(clock.now_us() + round(seconds * 1e6))


def silent(seconds: float) -> Job:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.steps_known(1)
        sink.step_started(0)
        await sleep(seconds)
        sink.step_finished(0, Result.SUCCESS)
        return JobOutcome(Result.SUCCESS)

    return job


def until_cancelled(result: Result = Result.CANCELLED) -> Job:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.steps_known(2)
        sink.step_started(0)
        await cancel.wait()
        return JobOutcome(result)

    return job


def with_task(count: int = 1) -> FakeServer:
    server = FakeServer()
    server.tasks.extend(pb.Task(id=number + 1) for number in range(count))
    return server


def test_idle_runner_asks_at_the_documented_pace() -> None:
    async def scenario() -> list[float]:
        server = FakeServer(rtt_s=0.0)
        lab = Lab(server, silent(1), tasks_max=None)
        running = asyncio.ensure_future(lab.poll.run())
        await sleep(3600)
        lab.poll.stop()
        assert await running is HaltReason.STOPPED
        return server.times("FetchTask")

    times = run_virtual(scenario())
    waits = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert 1.6 <= waits[0] <= 2.4
    assert 3.2 <= waits[1] <= 4.8
    assert all(4 <= wait <= 6 for wait in waits[2:])
    assert 690 <= len(times) <= 750


def test_silent_job_is_heard_every_ten_seconds_over_an_hour() -> None:
    server = with_task()
    assert run_virtual(Lab(server, silent(3600)).poll.run()) is HaltReason.SERVED
    times = server.times("UpdateTask")[1:-2]
    waits = {round(later - earlier) for earlier, later in itertools.pairwise(times)}
    assert waits == {10}
    # Only the sentinel of the end is ever in the log.
    assert server.rows[1] == [""]


def test_virtual_run_with_one_seed_is_reproducible() -> None:
    def trace() -> list[tuple[float, str, str]]:
        server = with_task(3)
        run_virtual(Lab(server, silent(30), tasks_max=3, capacity=2).poll.run())
        return [(at, method, str(request)) for at, method, request in server.calls]

    assert trace() == trace()


def test_outage_loses_no_row_and_delays_no_job() -> None:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        for number in range(600):
            sink.log(f"row {number}")
            await sleep(0.1)
        return JobOutcome(Result.SUCCESS)

    async def scenario() -> FakeServer:
        server = with_task()
        running = asyncio.ensure_future(Lab(server, job).poll.run())
        await sleep(10)
        server.down = True
        await sleep(40)
        server.down = False
        assert await running is HaltReason.SERVED
        return server

    server = run_virtual(scenario())
    assert [row for row in server.rows[1] if row] == [f"row {n}" for n in range(600)]
    # During the outage one try for each tick, not one for each row.
    tries = [at for at in server.times("UpdateLog") if 10 < at < 50]
    assert len(tries) <= 12


def test_job_goes_on_while_the_server_is_silent_and_the_result_arrives() -> None:
    server = with_task()
    server.hooks["UpdateLog"] = lambda request: RawAnswer(503, {}, b"") if not request.no_more else None
    lab = Lab(server, silent(20))
    run_virtual(lab.poll.run())
    assert lab.final().result == pb.RESULT_SUCCESS


def test_server_that_never_comes_back_is_given_up_within_the_budgets() -> None:
    async def scenario() -> float:
        server = with_task()
        running = asyncio.ensure_future(Lab(server, silent(20)).poll.run())
        await sleep(5)
        server.down = True
        await running
        return asyncio.get_running_loop().time()

    assert 20 < run_virtual(scenario()) <= 20 + 61


@pytest.mark.parametrize(
    ("answered", "local", "reported"),
    [
        (Result.CANCELLED, Result.CANCELLED, Result.CANCELLED),
        (Result.CANCELLED, Result.SUCCESS, Result.CANCELLED),
        (Result.FAILURE, Result.CANCELLED, Result.FAILURE),
    ],
)
def test_final_answer_cancels_the_job_and_is_the_result(answered: Result, local: Result, reported: Result) -> None:
    server = with_task()
    state = pb.TaskState(id=1, result=pb.Result.ValueType(answered))
    server.hooks["UpdateTask"] = lambda request: pb.UpdateTaskResponse(state=state)
    lab = Lab(server, until_cancelled(local))
    run_virtual(lab.poll.run())
    final = lab.final()
    assert final.result == reported
    assert [step.result for step in final.steps] == [pb.RESULT_CANCELLED] * 2
    assert server.rows[1][-1] == ("Cancelled" if answered is Result.CANCELLED else "Ended by the server")


def test_job_that_crashes_is_reported_as_failure() -> None:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.log("one")
        raise RuntimeError("bug")

    server = with_task()
    lab = Lab(server, job)
    run_virtual(lab.poll.run())
    assert lab.final().result == pb.RESULT_FAILURE
    assert server.rows[1] == ["one", "Early termination"]


def test_rows_are_masked_and_outputs_with_secrets_are_skipped() -> None:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        sink.log("key s3cret and proxy-password and tok-en-value")
        sink.add_mask("late")
        sink.log("late\r\n")
        sink.set_outputs({"good": "v\udcff", "bad": "has s3cret", "k" * 256: "v", "big": "x" * (1 << 20) + "x"})
        return JobOutcome(Result.SUCCESS)

    server = FakeServer()
    task = pb.Task(id=1, secrets={"KEY": "s3cret"})
    task.context.update({"token": "tok-en-value"})
    server.tasks.append(task)
    run_virtual(Lab(server, job).poll.run())
    assert server.rows[1][:2] == ["key *** and *** and ***", "***"]
    assert [row for row in server.rows[1] if "is dropped" in row and "s3cret" not in row]
    outputs = [dict(request.outputs) for request in server.requests("UpdateTask") if request.outputs]
    assert outputs == [{"good": "v?"}]


def shutdown(
    job: Job, patience_s: float, script: Callable[[ShutdownRequests], Awaitable[None]]
) -> tuple[FakeServer, float, bool]:
    """Run ``script`` beside a runner with one task; returns server, end time, whether it ended in order."""

    async def scenario() -> tuple[FakeServer, float, bool]:
        server = with_task()
        lab = Lab(server, job, tasks_max=None, capacity=2)
        requests = ShutdownRequests()
        polling = asyncio.ensure_future(lab.poll.run())
        leaving = asyncio.ensure_future(
            leave_in_order(requests, lab.poll, lab.clock, patience_us=round(patience_s * 1e6))
        )
        await script(requests)
        await asyncio.wait((polling, leaving), return_when=asyncio.FIRST_COMPLETED)
        at, in_order = asyncio.get_running_loop().time(), polling.done()
        for work in (polling, leaving):
            work.cancel()
        await asyncio.gather(polling, leaving, return_exceptions=True)
        return server, at, in_order

    return run_virtual(scenario())


async def ask_at_ten(requests: ShutdownRequests) -> None:
    await sleep(10)
    requests.ask()


def test_shutdown_without_patience_cancels_and_reports() -> None:
    server, at, in_order = shutdown(until_cancelled(), 0, ask_at_ten)
    assert in_order
    assert at < 11
    finals = [request.state.result for request in server.requests("UpdateTask") if request.state.result]
    assert finals == [pb.RESULT_CANCELLED]
    assert server.rows[1] == ["The runner is shutting down"]


def test_shutdown_with_patience_waits_for_the_job_and_fetches_nothing() -> None:
    server, at, in_order = shutdown(silent(100), 3600, ask_at_ten)
    assert in_order
    assert 100 <= at < 101
    assert max(server.times("FetchTask")) < 10
    assert server.requests("UpdateTask")[-1].state.result == pb.RESULT_SUCCESS


def test_shutdown_cancels_when_the_patience_ends() -> None:
    _, at, in_order = shutdown(until_cancelled(), 60, ask_at_ten)
    assert in_order
    assert 70 <= at < 71


def test_each_further_request_cuts_a_wait_short() -> None:
    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        await sleep(10**6)
        return JobOutcome(Result.SUCCESS)

    async def ask_four_times(requests: ShutdownRequests) -> None:
        for _ in range(4):
            await sleep(10)
            requests.ask()

    _, at, in_order = shutdown(job, 3600, ask_four_times)
    assert not in_order
    assert at == pytest.approx(40, abs=0.1)


def test_bug_in_a_task_stops_the_polling_and_is_kept() -> None:
    async def broken(task: TaskSpec, token: CancelToken) -> None:
        raise RuntimeError("bug in the runner")

    async def scenario() -> tuple[HaltReason, BaseException | None]:
        server = with_task()
        rng = random.Random(1)
        client = RunnerClient(server, version="v", identity=Identity("u", "t"), family=None)
        poll = PollLoop(client, VirtualClock(), BackoffPoller(PollPolicy(), rng), broken, fetch_limit_s=5)
        return await poll.run(), poll.failure

    reason, failure = run_virtual(scenario())
    assert reason is HaltReason.STOPPED
    assert str(failure) == "bug in the runner"
