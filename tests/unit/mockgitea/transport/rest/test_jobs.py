import io
import zipfile
from collections.abc import Callable

import pytest

from actionswire.result import Result
from restapi import Rest

REPO = "/repos/demo/demo/actions"
ROW_TIME_NS = 1_700_000_000_000_000_000
JOB_KEYS = [
    "id", "url", "html_url", "run_id", "run_url", "name", "labels", "run_attempt", "head_sha", "head_branch", "status",
    "steps", "created_at", "started_at", "completed_at",
]  # fmt: skip


def test_waiting_job_has_its_shape_without_runner(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        listed = await rest.call("GET", f"{REPO}/runs/1/jobs")
        assert listed["total_count"] == 2
        build, test = listed["jobs"]
        assert list(build) == JOB_KEYS
        assert (build["status"], test["status"]) == ("queued", "waiting")
        assert test["labels"] == ["self-hosted", "linux"]
        assert build["html_url"] == "http://gitea.test/demo/demo/actions/runs/1/jobs/1"
        assert build["url"] == "http://gitea.test/api/v1/repos/demo/demo/actions/jobs/1"
        assert (build["steps"], build["started_at"]) == ([], "1970-01-01T00:00:00Z")
        assert await rest.call("GET", f"{REPO}/jobs/1") == build

    with_rest(body)


def test_running_and_finished_job_show_runner_and_own_steps_from_0(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        runner = await rest.runner()
        assignment = await rest.fetch(runner)
        job = await rest.call("GET", f"{REPO}/jobs/1")
        assert (job["status"], job["runner_id"], job["runner_name"]) == ("in_progress", runner.id, "r1")
        assert [(step["number"], step["name"], step["status"]) for step in job["steps"]] == [
            (0, "Run echo hello", "queued")
        ]
        await rest.finish(runner, assignment, Result.FAILURE)
        job = await rest.call("GET", f"{REPO}/jobs/1")
        assert (job["status"], job["conclusion"]) == ("completed", "failure")
        assert (job["steps"][0]["status"], job["steps"][0]["conclusion"]) == ("completed", "failure")

    with_rest(body)


def test_cancelling_job_is_in_progress_but_not_found_by_that_filter(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        runner = await rest.runner()
        await rest.services.registration.declare(
            runner, version="v3", labels=runner.labels, capabilities=["cancelling"]
        )
        await rest.fetch(runner)
        await rest.services.runs.cancel(1)
        assert (await rest.call("GET", f"{REPO}/jobs/1"))["status"] == "in_progress"
        found = await rest.call("GET", f"{REPO}/jobs", params={"status": "in_progress"})
        assert found["jobs"] == []

    with_rest(body)


def test_jobs_are_ordered_and_paged(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        await rest.enqueue()
        for query, expected in (
            ({}, [1, 2, 3, 4]),
            ({"order": "desc"}, [4, 3, 2, 1]),
            ({"limit": 3, "page": 2}, [4]),
            ({"status": "queued"}, [1, 3]),
        ):
            listed = await rest.call("GET", f"{REPO}/jobs", params=query)
            assert [job["id"] for job in listed["jobs"]] == expected
        assert (await rest.call("GET", "/admin/actions/jobs"))["total_count"] == 4
        for query in ({"order": "up"}, {"sort": "name"}):
            await rest.call("GET", f"{REPO}/jobs", params=query, expect=422)
        refused = await rest.call("GET", f"{REPO}/runs/x/jobs", expect=400)
        assert refused["message"] == "runID must be a positive integer"

    with_rest(body)


def test_jobs_before_1_27_have_one_order(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        listed = await rest.call("GET", f"{REPO}/jobs", params={"order": "desc"})
        assert [job["id"] for job in listed["jobs"]] == [1, 2]

    with_rest(body, "gitea-1.25")


@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-1.27"])
def test_log_is_404_until_a_row_is_stored_and_the_same_after_sealing(
    with_rest: Callable[..., None], profile: str
) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        path = f"{REPO}/jobs/1/logs"
        await rest.call("GET", path, expect=404)
        runner = await rest.runner()
        task_id = (await rest.fetch(runner)).task_id
        await rest.call("GET", path, expect=404)
        rows = [(ROW_TIME_NS, "one"), (ROW_TIME_NS + 1_500_000_000, "two\nlines")]
        await rest.services.logs.append(runner, task_id=task_id, index=0, rows=rows, no_more=False)
        running = await rest.client.get(f"/api/v1{path}")
        assert running.status_code == 200
        assert running.headers["content-type"] == "text/plain; charset=utf-8"
        assert f'filename="ci-build-{task_id}.log"' in running.headers["content-disposition"]
        assert running.content == b"2023-11-14T22:13:20.0000000Z one\n2023-11-14T22:13:21.5000000Z two\\nlines\n"
        more = [(ROW_TIME_NS, "three")]
        await rest.services.logs.append(runner, task_id=task_id, index=2, rows=more, no_more=True)
        sealed = await rest.client.get(f"/api/v1{path}")
        assert sealed.content == running.content + b"2023-11-14T22:13:20.0000000Z three\n"

    with_rest(body, profile)


def test_logs_of_a_run_come_as_a_zip(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue()
        runner = await rest.runner()
        task_id = (await rest.fetch(runner)).task_id
        await rest.services.logs.append(runner, task_id=task_id, index=0, rows=[(ROW_TIME_NS, "one")], no_more=False)
        answer = await rest.client.get(f"/api/v1{REPO}/runs/1/logs")
        assert answer.headers["content-type"] == "application/zip"
        assert answer.headers["content-disposition"] == 'attachment; filename="ci-run-1-logs.zip"'
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert archive.namelist() == [f"ci-build-{task_id}.log"]
            assert archive.read(archive.namelist()[0]) == b"2023-11-14T22:13:20.0000000Z one\n"

    with_rest(body, "gitea-next")


def test_tasks_are_listed_newest_first(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.enqueue(title="t")
        runner = await rest.runner()
        await rest.finish(runner, await rest.fetch(runner), Result.SUCCESS)
        await rest.fetch(runner)
        answer = await rest.client.get(f"/api/v1{REPO}/tasks")
        assert answer.headers["x-total-count"] == "2"
        newest, oldest = answer.json()["workflow_runs"]
        assert (newest["name"], newest["status"]) == ("test", "running")
        assert (oldest["name"], oldest["status"]) == ("build", "success")
        assert list(oldest) == [
            "id", "name", "head_branch", "head_sha", "run_number", "event", "display_title", "status", "workflow_id",
            "url", "created_at", "updated_at", "run_started_at",
        ]  # fmt: skip
        assert (oldest["head_branch"], oldest["workflow_id"], oldest["run_number"]) == ("main", "ci.yaml", 1)
        assert oldest["url"] == "http://gitea.test/demo/demo/actions/runs/1"

    with_rest(body)


def test_forgejo_search_shows_waiting_and_running_jobs_that_labels_cover(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        path = f"{REPO}/runners/jobs"
        assert await rest.call("GET", path, params={"labels": "linux"}) is None
        await rest.enqueue()
        assert await rest.call("GET", path, params={"labels": "self-hosted"}) is None
        [job] = await rest.call("GET", path, params={"labels": "ubuntu-latest,other"})
        assert list(job) == [
            "id", "run_id", "attempt", "handle", "repo_id", "owner_id", "name", "needs", "runs_on", "task_id", "status"
        ]  # fmt: skip
        assert (job["status"], job["runs_on"], job["task_id"]) == ("waiting", ["ubuntu-latest"], 0)
        await rest.fetch(await rest.runner())
        [job] = await rest.call("GET", "/admin/runners/jobs")
        assert (job["status"], job["task_id"]) == ("running", 1)

    with_rest(body, "forgejo-15")
