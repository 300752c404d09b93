"""Blocked jobs go on when their needs are done; groups let one member go at a time."""

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from actionswire.result import Result
from actionswire.workflow_yaml import dump
from lifecycle import Bench, on_bench
from mockgitea.core.messages import Assignment, TaskReport
from mockgitea.service.resolver import Resolver
from mockgitea.service.runs import EnqueueRequest
from mockgitea.supervise import Supervisor
from profiles import ALL, NEW

OLD = tuple(name for name in ALL if name not in NEW)
PAIR = """
jobs:
  a: {{runs-on: linux, steps: [{{run: x}}]}}
  b: {{runs-on: linux, needs: a, steps: [{{run: x}}]{more}}}
"""


async def finish_a(bench: Bench, result: Result, more: str = "", outputs: dict[str, str] | None = None) -> int:
    made = await bench.enqueue(PAIR.format(more=f", {more}" if more else ""))
    await bench.finish(await bench.fetch_some(), result, outputs)
    return made.run_id


@pytest.mark.parametrize("profile", ALL)
def test_needed_job_success_makes_the_dependant_waiting_and_bumps(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(PAIR.format(more=""))
        task = await bench.fetch_some()
        before = await bench.version()
        await bench.finish(task, outputs={"o": "1"})
        assert await bench.version() > before
        assert await bench.statuses(made.run_id) == {"a": "success", "b": "waiting"}
        second = await bench.fetch_some()
        assert second.needs["a"].result is Result.SUCCESS
        assert dict(second.needs["a"].outputs) == {"o": "1"}
        await bench.finish(second)
        assert await bench.status(made.run_id) == "success"

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
@pytest.mark.parametrize(("if_text", "status"), [("", "skipped"), ("if: always()", "waiting")])
def test_failed_need_skips_or_starts_by_the_condition(profile: str, if_text: str, status: str) -> None:
    async def body(bench: Bench) -> None:
        run_id = await finish_a(bench, Result.FAILURE, if_text)
        assert (await bench.statuses(run_id))["b"] == status

    on_bench(profile, body)


@pytest.mark.parametrize(("profile", "status"), [("gitea-1.27", "skipped"), ("gitea-1.25", "waiting")])
def test_false_condition_is_the_servers_or_the_runners_business(profile: str, status: str) -> None:
    async def body(bench: Bench) -> None:
        run_id = await finish_a(bench, Result.SUCCESS, "if: needs.a.outputs.go == 'yes'", {"go": "no"})
        assert (await bench.statuses(run_id))["b"] == status

    on_bench(profile, body)


@pytest.mark.parametrize("profile", ALL)
def test_false_condition_without_needs_goes_to_a_runner(profile: str) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue("jobs: {a: {runs-on: linux, if: false, steps: [{run: x}]}}")
        assert await bench.statuses(made.run_id) == {"a": "waiting"}
        task = await bench.fetch_some()
        assert b"if: false" in task.payload
        await bench.finish(task, Result.SKIPPED)
        assert (await bench.statuses(made.run_id)) == {"a": "skipped"}

    on_bench(profile, body)


def test_skipped_job_skips_its_dependants_in_the_same_pass() -> None:
    source = """
jobs:
  a: {runs-on: linux, steps: [{run: x}]}
  b: {needs: a, runs-on: linux, steps: [{run: x}]}
  c: {needs: b, runs-on: linux, steps: [{run: x}]}
  d: {needs: [b, c], if: always(), runs-on: linux, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        await bench.finish(await bench.fetch_some(), Result.FAILURE)
        assert await bench.statuses(made.run_id) == {"a": "failure", "b": "skipped", "c": "skipped", "d": "waiting"}

    for profile in ("gitea-1.27", "gitea-1.25", "forgejo-15"):
        on_bench(profile, body)


def test_condition_that_fails_leaves_the_job_blocked_and_says_why() -> None:
    async def body(bench: Bench) -> None:
        run_id = await finish_a(bench, Result.SUCCESS, "if: fromJSON(needs.a.outputs.o)")
        job = (await bench.run(run_id))["jobs"][1]
        assert (await bench.statuses(run_id))["b"] == "blocked"
        assert job["failure_reason"].startswith("jobs.b.if: fromJSON")
        other = await bench.enqueue("jobs: {z: {runs-on: linux, steps: [{run: x}]}}")
        await bench.finish(await bench.fetch_some())
        assert await bench.status(other.run_id) == "success"

    on_bench("gitea-1.27", body)


def test_tolerated_failure_lets_dependants_go_on_and_the_run_succeed() -> None:
    source = """
jobs:
  a: {runs-on: linux, continue-on-error: true, steps: [{run: x}]}
  b: {runs-on: linux, needs: a, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        await bench.finish(await bench.fetch_some(), Result.FAILURE)
        is_new = bench.services.profile.name == "gitea-1.27"
        assert await bench.statuses(made.run_id) == {"a": "failure", "b": "waiting" if is_new else "skipped"}
        if is_new:
            await bench.finish(await bench.fetch_some())
            assert await bench.status(made.run_id) == "success"

    for profile in ("gitea-1.27", "gitea-1.25"):
        on_bench(profile, body)


def test_matrix_siblings_all_count_before_the_dependant_goes_on() -> None:
    source = """
jobs:
  m: {runs-on: linux, strategy: {matrix: {v: [1, 2]}}, steps: [{run: x}]}
  n: {runs-on: linux, needs: m, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        first, second = await bench.fetch_some(), await bench.fetch_some()
        await bench.finish(second, outputs={"v": "2"})
        assert (await bench.statuses(made.run_id))["n"] == "blocked"
        await bench.finish(first, outputs={"v": "1", "w": "1"})
        task = await bench.fetch_some()
        assert dict(task.needs["m"].outputs) == {"v": "2"}

    on_bench("gitea-1.27", body)


@pytest.mark.parametrize(("profile", "resolved"), [("gitea-1.27", True), ("gitea-1.25", False), ("forgejo-15", False)])
def test_server_stop_resolves_dependants_on_new_servers_only(profile: str, resolved: bool) -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(PAIR.format(more=""))
        task = await bench.fetch_some()
        bench.services.clock.advance(601)
        await bench.services.maintenance.run("stop_zombie_tasks")
        await bench.services.resolver.settle()
        assert await bench.statuses(made.run_id) == {"a": "failure", "b": "skipped" if resolved else "blocked"}
        # The runner's own late report is ignored but has dependants resolved everywhere.
        await bench.finish(task)
        assert await bench.statuses(made.run_id) == {"a": "failure", "b": "skipped"}

    on_bench(profile, body)


def test_restart_of_the_loop_finds_what_was_left_behind() -> None:
    async def body(bench: Bench) -> None:
        made = await bench.enqueue(PAIR.format(more=""))
        task = await bench.fetch_some()
        await bench.services.supervisor.close()
        await succeed_unresolved(bench, task)
        assert (await bench.statuses(made.run_id))["b"] == "blocked"
        again = fresh_resolver(bench)
        await again.settle()
        assert (await bench.statuses(made.run_id))["b"] == "waiting"

    on_bench("gitea-1.27", body)


def test_more_notices_than_can_be_kept_lose_nothing() -> None:
    async def body(bench: Bench) -> None:
        runs = [await bench.enqueue(PAIR.format(more="")) for _ in range(6)]
        await bench.services.supervisor.close()
        tasks = [await bench.fetch_some() for _ in runs]
        again = fresh_resolver(bench, noted_max=2)
        await again.settle()
        for task in tasks:
            await succeed_unresolved(bench, task)
        for made in runs:
            again.notify(made.run_id)
        await again.settle()
        assert [(await bench.statuses(made.run_id))["b"] for made in runs] == ["waiting"] * 6

    on_bench("gitea-1.27", body)


async def succeed_unresolved(bench: Bench, task: Assignment) -> None:
    report = TaskReport(task_id=task.task_id, result=Result.SUCCESS)
    await bench.services.progress.update_task(bench.runner, report, {})


def fresh_resolver(bench: Bench, **options: Any) -> Resolver:
    services = bench.services
    services.supervisor = Supervisor()
    resolver = Resolver(
        store=services.store,
        profile=services.profile,
        supervisor=services.supervisor,
        places=services.runs.places,
        **options,
    )
    resolver.start()
    return resolver


GROUP = "concurrency: {{group: g, cancel-in-progress: {cancel}}}\njobs: {{a: {{runs-on: linux, steps: [{{run: x}}]}}}}"
QUEUE = GROUP.format(cancel="false")


@pytest.mark.parametrize("profile", NEW)
def test_newest_of_a_group_waits_until_the_running_one_ends(profile: str) -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enqueue(QUEUE)
        running = await bench.fetch_some()
        second = await bench.enqueue(QUEUE)
        assert await bench.status(second.run_id) == "blocked"
        third = await bench.enqueue(QUEUE)
        assert await bench.status(second.run_id) == "cancelled"
        assert await bench.status(third.run_id) == "blocked"
        assert await bench.fetch() is None
        before = await bench.version()
        await bench.finish(running)
        assert await bench.status(first.run_id) == "success"
        assert await bench.status(third.run_id) == "waiting"
        assert await bench.version() > before
        await bench.finish(await bench.fetch_some())
        assert await bench.status(third.run_id) == "success"

    on_bench(profile, body)


@pytest.mark.parametrize("profile", NEW)
def test_cancel_in_progress_cancels_the_whole_group(profile: str) -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enqueue(GROUP.format(cancel="true"))
        task = await bench.fetch_some()
        other = await bench.enqueue(QUEUE.replace("group: g", "group: h"))
        second = await bench.enqueue(GROUP.format(cancel="true"))
        assert await bench.status(first.run_id) == "cancelled"
        assert await bench.heartbeat(task) is Result.CANCELLED
        assert await bench.status(second.run_id) == "waiting"
        assert await bench.status(other.run_id) == "waiting"

    on_bench(profile, body)


def test_cancelled_holder_lets_the_next_one_go() -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enqueue(QUEUE)
        await bench.fetch_some()
        second = await bench.enqueue(QUEUE)
        await bench.services.runs.cancel(first.run_id)
        await bench.services.resolver.settle()
        assert await bench.status(second.run_id) == "waiting"

    on_bench("gitea-1.27", body)


def test_groups_belong_to_one_repository() -> None:
    async def body(bench: Bench) -> None:
        await bench.enqueue(QUEUE)
        await bench.fetch_some()
        await bench.services.repositories.ensure("demo", "other")
        made = await bench.services.runs.enqueue(EnqueueRequest(repository="demo/other", source=f"on: push\n{QUEUE}"))
        assert made.status.text == "waiting"

    on_bench("gitea-1.27", body)


def test_job_groups_share_the_name_space_with_runs() -> None:
    jobs = "jobs: {a: {runs-on: linux, concurrency: g, steps: [{run: x}]}, b: {runs-on: linux, steps: [{run: x}]}}"

    async def body(bench: Bench) -> None:
        await bench.enqueue(QUEUE)
        holder = await bench.fetch_some()
        made = await bench.enqueue(jobs)
        assert await bench.statuses(made.run_id) == {"a": "blocked", "b": "waiting"}
        await bench.finish(holder)
        assert await bench.statuses(made.run_id) == {"a": "waiting", "b": "waiting"}

    on_bench("gitea-1.27", body)


def test_job_group_that_reads_needs_is_entered_when_they_are_done() -> None:
    source = """
jobs:
  a: {runs-on: linux, steps: [{run: x}]}
  b: {runs-on: linux, needs: a, concurrency: 'g-${{ needs.a.outputs.env }}', steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        first, second = await bench.enqueue(source), await bench.enqueue(source)
        one, two = await bench.fetch_some(), await bench.fetch_some()
        await bench.finish(one, outputs={"env": "prod"})
        deploy = await bench.fetch_some()
        await bench.finish(two, outputs={"env": "prod"})
        assert (await bench.statuses(second.run_id))["b"] == "blocked"
        await bench.finish(deploy)
        assert (await bench.statuses(first.run_id))["b"] == "success"
        assert (await bench.statuses(second.run_id))["b"] == "waiting"

    on_bench("gitea-1.27", body)


def test_group_members_that_wait_for_something_else_never_wake_each_other_for_ever() -> None:
    source = """
jobs:
  a: {runs-on: linux, concurrency: g, steps: [{run: x}]}
  b: {runs-on: linux, needs: a, concurrency: g, if: "fromJSON('x')", steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        runs = []
        for _ in range(2):
            runs.append(await bench.enqueue(source))
            await bench.finish(await bench.fetch_some())
        for made in runs:
            assert await bench.statuses(made.run_id) == {"a": "success", "b": "blocked"}

    on_bench("gitea-1.27", body)


def test_end_of_a_run_leaves_other_runs_alone_where_groups_block_nobody() -> None:
    async def body(bench: Bench) -> None:
        first = await bench.enqueue(PAIR.format(more=""), event_payload={}, ref="refs/heads/x")
        await bench.fetch_some()
        bench.services.clock.advance(601)
        await bench.services.maintenance.run("stop_zombie_tasks")
        await bench.enqueue("jobs: {z: {runs-on: linux, steps: [{run: x}]}}")
        await bench.finish(await bench.fetch_some())
        assert (await bench.statuses(first.run_id))["b"] == "blocked"

    for profile in ("forgejo-15", "gitea-1.25"):
        on_bench(profile, body)


NAMES = "abcdef"


@st.composite
def graphs(draw: st.DrawFn) -> dict[str, list[str]]:
    """Draw jobs that need some of the earlier ones."""
    count = draw(st.integers(2, len(NAMES)))
    picks = [draw(st.lists(st.sampled_from(NAMES[:index]), unique=True)) if index else [] for index in range(count)]
    return dict(zip(NAMES, picks, strict=False))


@pytest.mark.slow
@given(
    profile=st.sampled_from(ALL),
    needs=graphs(),
    conditions=st.lists(st.sampled_from(["", "always()", "failure()", "success()"]), min_size=6, max_size=6),
    results=st.lists(st.sampled_from([Result.SUCCESS, Result.FAILURE, Result.SKIPPED]), min_size=6, max_size=6),
)
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_every_graph_comes_to_its_end(
    profile: str, needs: dict[str, list[str]], conditions: list[str], results: list[Result]
) -> None:
    jobs = {
        name: {"runs-on": "linux", "needs": needed, "steps": [{"run": "x"}]} | ({"if": condition} if condition else {})
        for (name, needed), condition in zip(needs.items(), conditions, strict=False)
    }
    ended: dict[str, str] = {}

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(dump({"on": "push", "jobs": jobs}))  # type: ignore[dict-item] - texts and lists
        while task := await bench.fetch():
            name = (
                task.context["job"]
                if bench.services.profile.job_context_is_id
                else made.jobs[int(task.context["job"]) - 1].job_id
            )
            assert set(task.needs) == set(needs[name])
            assert all(need.result.text == ended[needed] for needed, need in task.needs.items())
            result = results[NAMES.index(name)]
            ended[name] = result.text
            await bench.finish(task, result)
            ended.update(
                (job, status) for job, status in (await bench.statuses(made.run_id)).items() if status == "skipped"
            )
        assert set((await bench.statuses(made.run_id)).values()) <= {"success", "failure", "skipped"}
        assert await bench.status(made.run_id) in ("success", "failure", "skipped")

    on_bench(profile, body)


@pytest.mark.parametrize(
    ("profile", "event", "payload", "cancelled"),
    [
        ("gitea-1.25", "push", None, True),
        ("gitea-1.21", "push", None, True),
        ("forgejo-11", "push", None, True),
        ("forgejo-15", "push", None, True),
        ("gitea-1.27", "push", None, False),
        ("gitea-1.25", "pull_request", {"action": "synchronized"}, True),
        ("gitea-1.25", "pull_request", None, False),
        ("forgejo-15", "pull_request", {"action": "synchronized"}, True),
        ("gitea-1.25", "workflow_dispatch", None, False),
    ],
)
def test_new_push_cancels_the_previous_run_where_there_are_no_groups(
    profile: str, event: str, payload: dict[str, Any] | None, cancelled: bool
) -> None:
    source = "on: [push, pull_request, workflow_dispatch]\njobs: {a: {runs-on: linux, steps: [{run: x}]}}"

    async def body(bench: Bench) -> None:
        first = await bench.enqueue(source, event=event, event_payload=payload)
        other = await bench.enqueue(source, event=event, event_payload=payload, ref="refs/heads/other")
        await bench.enqueue(source, event=event, event_payload=payload)
        expected = "failure" if profile == "gitea-1.21" else "cancelled"
        assert await bench.status(first.run_id) == (expected if cancelled else "waiting")
        assert await bench.status(other.run_id) == "waiting"

    on_bench(profile, body)


def test_forgejo_queues_a_given_group_without_blocking_or_cancelling() -> None:
    async def body(bench: Bench) -> None:
        await bench.enqueue(QUEUE)
        second = await bench.enqueue(QUEUE)
        running = await bench.fetch_some()
        assert await bench.status(second.run_id) == "waiting"
        assert await bench.fetch() is None
        await bench.finish(running)
        assert (await bench.fetch_some()).context["run_number"] == "2"

    on_bench("forgejo-15", body)


def test_matrix_and_labels_from_needs_are_planned_once_they_are_known() -> None:
    source = """
jobs:
  a: {runs-on: linux, steps: [{run: x}]}
  b:
    needs: a
    runs-on: ${{ needs.a.outputs.label }}
    strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.list) }}'}}
    steps: [{run: x}]
  c: {runs-on: linux, needs: b, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        assert await bench.statuses(made.run_id) == {"a": "waiting", "b": "blocked", "c": "blocked"}
        await bench.finish(await bench.fetch_some(), outputs={"label": "linux", "list": "[1, 2]"})
        assert await bench.statuses(made.run_id) == {
            "a": "success", "b (1)": "waiting", "b (2)": "waiting", "c": "blocked"
        }  # fmt: skip
        for _ in range(2):
            await bench.finish(await bench.fetch_some())
        assert (await bench.statuses(made.run_id))["c"] == "waiting"

    on_bench("forgejo-15", body)


def test_matrix_from_needs_that_cannot_be_read_fails_the_job() -> None:
    source = """
jobs:
  a: {runs-on: linux, steps: [{run: x}]}
  b: {needs: a, strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.list) }}'}}, steps: [{run: x}]}
"""

    async def body(bench: Bench) -> None:
        made = await bench.enqueue(source)
        await bench.finish(await bench.fetch_some(), outputs={"list": "no JSON"})
        assert await bench.statuses(made.run_id) == {"a": "success", "b": "failure"}
        assert "fromJSON" in (await bench.run(made.run_id))["jobs"][1]["failure_reason"]

    on_bench("forgejo-15", body)
