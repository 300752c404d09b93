"""UpdateTask through the service: heartbeats, steps, results, outputs, what follows."""

import asyncio

import pytest
from sqlalchemy import select

from actionswire.result import Result, Status
from mockgitea.core.errors import ServerFault
from mockgitea.core.messages import StepReport
from mockgitea.storage.schema import commit_status
from servicebox import CHAIN, Box, in_box, statuses

S = 1_000_000


def test_heartbeat_refreshes_updated_and_answers_unspecified() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = await box.take(record)
        box.clock.advance(60)
        answer = await box.report(record, task.task_id)
        assert (answer.task_id, answer.result, answer.sent_outputs) == (task.task_id, Result.UNSPECIFIED, ())
        assert (await box.task_row(task.task_id)).updated_us == box.clock.now_us()

    in_box(body)


def test_steps_follow_the_report_and_zero_erases_nothing() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        start = 1_700_000_000 * S + 999_999
        await box.report(
            record, task, Result.UNSPECIFIED, StepReport(number=0, started_us=start, log_index=2, log_length=3)
        )
        first, second = await box.steps(task)
        assert (first.status, first.started_us, first.log_index, first.log_length) == (6, 1_700_000_000 * S, 2, 3)
        assert second.status == Status.WAITING
        await box.report(
            record, task, Result.UNSPECIFIED, StepReport(number=0, result=Result.SUCCESS, stopped_us=start)
        )
        first = (await box.steps(task))[0]
        assert (first.status, first.log_index, first.log_length) == (1, 2, 3)
        await box.report(
            record, task, Result.UNSPECIFIED, StepReport(number=1, started_us=start), StepReport(number=99)
        )
        assert statuses(await box.steps(task)) == ["running", "running"], "a step left out falls back to running"

    in_box(body)


@pytest.mark.parametrize("profile", ["gitea-1.21", "gitea-1.27", "forgejo-15"])
def test_result_ends_task_job_and_run_and_later_results_are_ignored(profile: str) -> None:
    async def body(box: Box) -> None:
        record = await box.runner(agent_labels=("linux",))
        run = await box.enqueue(event="push")
        task = (await box.take(record)).task_id
        stopped = box.clock.now_us() + 999_999
        answer = await box.report(record, task, Result.SUCCESS, stopped_us=stopped)
        assert answer.result is Result.SUCCESS
        assert await box.run_status(run) is Status.SUCCESS
        assert (await box.task_row(task)).stopped_us == stopped // S * S
        again = await box.report(
            record, task, Result.FAILURE, StepReport(number=0, result=Result.FAILURE), outputs={"x": "1"}
        )
        assert (again.result, again.sent_outputs) == (Result.SUCCESS, ("x",))
        assert statuses(await box.steps(task)) == ["waiting", "waiting"]
        rows = await box.services.store.read(lambda conn: conn.execute(select(commit_status)).all())
        assert [row.state for row in rows] == ["success"]

    in_box(body, profile)


def test_missing_stop_time_is_kept_as_zero_and_absurd_times_are_held_in_range() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        far = StepReport(number=0, started_us=2**63 * S, stopped_us=-(2**63) * S, log_index=2**63 - 1)
        await box.report(record, task, Result.FAILURE, far)
        assert (await box.task_row(task)).stopped_us == 0
        step = (await box.steps(task))[0]
        assert step.started_us == 253_402_300_799 * S
        assert step.stopped_us == -62_135_596_800 * S

    in_box(body)


def test_unknown_and_foreign_tasks_are_refused() -> None:
    async def body(box: Box) -> None:
        record, stranger = await box.runner(), await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        with pytest.raises(ServerFault, match=r"^update task: resource does not exist$"):
            await box.report(record, 99)
        with pytest.raises(ServerFault, match=r"^update task: invalid runner for task$"):
            await box.report(stranger, task, Result.SUCCESS, outputs={"a": "1"})
        assert (await box.report(record, task)).sent_outputs == ()

    in_box(body)


def test_before_owner_checks_any_runner_may_report() -> None:
    async def body(box: Box) -> None:
        record, stranger = await box.runner(), await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        assert (await box.report(stranger, task, Result.SUCCESS)).result is Result.SUCCESS

    in_box(body, "gitea-1.21")


def test_outputs_keep_the_first_value_and_drop_what_is_too_long() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        assert (await box.report(record, task, outputs={"a": "1"})).sent_outputs == ("a",)
        assert (await box.report(record, task, outputs={"a": "2", "b": "3"})).sent_outputs == ("a", "b")
        long = {"k" * 256: "x", "ä" * 128: "x", "big": "x" * 1_048_577, "k" * 255: "y", "fits": "x" * 1_048_576}
        assert (await box.report(record, task, outputs=long)).sent_outputs == ("a", "b", "fits", "k" * 255)

    in_box(body)


