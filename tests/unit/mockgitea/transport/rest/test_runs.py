from collections.abc import Callable
from typing import Any

import pytest

from actionswire.result import Result
from restapi import Rest

REPO = "/repos/demo/demo/actions"
GITEA_RUN_KEYS = [
    "id", "url", "previous_attempt_url", "html_url", "display_title", "path", "event", "run_attempt", "run_number",
    "head_sha", "head_branch", "status", "actor", "trigger_actor", "repository", "pull_requests", "started_at",
    "completed_at",
]  # fmt: skip


def test_gitea_run_has_its_shape(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue(sha="b" * 40, title="a title", actor="mona")
        run = await rest.call("GET", f"{REPO}/runs/{made.run_id}")
        assert list(run) == GITEA_RUN_KEYS
        assert run["url"] == "http://gitea.test/api/v1/repos/demo/demo/actions/runs/1"
        assert run["html_url"] == "http://gitea.test/demo/demo/actions/runs/1"
        assert run["path"] == "ci.yaml@refs/heads/main"
        assert (run["display_title"], run["event"], run["head_sha"]) == ("a title", "push", "b" * 40)
        assert (run["head_branch"], run["status"], run["run_attempt"], run["run_number"]) == ("main", "queued", 1, 1)
        assert (run["previous_attempt_url"], run["pull_requests"]) == (None, [])
        assert run["actor"]["login"] == "mona"
        assert run["repository"]["full_name"] == "demo/demo"
        assert (run["started_at"], run["completed_at"]) == ("1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z")

    with_rest(body)


def test_gitea_run_of_a_tag_has_no_branch_and_ends_with_a_conclusion(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue(ref="refs/tags/v1")
        await rest.services.runs.cancel(made.run_id)
        run = await rest.call("GET", f"{REPO}/runs/{made.run_id}")
        assert "head_branch" not in run
        assert (run["status"], run["conclusion"]) == ("completed", "cancelled")
        assert run["completed_at"] != "1970-01-01T00:00:00Z"

    with_rest(body)


def test_gitea_1_25_run_knows_no_attempts(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        run = await rest.call("GET", f"{REPO}/runs/{made.run_id}")
        assert "previous_attempt_url" not in run
        assert "pull_requests" not in run
        assert run["html_url"] == "http://gitea.test/demo/demo/actions/runs/1"

    with_rest(body, "gitea-1.25")


def test_forgejo_run_has_its_shape(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue(title="a title")
        run = await rest.call("GET", f"{REPO}/runs/{made.run_id}")
        assert (run["title"], run["workflow_id"], run["index_in_repo"]) == ("a title", "ci.yaml", 1)
        assert (run["prettyref"], run["status"], run["trigger_event"]) == ("main", "waiting", "push")
        assert isinstance(run["event_payload"], str)
        assert "duration" not in run
        listed = await rest.call("GET", f"{REPO}/runs", params={"status": "waiting"})
        assert listed == {"workflow_runs": [run], "total_count": 1}
        refused = await rest.call("GET", f"{REPO}/runs", params={"status": "queued"}, expect=400)
        assert refused["message"] == "unknown status: queued"
        for query in ({"run_number": 2}, {"event": "schedule"}, {"ref": "refs/heads/x"}, {"workflow_id": "x.yaml"}):
            assert (await rest.call("GET", f"{REPO}/runs", params=query))["total_count"] == 0

    with_rest(body, "forgejo-15")


def test_runs_are_listed_newest_first_in_every_scope(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.services.repositories.ensure("octo", "app", "org")
        await rest.enqueue()
        await rest.enqueue(repository="octo/app")
        await rest.enqueue()
        for prefix, expected in (
            ("/repos/demo/demo", [3, 1]),
            ("/repos/octo/app", [2]),
            ("/orgs/octo", [2]),
            ("/user", [3, 1]),
            ("/admin", [3, 2, 1]),
        ):
            answer = await rest.client.get(f"/api/v1{prefix}/actions/runs")
            assert [run["id"] for run in answer.json()["workflow_runs"]] == expected
            assert answer.headers["x-total-count"] == str(len(expected)) == str(answer.json()["total_count"])
        foreign = await rest.call("GET", f"{REPO}/runs/2", expect=404)
        assert set(foreign) == {"message", "url"}

    with_rest(body)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"event": "workflow_dispatch"}, [2]),
        ({"branch": "topic"}, [2]),
        ({"actor": "mona"}, [2]),
        ({"head_sha": "c" * 40}, [2]),
        ({"status": "queued"}, [2]),
        ({"status": "completed"}, [1]),
        ({"status": ["cancelled", "queued"]}, [2, 1]),
        ({"status": "in_progress"}, []),
        ({"exclude_pull_requests": "true"}, [2, 1]),
    ],
)
def test_runs_are_filtered(with_rest: Callable[..., None], query: dict[str, Any], expected: list[int]) -> None:
    async def body(rest: Rest) -> None:
        first = await rest.enqueue()
        await rest.services.runs.cancel(first.run_id)
        await rest.enqueue(event="workflow_dispatch", ref="refs/heads/topic", actor="mona", sha="c" * 40)
        listed = await rest.call("GET", f"{REPO}/runs", params=query)
        assert [run["id"] for run in listed["workflow_runs"]] == expected

    with_rest(body)


def test_runs_filter_with_an_unknown_status_is_400(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        for path in (f"{REPO}/runs", f"{REPO}/jobs"):
            answer = await rest.call("GET", path, params={"status": "running"}, expect=400)
            assert answer["message"] == "Invalid status running"

    with_rest(body)


def test_runs_link_to_the_neighbouring_pages_without_the_token(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        for _ in range(5):
            await rest.enqueue()
        query = {"limit": 2, "page": 2, "event": "push", "token": "api-token-of-the-tests"}
        answer = await rest.client.get(f"/api/v1{REPO}/runs", params=query)
        base = "http://gitea.test/api/v1/repos/demo/demo/actions/runs?limit=2&event=push&page="
        assert answer.headers["link"] == (
            f'<{base}3>; rel="next",<{base}3>; rel="last",<{base}1>; rel="first",<{base}1>; rel="prev"'
        )

    with_rest(body)


def test_run_is_deleted_once_it_has_ended(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        path = f"{REPO}/runs/{made.run_id}"
        refused = await rest.call("DELETE", path, expect=400)
        assert refused["message"] == "this workflow run is not done"
        await rest.services.runs.cancel(made.run_id)
        await rest.call("DELETE", path, expect=204)
        await rest.call("GET", path, expect=404)

    with_rest(body)


def test_rerun_makes_new_job_rows_and_a_new_attempt(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        path = f"{REPO}/runs/{made.run_id}"
        await rest.call("POST", f"{path}/rerun", expect=400)
        await rest.services.runs.cancel(made.run_id)
        run = await rest.call("POST", f"{path}/rerun", expect=201)
        assert (run["id"], run["run_attempt"], run["status"]) == (made.run_id, 2, "queued")
        assert run["previous_attempt_url"] == f"{run['url']}/attempts/1"
        old = await rest.call("GET", f"{path}/attempts/1")
        assert (old["run_attempt"], old["status"], old["previous_attempt_url"]) == (1, "completed", None)
        await rest.call("GET", f"{path}/attempts/3", expect=404)
        latest = (await rest.call("GET", f"{path}/jobs"))["jobs"]
        first = (await rest.call("GET", f"{path}/attempts/1/jobs"))["jobs"]
        second = (await rest.call("GET", f"{path}/attempts/2/jobs"))["jobs"]
        assert [job["id"] for job in first] == [1, 2]
        assert [job["id"] for job in latest] == [3, 4]
        assert second == latest
        assert (await rest.call("GET", f"{REPO}/jobs"))["total_count"] == 4

    with_rest(body)


def test_rerun_of_one_job_answers_the_clone(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        runner = await rest.runner()
        for _ in range(2):
            await rest.finish(runner, await rest.fetch(runner), Result.SUCCESS)
        path = f"{REPO}/runs/{made.run_id}"
        job = await rest.call("POST", f"{path}/jobs/2/rerun", expect=201)
        assert (job["name"], job["status"], job["run_attempt"]) == ("test", "queued", 2)
        assert job["id"] not in (1, 2)
        jobs = (await rest.call("GET", f"{path}/attempts/2/jobs"))["jobs"]
        assert [(each["name"], each["status"]) for each in jobs] == [("build", "completed"), ("test", "queued")]
        assert jobs[0]["runner_name"] == "r1", "a kept job shows the task of the earlier attempt"
        answer = await rest.call("POST", f"{path}/jobs/2/rerun", expect=404)
        assert answer["message"] == "workflow job not found"

    with_rest(body)


def test_rerun_failed_jobs_answers_an_empty_201(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        await rest.services.runs.cancel(made.run_id)
        answer = await rest.client.post(f"/api/v1{REPO}/runs/{made.run_id}/rerun-failed-jobs")
        assert (answer.status_code, answer.content) == (201, b"")

    with_rest(body)


def test_cancel_by_rest_exists_after_1_27_only(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue()
        path = f"{REPO}/runs/{made.run_id}"
        run = await rest.call("POST", f"{path}/cancel")
        assert (run["status"], run["conclusion"]) == ("completed", "cancelled")
        for verb in ("cancel", "force-cancel"):
            await rest.call("POST", f"{path}/{verb}", expect=409)
        await rest.call("POST", f"{path}/approve", expect=409)

    with_rest(body, "gitea-next")


def test_approve_by_rest_may_be_repeated(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.enqueue(needs_approval=True)
        path = f"{REPO}/runs/{made.run_id}"
        assert (await rest.call("GET", path))["status"] == "waiting"
        for _ in range(2):
            assert (await rest.call("POST", f"{path}/approve"))["status"] == "queued"

    with_rest(body, "gitea-next")
