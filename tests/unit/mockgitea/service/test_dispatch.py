"""FetchTask through the service: versions, choice, claims, releases, families."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import event

from actionswire.result import Result, Status
from mockgitea.core.errors import NotRegistered, ServerFault
from mockgitea.core.messages import Fetched
from mockgitea.core.secret_hash import token_matches
from mockgitea.storage.engine import SqlStore
from servicebox import CHAIN, ONE_JOB, Box, in_box, statuses

FORGEJO = "forgejo-15"


def test_equal_version_never_touches_the_store() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        first = await box.services.dispatch.fetch(record, tasks_version=0)
        assert (first.tasks_version, first.tasks) == (1, ())
        store = box.services.store
        touched: list[str] = []

        async def forbidden(*_: Any) -> None:
            touched.append("store")

        object.__setattr__(store, "write", forbidden)
        object.__setattr__(store, "read", forbidden)
        again = box.services.dispatch.fetch(record, tasks_version=1)
        with pytest.raises(StopIteration) as done:  # finishes without a single suspension
            again.send(None)
        assert done.value.value.tasks_version == 1
        del store.write, store.read
        assert not touched

    in_box(body)


def test_new_job_moves_the_version_of_its_scopes_only() -> None:
    async def body(box: Box) -> None:
        await box.services.repositories.ensure("demo", "other")
        other = await box.services.repositories.get("demo/other")
        elsewhere = await box.runner(scope=(0, other.id))
        owner_wide = await box.runner(scope=(other.owner_id, 0))
        dispatch = box.services.dispatch
        seen = (await dispatch.fetch(elsewhere, tasks_version=0)).tasks_version
        seen_by_owner = (await dispatch.fetch(owner_wide, tasks_version=0)).tasks_version
        await box.enqueue()
        assert await dispatch.fetch(elsewhere, tasks_version=seen) == Fetched(seen)
        fetched = await dispatch.fetch(owner_wide, tasks_version=seen_by_owner)
        assert fetched.tasks_version > seen_by_owner
        assert fetched.tasks

    in_box(body)


def test_jobs_are_handed_out_by_whole_second_of_update_then_id() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        first, second, third = [await box.enqueue() for _ in range(3)]
        jobs = [(await box.jobs(run))[0] for run in (first, second, third)]
        now = box.clock.now_us()
        await box.damage_job(jobs[0].id, updated_us=now + 999_999)
        await box.damage_job(jobs[1].id, updated_us=now + 1)
        await box.damage_job(jobs[2].id, updated_us=now - 1_000_000)
        taken = [int((await box.take(record)).context["run_id"]) for _ in range(3)]
        assert taken == [third, first, second]

    in_box(body)


def test_fetch_walks_past_pages_of_jobs_that_do_not_fit() -> None:
    async def body(box: Box) -> None:
        jobs = "".join(f"  j{n}:\n    runs-on: other\n    steps:\n      - run: 'true'\n" for n in range(230))
        await box.enqueue("on: workflow_dispatch\njobs:\n" + jobs)
        wanted = await box.enqueue()
        assert int((await box.take(await box.runner())).context["run_id"]) == wanted

    in_box(body)


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "threaded"])
def test_many_claimers_never_share_a_job(inline: bool) -> None:
    async def body(box: Box) -> None:
        box.services.dispatch.picks_max = 100
        runs = [await box.enqueue() for _ in range(20)]
        records = [await box.runner() for _ in range(30)]
        fetches = (box.services.dispatch.fetch(record, tasks_version=0) for record in records)
        fetched = await asyncio.gather(*fetches)
        taken = [int(one.tasks[0].context["run_id"]) for one in fetched if one.tasks]
        assert sorted(taken) == sorted(runs)

    in_box(body, inline=inline)


def test_throttled_fetch_echoes_the_callers_version() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        box.services.dispatch.picks_max = 0
        for version in (0, 77):
            fetched = await box.services.dispatch.fetch(record, tasks_version=version)
            assert (fetched.tasks_version, fetched.tasks) == (version, ())
        box.services.dispatch.picks_max = 16
        await box.take(record)

    in_box(body)


def test_disabled_runner_gets_the_version_and_no_task_until_enabled() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        await box.services.registration.update_runner(record.id, disabled=True)
        fetched = await box.services.dispatch.fetch(record, tasks_version=0)
        assert not fetched.tasks
        assert fetched.tasks_version >= 1
        await box.services.registration.update_runner(record.id, disabled=False)
        assert (await box.services.dispatch.fetch(record, tasks_version=fetched.tasks_version)).tasks

    in_box(body)


@pytest.mark.parametrize(("profile", "gives_back"), [("gitea-1.27", True), ("gitea-1.25", False), (FORGEJO, False)])
def test_fetch_cancelled_while_it_claims_gives_the_job_back_where_the_server_does(
    profile: str, gives_back: bool
) -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        run = await box.enqueue()
        version = box.services.versions.current(0, 0)
        fetch = asyncio.ensure_future(box.services.dispatch.fetch(record, tasks_version=0))
        await asyncio.sleep(0)
        fetch.cancel()
        await asyncio.gather(fetch, return_exceptions=True)
        if gives_back:
            async with asyncio.timeout(10):
                await box.services.versions.changed(0, 0, beyond=version)
        assert statuses(await box.jobs(run)) == (["waiting"] if gives_back else ["running"])
        if gives_back:
            assert box.services.versions.current(0, 0) > version
            assert (await box.take(record)).task_id == 2, "an id is never used twice"
            assert await box.run_status(run) is Status.RUNNING

    in_box(body, profile, inline=False)


def test_job_that_cannot_be_handed_out_fails_alone_and_the_next_one_is_taken() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        broken, crooked, good = [await box.enqueue(CHAIN) for _ in range(3)]
        await box.damage_job((await box.jobs(broken))[0].id, payload=b"jobs: [not, a, mapping]")
        await box.damage_job((await box.jobs(crooked))[0].id, payload=b"\xff\xfe")
        task = await box.take(record)
        assert int(task.context["run_id"]) == good
        await box.services.resolver.settle()
        for run in (broken, crooked):
            first, dependant = await box.jobs(run)
            assert statuses([first, dependant]) == ["failure", "skipped"]
            assert first.failure_reason.startswith("payload: ")
            assert first.task_id == 0

    for profile in ("gitea-1.27", "gitea-1.21", FORGEJO):
        in_box(body, profile)


def test_store_failure_is_a_pick_task_error_and_nothing_is_claimed() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        run = await box.enqueue()
        store: SqlStore = box.services.store

        def fail(conn: Any, cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("INSERT INTO step"):
                raise OSError("disk on fire")

        engine = await store.write(lambda tx: tx.conn.engine)
        event.listen(engine, "before_cursor_execute", fail)
        with pytest.raises(OSError, match="disk on fire"):
            await box.services.dispatch.fetch(record, tasks_version=0)
        event.remove(engine, "before_cursor_execute", fail)
        assert statuses(await box.jobs(run)) == ["waiting"]
        await box.take(record)

    in_box(body)


def test_forgejo_capacity_fills_free_slots_and_zero_means_one() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        for _ in range(4):
            await box.enqueue()
        fetch = box.services.dispatch.fetch
        assert len((await fetch(record, tasks_version=0, capacity=2)).tasks) == 2
        assert len((await fetch(record, tasks_version=0, capacity=0)).tasks) == 1
        assert len((await fetch(record, tasks_version=0, capacity=10**12)).tasks) == 1

    in_box(body, FORGEJO, repositories=("demo/demo",))


def test_forgejo_request_key_recovers_the_same_tasks_with_fresh_tokens() -> None:
    async def body(box: Box) -> None:
        record, stranger = await box.runner(), await box.runner()
        for _ in range(2):
            await box.enqueue()
        fetch = box.services.dispatch.fetch
        first = await fetch(record, tasks_version=0, capacity=2, request_key="k")
        again = await fetch(record, tasks_version=first.tasks_version, capacity=2, request_key="k")
        assert again.tasks_version == 0
        assert [task.task_id for task in again.tasks] == [task.task_id for task in first.tasks]
        for old, new in zip(first.tasks, again.tasks, strict=True):
            row = await box.task_row(new.task_id)
            assert token_matches(new.secrets["GITEA_TOKEN"], row.token_salt, row.token_hash)
            assert not token_matches(old.secrets["GITEA_TOKEN"], row.token_salt, row.token_hash)
        assert not (await fetch(stranger, tasks_version=0, request_key="k")).tasks
        with pytest.raises(ServerFault, match="request key"):
            await box.services.dispatch.fetch_single(record, tasks_version=0, request_key="k")

    in_box(body, FORGEJO)


def test_forgejo_single_task_takes_the_job_of_the_handle_only() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        runs = [await box.enqueue() for _ in range(3)]
        handle = (await box.jobs(runs[1]))[0].handle
        single = box.services.dispatch.fetch_single
        assert not (await single(record, tasks_version=0, handle="unknown")).tasks
        version = box.services.versions.current(0, 0)
        assert not (await single(record, tasks_version=version, handle=handle)).tasks
        assert int((await single(record, tasks_version=0, handle=handle)).tasks[0].context["run_id"]) == runs[1]
        assert not (await single(record, tasks_version=0, handle=handle)).tasks
        assert int((await single(record, tasks_version=0)).tasks[0].context["run_id"]) == runs[0]

    in_box(body, FORGEJO)


@pytest.mark.parametrize("profile", ["gitea-1.27", FORGEJO])
def test_ephemeral_runner_gets_one_task_and_is_gone_after_it(profile: str) -> None:
    async def body(box: Box) -> None:
        record = await box.runner(ephemeral=True)
        assert record.is_ephemeral
        await box.enqueue()
        await box.enqueue()
        fetched = await box.services.dispatch.fetch(record, tasks_version=0, capacity=5)
        assert len(fetched.tasks) == 1
        assert not (await box.services.dispatch.fetch(record, tasks_version=0)).tasks
        answer = await box.report(record, fetched.tasks[0].task_id, Result.SUCCESS)
        assert answer.result is Result.SUCCESS
        with pytest.raises(NotRegistered):
            box.services.directory.authenticate(record.uuid, "any")
        assert record not in box.services.directory.all()

    in_box(body, profile)


def test_ephemeral_runner_with_a_finished_task_is_removed_by_its_fetch_on_gitea() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = await box.take(record)
        await box.report(record, task.task_id, Result.SUCCESS)
        record.is_ephemeral = True
        with pytest.raises(ServerFault, match="pick task: runner has been removed"):
            await box.services.dispatch.fetch(record, tasks_version=0)
        assert record not in box.services.directory.all()

    in_box(body)


def test_before_tasks_version_every_fetch_looks_into_the_queue_and_answers_zero() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        assert (await box.services.dispatch.fetch(record, tasks_version=0)).tasks_version == 0
        await box.enqueue(ONE_JOB)
        fetched = await box.services.dispatch.fetch(record, tasks_version=0)
        assert fetched.tasks
        assert fetched.tasks_version == 0

    in_box(body, "gitea-1.20")