@pytest.mark.parametrize(("result", "after"), [(Result.SUCCESS, "waiting"), (Result.FAILURE, "skipped")])
def test_dependant_is_resolved_after_a_final_report(result: Result, after: str) -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        run = await box.enqueue(CHAIN)
        version = box.services.versions.current(0, 0)
        task = (await box.take(record)).task_id
        await box.report(record, task, result, outputs={"o": "v"})
        assert statuses(await box.jobs(run))[1] == after
        if after == "waiting":
            assert box.services.versions.current(0, 0) > version
            need = (await box.take(record)).needs["build"]
            assert (need.result, need.outputs) == (Result.SUCCESS, {"o": "v"})

    in_box(body)


def test_cancelling_task_ends_cancelled_whatever_is_reported() -> None:
    async def body(box: Box) -> None:
        record = await box.runner(capabilities=("cancelling",))
        run = await box.enqueue()
        task = (await box.take(record)).task_id
        await box.services.runs.cancel(run)
        assert await box.run_status(run) is Status.CANCELLING
        assert (await box.report(record, task)).result is Result.CANCELLED
        assert Status((await box.task_row(task)).status) is Status.CANCELLING
        assert (await box.report(record, task, Result.SUCCESS)).result is Result.CANCELLED
        assert await box.run_status(run) is Status.CANCELLED

    in_box(body)


def test_cancel_without_support_ends_the_task_at_once_and_later_success_is_ignored() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        run = await box.enqueue()
        task = (await box.take(record)).task_id
        await box.report(
            record, task, Result.UNSPECIFIED, StepReport(number=0, started_us=5 * S, result=Result.SUCCESS)
        )
        await box.services.runs.cancel(run)
        assert statuses(await box.steps(task)) == ["success", "cancelled"]
        assert (await box.report(record, task)).result is Result.CANCELLED
        assert (await box.report(record, task, Result.SUCCESS)).result is Result.CANCELLED
        assert await box.run_status(run) is Status.CANCELLED

    in_box(body)


def test_forgejo_bumps_the_runners_scope_on_every_final_report() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        for _ in range(2):
            version = box.services.versions.current(0, 0)
            await box.report(record, task, Result.SUCCESS)
            assert box.services.versions.current(0, 0) == version + 1

    in_box(body, "forgejo-15")


def test_repeated_report_is_a_sign_of_life_and_changes_no_step() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        running = StepReport(number=0, started_us=1_700_000_000 * S, log_index=2, log_length=3)
        for _ in range(3):
            box.clock.advance(10)
            await box.report(record, task, Result.UNSPECIFIED, running)
            first = (await box.steps(task))[0]
            assert (first.status, first.log_index, first.log_length) == (Status.RUNNING, 2, 3)
            assert (await box.task_row(task)).updated_us == box.clock.now_us()

    in_box(body)


def test_a_report_like_the_one_before_the_last_is_applied_again() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        for length in (3, 4, 3):
            report = StepReport(number=0, started_us=1_700_000_000 * S, log_index=2, log_length=length)
            await box.report(record, task, Result.UNSPECIFIED, report)
            assert (await box.steps(task))[0].log_length == length

    in_box(body)


def test_reports_of_one_batch_are_applied_in_their_order() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        reports = [StepReport(number=0, started_us=1_700_000_000 * S, log_length=length) for length in (3, 4, 3, 5, 3)]
        await box.report(record, task, Result.UNSPECIFIED, reports[0])
        await asyncio.gather(*(box.report(record, task, Result.UNSPECIFIED, report) for report in reports))
        assert (await box.steps(task))[0].log_length == 3

    in_box(body)


def test_a_remembered_task_is_still_refused_to_others_and_once_it_is_gone() -> None:
    async def body(box: Box) -> None:
        record, stranger = await box.runner(), await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        running = StepReport(number=0, started_us=1_700_000_000 * S, log_length=3)
        for _ in range(2):
            await box.report(record, task, Result.UNSPECIFIED, running)
        with pytest.raises(ServerFault, match="invalid runner for task"):
            await box.report(stranger, task, Result.UNSPECIFIED, running)
        await box.services.dispatch.release([task])
        with pytest.raises(ServerFault, match="does not exist"):
            await box.report(record, task, Result.UNSPECIFIED, running)

    in_box(body)


def test_a_report_after_remembered_ones_changes_only_what_is_new_in_it() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        first = StepReport(number=0, started_us=1_700_000_000 * S, log_index=2, log_length=3)
        ended = first._replace(result=Result.SUCCESS, stopped_us=1_700_000_009 * S)
        second = StepReport(number=1, started_us=1_700_000_009 * S, log_index=5, log_length=1)
        await box.report(record, task, Result.UNSPECIFIED, first, StepReport(number=1))
        await box.report(record, task, Result.UNSPECIFIED, ended, second)
        await box.report(record, task, Result.UNSPECIFIED, ended, second._replace(log_length=2))
        found = await box.steps(task)
        assert [(row.status, row.log_index, row.log_length) for row in found] == [
            (Status.SUCCESS, 2, 3), (Status.RUNNING, 5, 2),
        ]  # fmt: skip
        assert found[0].stopped_us == 1_700_000_009 * S

    in_box(body)
