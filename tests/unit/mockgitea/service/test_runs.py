"""Enqueue, cancel, approve, rerun and delete over a real store, per profile."""

from typing import Any

import pytest

from actionswire.result import Result, Status
from actionswire.workflow_yaml import load
from lifecycle import Bench, on_bench, register
from mockgitea.core.errors import InvalidInput, NotFound, Refusal
from mockgitea.service.runs import EnqueueRequest
from mockgitea.storage import control_queries as queries
from profiles import ALL, NEW

OLD = tuple(name for name in ALL if name not in NEW)
ONE = "jobs: {a: {runs-on: linux, steps: [{run: x}]}}"
CHAIN = """
jobs:
  a: {runs-on: linux, steps: [{run: x}]}
  b: {runs-on: linux, needs: a, steps: [{run: x}]}
  c: {runs-on: linux, needs: b, steps: [{run: x}]}
  d: {runs-on: linux, steps: [{run: x}]}
"""


@pytest.mark.parametrize("profile", ALL)
def test_enqueue_makes_jobs_and_bumps_the_version(profile: str) -> None:
    async def body(bench: Bench) -> None:
        before = await bench.version()
        made = await bench.enqueue(CHAIN)
        assert [(job.name, job.status.text) for job in made.jobs] == [
            ("a", "waiting"), ("b", "blocked"), ("c", "blocked"), ("d", "waiting")
        ]  # fmt: skip
        assert await bench.version() == before + 1
        assert (await bench.enqueue(ONE)).run_number == made.run_number + 1 == 2
        assert (await bench.run(made.run_id))["attempt"] == 1

    on_bench(profile, body)


def test_numbers_count_per_repository() -> None:
    async def body(bench: Bench) -> None:
        await bench.enqueue(ONE)
        await bench.services.repositories.ensure("demo", "other")
        made = await bench.services.runs.enqueue(EnqueueRequest(repository="demo/other", source=f"on: push\n{ONE}"))
        assert (made.run_id, made.run_number) == (2, 1)

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize(
    ("given", "field", "words"),
    [
        ({"repository": "demo"}, "repository", "owner/name"),
        ({"repository": "demo/nope"}, "repository", "there is demo/demo"),
        ({"workflow_file": "../ci.yml"}, "workflow_file", "file name"),
        ({"workflow_file": "ci.txt"}, "workflow_file", ".yml"),
        ({"source": ""}, "workflow_file", "enqueue it once"),
        ({"source": "on: [push"}, "workflow", "line 2, column 1"),
        ({"event": "release"}, "event", "does not start"),
        ({"inputs": {"a": "1"}}, "inputs", "only workflow_dispatch"),
        ({"sha": "abc"}, "sha", "hex"),
        ({"ref": "a b"}, "ref", "no branch"),
        ({"title": "x" * 256}, "title", "longer than 255"),
        ({"secrets": {"GITHUB_X": "1"}}, "secrets.GITHUB_X", "reserved"),
        ({"vars": {"1a": "1"}}, "vars.1a", "not starting with a digit"),
        ({"secrets": {"A": "x" * 65_537}}, "secrets.A", "more than 65536"),
        ({"secrets": {f"A{n}": "" for n in range(257)}}, "secrets", "more than 256"),
        ({"event_payload": {"a": object()}}, "event_payload", "JSON"),
        ({"event_payload": {"a": "x" * 1_100_000}}, "event_payload", "shorten"),
    ],
)
def test_bad_request_is_refused_and_leaves_nothing(given: dict[str, Any], field: str, words: str) -> None:
    async def body(bench: Bench) -> None:
        request = {"repository": "demo/demo", "source": f"on: push\n{ONE}", "event": "push"} | given
        with pytest.raises(Refusal, match=words.replace(".", r"\.")) as refusal:
            await bench.services.runs.enqueue(EnqueueRequest(**request))
        assert refusal.value.field == field
        assert (await bench.enqueue(ONE)).run_id == 1

    on_bench("gitea-1.27", body)


