"""Starting, showing and ending work through the control API."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from controlapi import Api

WORKFLOW = """\
name: CI
on: [push, workflow_dispatch]
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: echo hello
  test:
    needs: build
    runs-on: ubuntu-latest
    strategy:
      matrix: {python: ['3.11', '3.12']}
    steps:
      - run: echo ${{ matrix.python }}
"""


async def enqueue(api: Any, **fields: Any) -> dict[str, Any]:
    body = {"repository": "demo/demo", "workflow_file": "ci.yaml", "workflow": WORKFLOW} | fields
    made: dict[str, Any] = await api.call("POST", "/enqueue", json=body, expect=201)
    return made


def test_enqueue_answers_run_and_jobs(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api)
        assert made["run_number"] == 1
        assert made["status"] == "waiting"
        assert made["repository"] == "demo/demo"
        assert [(job["job_id"], job["name"], job["status"]) for job in made["jobs"]] == [
            ("build", "build", "waiting"),
            ("test", "test (3.11)", "blocked"),
            ("test", "test (3.12)", "blocked"),
        ]

    with_api(body)


def test_enqueue_into_an_unknown_repository_is_not_found_and_names_the_field(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        request = {"repository": "no/where", "workflow": WORKFLOW}
        answer = await api.call("POST", "/enqueue", json=request, expect=404)
        assert answer["error"]["field"] == "repository"
        assert "/control/v1/repositories" in answer["error"]["message"]
        assert (await api.call("GET", "/runs"))["total"] == 0

    with_api(body)


def test_enqueue_with_create_repository_makes_it(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        await enqueue(api, repository="octo/app", create_repository=True)
        names = [each["full_name"] for each in (await api.call("GET", "/repositories"))["repositories"]]
        assert names == ["demo/demo", "octo/app"]

    with_api(body)


@pytest.mark.parametrize(
    ("workflow", "field"),
    [
        ("on: push\njobs:\n  a: {runs-on: x, needs: b, steps: [{run: x}]}\n", "jobs.a.needs"),
        ("on: [push\n", "workflow"),
    ],
)
def test_enqueue_of_a_broken_workflow_names_the_place_and_makes_nothing(
    with_api: Callable[..., None], workflow: str, field: str
) -> None:
    async def body(api: Api) -> None:
        request = {"repository": "demo/demo", "workflow": workflow}
        answer = await api.call("POST", "/enqueue", json=request, expect=400)
        assert answer["error"]["code"] == "invalid_argument"
        assert field in answer["error"]["field"]
        assert (await api.call("GET", "/runs"))["total"] == 0

    with_api(body)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"colour": "red"}, "colour"),
        ({"repository": "demo"}, "repository"),
        ({"inputs": {"a": []}}, "inputs"),
        ({"secrets": {"A": 1}}, "secrets.A"),
        ({"sha": "xyz"}, "sha"),
        ({"needs_approval": "yes"}, "needs_approval"),
    ],
)
def test_enqueue_with_a_wrong_field_is_unprocessable_and_names_it(
    with_api: Callable[..., None], change: dict[str, Any], field: str
) -> None:
    async def body(api: Api) -> None:
        request = {"repository": "demo/demo", "workflow": WORKFLOW} | change
        headers = {"Content-Type": "application/json"}
        answer = await api.call("POST", "/enqueue", content=json.dumps(request), headers=headers, expect=422)
        assert answer["error"]["field"].startswith(field), answer

    with_api(body)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"workflow": "a\ud800"}, "workflow"),
        ({"inputs": {"a": "\ud800"}}, "inputs"),
        ({"vars": {"\ud800": "a"}}, "vars"),
        ({"event_payload": {"a": ["\ud800"]}}, "event_payload"),
        ({"event_payload": {"\ud800": 1}}, "event_payload"),
        ({"\ud800": 1}, "\\ud800"),
    ],
)
def test_enqueue_with_half_a_surrogate_pair_is_refused_and_names_the_field(
    with_api: Callable[..., None], change: dict[str, Any], field: str
) -> None:
    async def body(api: Api) -> None:
        request = {"repository": "demo/demo", "workflow": WORKFLOW} | change
        headers = {"Content-Type": "application/json"}
        answer = await api.call("POST", "/enqueue", content=json.dumps(request), headers=headers, expect=400)
        assert answer["error"]["field"] == field

    with_api(body)


def test_run_shows_its_jobs_without_tasks_at_first(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api, title="first", actor="mona", ref="refs/heads/topic")
        run = await api.call("GET", f"/runs/{made['run_id']}")
        assert (run["title"], run["actor"], run["ref"], run["event"]) == ("first", "mona", "refs/heads/topic", "push")
        assert (run["started_at"], run["stopped_at"]) == (None, None)
        assert run["created_at"].endswith("Z")
        assert [job["task"] for job in run["jobs"]] == [None, None, None]
        assert run["jobs"][1]["needs"] == ["build"]
        assert await api.call("GET", f"/jobs/{run['jobs'][0]['id']}") == run["jobs"][0]

    with_api(body)


def test_runs_are_listed_newest_first_and_filtered(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        await api.call("POST", "/repositories", json={"owner": "octo", "name": "app", "kind": "org"})
        first = await enqueue(api)
        second = await enqueue(api, repository="octo/app")
        listed = await api.call("GET", "/runs")
        assert [run["id"] for run in listed["runs"]] == [second["run_id"], first["run_id"]]
        only = await api.call("GET", "/runs", params={"repository": "octo/app"})
        assert [run["repository"] for run in only["runs"]] == ["octo/app"]
        assert (await api.call("GET", "/runs", params={"status": "success"}))["total"] == 0
        page = await api.call("GET", "/runs", params={"limit": 1, "offset": 1})
        assert [run["id"] for run in page["runs"]] == [first["run_id"]]
        assert page["total"] == 2

    with_api(body)


def test_cancel_ends_waiting_jobs_at_once(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api)
        run = await api.call("POST", f"/runs/{made['run_id']}/cancel")
        assert run["status"] == "cancelled"
        assert {job["status"] for job in run["jobs"]} == {"cancelled"}

    with_api(body)


def test_rerun_of_an_ended_run_makes_a_new_attempt(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api)
        refused = await api.call("POST", f"/runs/{made['run_id']}/rerun", expect=400)
        assert refused["error"]["code"] == "invalid_argument"
        await api.call("POST", f"/runs/{made['run_id']}/cancel")
        run = await api.call("POST", f"/runs/{made['run_id']}/rerun", json={"failed_only": True})
        assert run["attempt"] == 2
        assert {job["status"] for job in run["jobs"]} == {"waiting", "blocked"}

    with_api(body)


def test_rerun_of_a_job_and_of_what_failed_at_once_is_refused(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api)
        wish = {"job_id": 1, "failed_only": True}
        answer = await api.call("POST", f"/runs/{made['run_id']}/rerun", json=wish, expect=400)
        assert answer["error"]["field"] == "job_id"

    with_api(body)


def test_delete_of_an_ended_run_leaves_none(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api)
        await api.call("DELETE", f"/runs/{made['run_id']}", expect=400)
        await api.call("POST", f"/runs/{made['run_id']}/cancel")
        await api.call("DELETE", f"/runs/{made['run_id']}", expect=204)
        await api.call("GET", f"/runs/{made['run_id']}", expect=404)

    with_api(body)


def test_run_that_needs_approval_waits_until_approved(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await enqueue(api, needs_approval=True)
        assert {job["status"] for job in made["jobs"]} == {"blocked"}
        run = await api.call("POST", f"/runs/{made['run_id']}/approve")
        assert run["needs_approval"] is False
        assert run["jobs"][0]["status"] == "waiting"

    with_api(body)


@pytest.mark.parametrize("path", ["/runs/99", "/jobs/99", "/tasks/99", "/tasks/99/log", "/runners/99"])
def test_unknown_number_is_not_found_in_the_error_shape(with_api: Callable[..., None], path: str) -> None:
    async def body(api: Api) -> None:
        answer = await api.call("GET", path, expect=404)
        assert answer["error"]["code"] == "not_found"
        assert answer["error"]["field"]

    with_api(body)


def test_commit_statuses_follow_the_run(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        sha = "a" * 40
        await enqueue(api, sha=sha)
        listed = await api.call("GET", "/commit-statuses", params={"repository": "demo/demo", "sha": sha})
        contexts = [each["context"] for each in listed["statuses"]]
        assert "CI / build (push)" in contexts
        assert {each["state"] for each in listed["statuses"]} == {"pending"}

    with_api(body)
