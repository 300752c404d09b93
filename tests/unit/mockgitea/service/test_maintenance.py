"""The periodic jobs: zombies, endless tasks, abandoned jobs, cleaning, on demand and by the clock."""

import pytest

from actionswire.result import Result, Status
from mockgitea.core.errors import InvalidInput, LogSealed, NotFound, NotRegistered
from mockgitea.core.messages import StepReport
from servicebox import CHAIN, Box, in_box, statuses

DAY_S = 86_400


@pytest.mark.parametrize("profile", ["gitea-1.27", "gitea-1.25", "forgejo-15"])
def test_silent_task_fails_with_its_log_sealed_once_the_clock_says_so(profile: str) -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        run = await box.enqueue(CHAIN)
        task = (await box.take(record)).task_id
        await box.rows(record, task, 0, "a")
        await box.report(record, task, Result.UNSPECIFIED, StepReport(number=0, started_us=1, result=Result.SUCCESS))
        box.clock.advance(600)
        await box.services.settle()
        assert Status((await box.task_row(task)).status) is Status.RUNNING
        box.clock.advance(300)
        await box.services.settle()
        row = await box.task_row(task)
        assert (Status(row.status), row.is_log_sealed) == (Status.FAILURE, True)
        assert statuses(await box.steps(task)) == ["success", "failure"]
        assert statuses(await box.jobs(run)) == ["failure", "skipped" if profile == "gitea-1.27" else "blocked"]
        assert (await box.report(record, task)).result is Result.FAILURE
        with pytest.raises(LogSealed):
            await box.rows(record, task, 1, "late")
        await box.report(record, task, Result.SUCCESS)
        assert statuses(await box.jobs(run)) == ["failure", "skipped"], "the ignored final report resolves"

    in_box(body, profile)


def test_silent_cancelling_task_ends_cancelled_and_an_empty_log_stays_open() -> None:
    async def body(box: Box) -> None:
        record = await box.runner(capabilities=("cancelling",))
        run = await box.enqueue()
        task = (await box.take(record)).task_id
        await box.services.runs.cancel(run)
        box.clock.advance(601)
        assert await box.services.maintenance.run("stop_zombie_tasks") == {"stopped": 1}
        row = await box.task_row(task)
        assert (Status(row.status), row.is_log_sealed) == (Status.CANCELLED, False)

    in_box(body)


def test_task_that_reports_for_ever_is_stopped_as_endless() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        for _ in range(19):
            box.clock.advance(599)
            await box.report(record, task)
        assert await box.services.maintenance.run("stop_endless_tasks") == {"stopped": 1}
        assert (await box.report(record, task)).result is Result.FAILURE

    in_box(body)


def test_one_task_can_be_aged_while_others_stay_young() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        tasks = []
        for _ in range(2):
            await box.enqueue()
            tasks.append((await box.take(record)).task_id)
        await box.services.maintenance.age_task(tasks[0], 601)
        assert await box.services.maintenance.run("stop_zombie_tasks") == {"stopped": 1}
        assert Status((await box.task_row(tasks[0])).status) is Status.FAILURE
        assert Status((await box.task_row(tasks[1])).status) is Status.RUNNING
        with pytest.raises(NotFound, match="task 99 does not exist"):
            await box.services.maintenance.age_task(99, 1)
        with pytest.raises(InvalidInput, match="seconds: must be between 0"):
            await box.services.maintenance.age_task(tasks[1], -1)
        with pytest.raises(InvalidInput, match="seconds: must be between 0"):
            await box.services.maintenance.age_task(tasks[1], float("nan"))

    in_box(body)


def test_reaped_ephemeral_runner_is_gone() -> None:
    async def body(box: Box) -> None:
        record = await box.runner(ephemeral=True)
        await box.enqueue()
        await box.take(record)
        box.clock.advance(601)
        await box.services.maintenance.run("stop_zombie_tasks")
        with pytest.raises(NotRegistered):
            box.services.directory.authenticate(record.uuid, "x")

    in_box(body)


def test_waiting_and_blocked_jobs_are_abandoned_after_a_day() -> None:
    async def body(box: Box) -> None:
        run = await box.enqueue(CHAIN)
        box.clock.advance(DAY_S)
        assert await box.services.maintenance.run("cancel_abandoned_jobs") == {"cancelled": 0}
        box.clock.advance(1)
        assert await box.services.maintenance.run("cancel_abandoned_jobs") == {"cancelled": 2}
        assert await box.run_status(run) is Status.CANCELLED

    in_box(body)


@pytest.mark.parametrize(("profile", "after"), [("gitea-1.27", "cancelled"), ("forgejo-15", "blocked")])
def test_job_of_a_run_that_waits_for_approval_is_abandoned_on_gitea_only(profile: str, after: str) -> None:
    async def body(box: Box) -> None:
        run = await box.enqueue(needs_approval=True)
        box.clock.advance(2 * DAY_S)
        await box.services.settle()
        assert statuses(await box.jobs(run)) == [after]

    in_box(body, profile)


def test_more_rows_than_one_intent_takes_are_all_handled() -> None:
    async def body(box: Box) -> None:
        jobs = "".join(f"  j{n}:\n    runs-on: linux\n    steps:\n      - run: 'true'\n" for n in range(205))
        await box.enqueue("on: workflow_dispatch\njobs:\n" + jobs)
        box.clock.advance(DAY_S + 1)
        assert await box.services.maintenance.run("cancel_abandoned_jobs") == {"cancelled": 205}

    in_box(body)


def test_midnight_jobs_expire_old_logs_but_not_those_without_a_stop_time() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        tasks = []
        for stopped_us in (box.clock.now_us(), 0):
            await box.enqueue()
            tasks.append((await box.take(record)).task_id)
            await box.rows(record, tasks[-1], 0, "a")
            await box.report(record, tasks[-1], Result.SUCCESS, stopped_us=stopped_us)
        box.clock.advance(366 * DAY_S)
        await box.services.settle()
        assert [bool(await box.log(task)) for task in tasks] == [False, True]
        assert [(await box.task_row(task)).is_log_expired for task in tasks] == [True, False]

    in_box(body)


def test_forgejo_seals_lingering_logs_and_removes_offline_runners_on_demand() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        await box.rows(record, task, 0, "a")
        await box.report(record, task, Result.SUCCESS)
        box.clock.advance(DAY_S + 1)
        assert await box.services.maintenance.run("transfer_lingering_logs") == {"sealed": 1}
        assert await box.services.maintenance.run("cleanup_offline_runners") == {"removed_runners": 1}
        assert box.services.directory.all() == []

    in_box(body, "forgejo-15")


def test_unknown_job_names_those_there_are() -> None:
    async def body(box: Box) -> None:
        with pytest.raises(
            NotFound, match=r"gitea-1.27 has no job 'transfer_lingering_logs'; choose one of stop_zombie"
        ):
            await box.services.maintenance.run("transfer_lingering_logs")

    in_box(body)


def test_reset_leaves_nothing_behind_and_the_server_goes_on() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        await box.take(record)
        await box.services.reset()
        with pytest.raises(NotRegistered):
            box.services.directory.authenticate(record.uuid, "x")
        assert box.services.versions.current(0, 0) == 0
        again = await box.runner()
        assert (again.id, again.uuid != record.uuid) == (1, True)
        assert await box.enqueue() == 1
        assert (await box.take(again)).task_id == 1

    in_box(body)