def test_stored_file_can_be_enqueued_and_dispatched_by_name() -> None:
    source = "on: {push: , workflow_dispatch: {inputs: {n: {type: number, default: 2}}}}\n" + ONE

    async def body(bench: Bench) -> None:
        runs = bench.services.runs
        await bench.enqueue(source, workflow_file="ci.yml")
        await runs.enqueue(EnqueueRequest(repository="demo/demo", workflow_file="ci.yml"))
        made = await runs.dispatch("demo/demo", "ci.yml", ref="main", inputs={"n": "5"}, actor="bob")
        row = await bench.run(made.run_id)
        assert (row["event"], row["ref"], row["actor"]) == ("workflow_dispatch", "refs/heads/main", "bob")
        tasks = [await bench.fetch_some() for _ in range(3 if bench.services.profile.name == "gitea-1.27" else 2)]
        assert tasks[-1].context["event"]["inputs"] == {"n": "5"}
        with pytest.raises(NotFound, match=r"has no 'other\.yml'"):
            await runs.dispatch("demo/demo", "other.yml", ref="main", inputs={})
        with pytest.raises(InvalidInput, match="ref: is missing"):
            await runs.dispatch("demo/demo", "ci.yml", ref="", inputs={})

    on_bench("gitea-1.27", body)


def test_disabled_file_starts_nothing() -> None:
    source = "on: [push, workflow_dispatch]\n" + ONE

    async def body(bench: Bench) -> None:
        runs = bench.services.runs
        made = await bench.enqueue(source, workflow_file="ci.yml")
        await bench.finish(await bench.fetch_some())
        await runs.set_workflow_enabled("demo/demo", "ci.yml", is_enabled=False)
        with pytest.raises(InvalidInput, match="is disabled"):
            await bench.enqueue(source, workflow_file="ci.yml")
        with pytest.raises(InvalidInput, match="is disabled"):
            await runs.dispatch("demo/demo", "ci.yml", ref="main", inputs={})
        with pytest.raises(InvalidInput, match="is disabled"):
            await runs.rerun(made.run_id)
        await runs.set_workflow_enabled("demo/demo", "ci.yml", is_enabled=True)
        await bench.enqueue(source, workflow_file="ci.yml")

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("profile", ["gitea-1.27", "gitea-1.25", "forgejo-15"])
def test_spoilt_job_fails_alone_and_shows_why(profile: str) -> None:
    source = """
jobs:
  bad: {runs-on: "${{ fromJSON(vars.NOPE) }}", steps: [{run: x}]}
  after: {runs-on: linux, needs: bad, steps: [{run: x}]}
  good: {runs-on: linux, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        assert made.jobs[0].status is Status.FAILURE
        assert made.jobs[0].failure_reason.startswith("jobs.bad.runs-on: fromJSON")
        assert await bench.statuses(made.run_id) == {"bad": "failure", "after": "skipped", "good": "waiting"}
        await bench.finish(await bench.fetch_some())
        assert await bench.status(made.run_id) == "failure"

    on_bench(profile, body)


def test_bad_concurrency_fails_every_job_of_the_run() -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue("concurrency: '${{ fromJSON(vars.NOPE) }}'\n" + CHAIN)
        assert set((await bench.statuses(made.run_id)).values()) == {"failure"}
        assert "concurrency.group: fromJSON" in made.jobs[0].failure_reason

    on_bench("gitea-1.27", body)


def test_title_is_given_or_named_or_taken_from_the_file() -> None:
    async def title(bench: Bench, source: str, **given: Any) -> str:
        return str((await bench.run((await bench.enqueue(source, **given)).run_id))["title"])

    async def body(bench: Bench) -> None:
        assert await title(bench, ONE, title="Fix it") == "Fix it"
        assert await title(bench, "run-name: by ${{ github.actor }}\n" + ONE, actor="bob") == "by bob"
        assert await title(bench, "name: CI\non: push\n" + ONE) == "CI"
        assert await title(bench, ONE, workflow_file="x.yml") == "x.yml"

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("profile", ALL)
def test_cancel_ends_what_has_no_runner_at_once(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(CHAIN)
        assert await bench.services.runs.cancel(made.run_id) == 4
        await bench.services.resolver.settle()
        assert set((await bench.statuses(made.run_id)).values()) == {"cancelled"}
        assert await bench.services.runs.cancel(made.run_id) == 0
        assert await bench.fetch() is None
        # Before Gitea 1.23 a run whose jobs were cancelled counts as failed.
        is_old = profile in ("gitea-1.20", "gitea-1.21")
        assert await bench.status(made.run_id) == ("failure" if is_old else "cancelled")

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_cancel_of_a_running_job_is_final_unless_the_runner_can_cancel(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(ONE)
        task = await bench.fetch_some()
        assert await bench.services.runs.cancel(made.run_id) == 1
        assert await bench.statuses(made.run_id) == {"a": "cancelled"}
        assert await bench.heartbeat(task) is Result.CANCELLED
        assert await bench.finish(task) is Result.CANCELLED
        assert await bench.statuses(made.run_id) == {"a": "cancelled"}

    on_bench(profile, body)


@pytest.mark.parametrize("profile", NEW)
@pytest.mark.parametrize("force", [False, True])
def test_cancel_of_a_runner_that_can_cancel_waits_for_it_unless_forced(profile: str, force: bool) -> None:
    async def body(bench: Bench) -> None:
        bench.runner = await register(bench.services, capabilities=("cancelling",))
        made = await bench.enqueue(ONE)
        task = await bench.fetch_some()
        await bench.services.runs.cancel(made.run_id)
        assert await bench.statuses(made.run_id) == {"a": "cancelling"}
        assert await bench.status(made.run_id) == "cancelling"
        assert await bench.services.runs.cancel(made.run_id) == 0
        if force:
            assert await bench.services.runs.cancel(made.run_id, force=True) == 1
            assert await bench.statuses(made.run_id) == {"a": "cancelled"}
        assert await bench.heartbeat(task) is Result.CANCELLED
        assert await bench.finish(task) is Result.CANCELLED
        assert await bench.statuses(made.run_id) == {"a": "cancelled"}

    on_bench(profile, body)


def test_cancel_of_an_ephemeral_runners_job_removes_the_runner() -> None:
    async def body(bench: Bench) -> None:
        bench.runner = await register(bench.services, ephemeral=True)
        made = await bench.enqueue(ONE)
        await bench.fetch_some()
        await bench.services.runs.cancel(made.run_id)
        assert bench.runner.id not in {record.id for record in bench.services.directory.all()}

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize("profile", ALL)
def test_run_that_waits_for_approval_starts_only_then(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(CHAIN, needs_approval=True)
        assert set((await bench.statuses(made.run_id)).values()) == {"blocked"}
        bench.services.resolver.notify(made.run_id)
        await bench.services.resolver.settle()
        assert await bench.fetch() is None
        before = await bench.version()
        assert await bench.services.runs.approve(made.run_id) is True
        assert await bench.version() > before
        assert await bench.statuses(made.run_id) == {"a": "waiting", "b": "blocked", "c": "blocked", "d": "waiting"}
        assert await bench.services.runs.approve(made.run_id) is False

    on_bench(profile, body)


async def run_chain(bench: Bench, *, failing: str = "") -> int:
    made = await bench.enqueue(CHAIN)
    while task := await bench.fetch():
        name = str(load(task.payload.decode())["jobs"]).split("'")[1]  # type: ignore[index, call-overload]
        await bench.finish(task, Result.FAILURE if name == failing else Result.SUCCESS, {"o": name})
    return made.run_id


@pytest.mark.parametrize("profile", ALL)
def test_rerun_all_starts_every_job_again(profile: str) -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench)
        old = {job["name"]: job for job in (await bench.run(run_id))["jobs"]}
        before = await bench.version()
        made = await bench.services.runs.rerun(run_id, actor="bob")
        assert (made.attempt, len(made.started)) == (2, 4)
        assert await bench.version() > before
        row = await bench.run(run_id)
        assert (row["attempt"], row["triggering_actor"], row["stopped_us"]) == (2, "bob", 0)
        assert await bench.statuses(run_id) == {"a": "waiting", "b": "blocked", "c": "blocked", "d": "waiting"}
        new = {job["name"]: job for job in row["jobs"]}
        for name, job in new.items():
            assert (job["id"] != old[name]["id"]) is (profile in NEW)
            assert made.rows[old[name]["id"]] == job["id"]
            assert (job["handle"] != old[name]["handle"]) is (profile == "forgejo-15")
            assert (job["started_us"], job["stopped_us"], job["task_id"]) == (0, 0, 0)
        task = await bench.fetch_some()
        assert task.context["run_attempt"] == "2"
        assert task.context["run_id"] == str(run_id)

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_rerun_failed_takes_dependants_and_keeps_the_rest(profile: str) -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench, failing="b")
        assert await bench.statuses(run_id) == {"a": "success", "b": "failure", "c": "skipped", "d": "success"}
        await bench.services.runs.rerun(run_id, failed_only=True)
        assert await bench.statuses(run_id) == {"a": "success", "b": "waiting", "c": "blocked", "d": "success"}
        task = await bench.fetch_some()
        assert task.needs["a"].result is Result.SUCCESS
        assert dict(task.needs["a"].outputs) == {"o": "a"}
        await bench.finish(task)
        await bench.finish(await bench.fetch_some())
        assert await bench.status(run_id) == "success"

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_rerun_of_one_job_starts_it_although_it_has_needs(profile: str) -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench)
        row = next(job["id"] for job in (await bench.run(run_id))["jobs"] if job["name"] == "b")
        await bench.services.runs.rerun(run_id, job_row_id=row)
        assert await bench.statuses(run_id) == {"a": "success", "b": "waiting", "c": "blocked", "d": "success"}

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_rerun_of_an_unfinished_run_is_refused_but_older_servers_take_a_finished_job(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(CHAIN)
        await bench.finish(await bench.fetch_some())
        first, second = made.jobs[0].id, made.jobs[1].id
        for given in ({}, {"failed_only": True}, {"job_row_id": second}):
            with pytest.raises(InvalidInput, match="wait until it is finished"):
                await bench.services.runs.rerun(made.run_id, **given)  # type: ignore[arg-type]
        if profile in NEW:
            with pytest.raises(InvalidInput, match="wait until it is finished"):
                await bench.services.runs.rerun(made.run_id, job_row_id=first)
        else:
            await bench.services.runs.rerun(made.run_id, job_row_id=first)
            assert (await bench.statuses(made.run_id))["a"] == "waiting"

    on_bench(profile, body)


def test_rerun_failed_without_failures_reruns_all_or_is_refused() -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench)
        if bench.services.profile.name == "gitea-next":
            with pytest.raises(InvalidInput, match="has no failed job"):
                await bench.services.runs.rerun(run_id, failed_only=True)
        else:
            assert len((await bench.services.runs.rerun(run_id, failed_only=True)).started) == 4

    for profile in ("gitea-1.27", "gitea-next"):
        on_bench(profile, body)


def test_rerun_names_what_does_not_exist() -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench)
        runs = bench.services.runs
        for call in (runs.rerun(99), runs.cancel(99), runs.approve(99), runs.delete(99)):
            with pytest.raises(NotFound, match="no run 99"):
                await call
        with pytest.raises(NotFound, match="no job 99 in its latest attempt"):
            await runs.rerun(run_id, job_row_id=99)
        old_row = (await bench.run(run_id))["jobs"][0]["id"]
        await runs.rerun(run_id)
        await runs.cancel(run_id)
        with pytest.raises(NotFound, match=f"no job {old_row} in its latest attempt"):
            await runs.rerun(run_id, job_row_id=old_row)

    on_bench("gitea-1.27", body)


def test_rerun_stops_at_the_limit_of_attempts() -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(ONE)
        for _ in range(49):
            await bench.services.runs.cancel(made.run_id)
            await bench.services.runs.rerun(made.run_id)
        await bench.services.runs.cancel(made.run_id)
        with pytest.raises(InvalidInput, match="has had 50 attempts"):
            await bench.services.runs.rerun(made.run_id)

    on_bench("gitea-1.27", body)


def test_rerun_of_a_job_that_never_could_run_is_refused_with_the_reason() -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue("jobs: {a: {runs-on: '${{ fromJSON(vars.NOPE) }}', steps: [{run: x}]}}")
        with pytest.raises(InvalidInput, match=r"can run again: jobs\.a\.runs-on"):
            await bench.services.runs.rerun(made.run_id)

    on_bench("gitea-1.27", body)


def test_second_rerun_still_finds_outputs_of_the_first_attempt() -> None:
    async def body(bench: Bench) -> None:
        run_id = await run_chain(bench, failing="b")
        for _ in range(2):
            await bench.services.runs.rerun(run_id, failed_only=True)
            task = await bench.fetch_some()
            assert dict(task.needs["a"].outputs) == {"o": "a"}
            await bench.finish(task, Result.FAILURE)

    for profile in ("gitea-1.27", "gitea-1.25"):
        on_bench(profile, body)


def test_delete_removes_a_finished_run_and_its_id_never_comes_back() -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(ONE)
        with pytest.raises(InvalidInput, match="is not finished"):
            await bench.services.runs.delete(made.run_id)
        task = await bench.fetch_some()
        await bench.finish(task)
        await bench.services.runs.delete(made.run_id)
        assert await bench.services.store.read(lambda conn: queries.find_run(conn, made.run_id)) is None
        assert await bench.services.store.read(lambda conn: queries.find_task(conn, task.task_id)) is None
        again = await bench.enqueue(ONE)
        assert (again.run_id, again.run_number, again.jobs[0].id) == (2, 2, 2)

    on_bench("gitea-1.27", body)


def test_commit_statuses_follow_the_jobs_of_pushes_only() -> None:
    async def states(bench: Bench) -> dict[str, tuple[str, str]]:
        rows = await bench.services.store.read(lambda conn: queries.list_commit_statuses(conn, repo_id=None, sha=None))
        return {row["context"]: (row["state"], row["description"]) for row in rows}

    async def body(bench: Bench) -> None:
        await bench.enqueue("name: CI\non: push\n" + ONE, sha="a" * 40)
        await bench.enqueue("on: schedule\n" + ONE)
        assert await states(bench) == {"CI / a (push)": ("pending", "Waiting to run")}
        task = await bench.fetch_some()
        assert await states(bench) == {"CI / a (push)": ("pending", "In progress")}
        bench.services.clock.advance(3)
        await bench.finish(task)
        assert await states(bench) == {"CI / a (push)": ("success", "Successful in 3s")}

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize(
    ("profile", "target"),
    [
        ("gitea-1.27", "/demo/demo/actions/runs/1/jobs/1"),
        ("gitea-1.25", "/demo/demo/actions/runs/1/jobs/0"),
        ("forgejo-15", "/demo/demo/actions/runs/1/jobs/0"),
    ],
)
def test_commit_status_points_to_the_job_as_the_server_counts_it(profile: str, target: str) -> None:
    async def body(bench: Bench) -> None:
        await bench.enqueue(ONE)
        (row,) = await bench.services.store.read(
            lambda conn: queries.list_commit_statuses(conn, repo_id=None, sha=None)
        )
        assert row["target_url"] == target

    on_bench(profile, body)
