from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import select

from mockgitea.storage.schema import run
from restapi import Rest

REPO = "/repos/demo/demo/actions"
DISPATCH = f"{REPO}/workflows/ci.yaml/dispatches"
SOURCE = """\
name: By hand
on:
  workflow_dispatch:
    inputs:
      name: {type: string, default: world}
jobs:
  greet:
    runs-on: x
    steps: [{run: 'echo ${{ inputs.name }}'}]
"""


async def _known(rest: Rest) -> None:
    """Let the repository know the file: it does from the first run on."""
    made = await rest.enqueue(source=SOURCE, event="workflow_dispatch")
    await rest.services.runs.cancel(made.run_id)


def test_workflow_has_its_shape_and_is_listed(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        workflow = await rest.call("GET", f"{REPO}/workflows/ci.yaml")
        assert (workflow["id"], workflow["name"], workflow["state"]) == ("ci.yaml", "By hand", "active")
        assert workflow["path"] == ".gitea/workflows/ci.yaml"
        assert workflow["url"] == "http://gitea.test/api/v1/repos/demo/demo/actions/workflows/ci.yaml"
        listed = await rest.call("GET", f"{REPO}/workflows")
        assert listed == {"workflows": [workflow], "total_count": 1}
        assert (await rest.call("GET", f"{REPO}/workflows/ci.yaml/runs"))["total_count"] == 1

    with_rest(body)


def test_dispatch_answers_nothing_or_details_when_asked(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        assert await rest.call("POST", DISPATCH, json={"ref": "main"}, expect=204) is None
        request = {"ref": "refs/heads/topic", "inputs": {"name": "mona"}}
        details = await rest.call("POST", DISPATCH, json=request, params={"return_run_details": "true"})
        assert details == {
            "workflow_run_id": 3,
            "run_url": "http://gitea.test/api/v1/repos/demo/demo/actions/runs/3",
            "html_url": "http://gitea.test/demo/demo/actions/runs/3",
        }
        run = await rest.call("GET", f"{REPO}/runs/3")
        assert (run["event"], run["head_branch"], run["actor"]["login"]) == ("workflow_dispatch", "topic", "demo")

    with_rest(body)


def test_dispatch_takes_a_form_with_bracketed_inputs(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        await rest.call("POST", DISPATCH, data={"ref": "main", "inputs[name]": "mona"}, expect=204)

    with_rest(body)


@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-1.27", "forgejo-15"])
def test_dispatch_with_an_input_the_file_lacks_ignores_it(with_rest: Callable[..., None], profile: str) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        inputs = {"name": "mona", "surprise": "x"}
        await rest.call("POST", DISPATCH, json={"ref": "main", "inputs": inputs}, expect=204)
        shown = await rest.services.store.read(lambda conn: conn.execute(select(run.c.inputs)).scalars().all())
        assert shown[-1] == {"name": "mona"}

    with_rest(body, profile)


def test_dispatch_on_1_25_knows_no_details(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        await rest.call("POST", DISPATCH, json={"ref": "main"}, params={"return_run_details": "true"}, expect=204)

    with_rest(body, "gitea-1.25")


def test_forgejo_dispatch_answers_number_and_jobs_when_asked(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        await rest.call("POST", DISPATCH, json={"ref": "main"}, expect=204)
        made = await rest.call("POST", DISPATCH, json={"ref": "main", "return_run_info": True}, expect=201)
        assert made == {"id": 3, "run_number": 3, "jobs": ["greet"]}

    with_rest(body, "forgejo-15")


@pytest.mark.parametrize(
    ("request_body", "status", "message"),
    [
        ({}, 422, "ref is required parameter"),
        ({"ref": 1}, 422, "[Ref]: must be a string"),
        ({"ref": "main", "inputs": []}, 422, "[Inputs]: must be an object of strings"),
        ({"ref": "main", "inputs": {"name": []}}, 422, "[Inputs]: values must be strings"),
    ],
)
def test_dispatch_with_a_bad_body_is_422(
    with_rest: Callable[..., None], request_body: dict[str, Any], status: int, message: str
) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        answer = await rest.call("POST", DISPATCH, json=request_body, expect=status)
        assert answer["message"] == message

    with_rest(body)


def test_dispatch_of_a_file_without_that_event_is_422(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        source = "on: push\njobs: {a: {runs-on: x, steps: [{run: x}]}}\n"
        await rest.enqueue(workflow_file="push.yaml", source=source)
        answer = await rest.call("POST", f"{REPO}/workflows/push.yaml/dispatches", json={"ref": "main"}, expect=422)
        assert "workflow_dispatch" in answer["message"]

    with_rest(body)


def test_disabled_workflow_is_not_dispatched_until_enabled(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await _known(rest)
        await rest.call("PUT", f"{REPO}/workflows/ci.yaml/disable", expect=204)
        assert (await rest.call("GET", f"{REPO}/workflows/ci.yaml"))["state"] == "disabled_manually"
        await rest.call("POST", DISPATCH, json={"ref": "main"}, expect=403)
        await rest.call("PUT", f"{REPO}/workflows/ci.yaml/enable", expect=204)
        await rest.call("POST", DISPATCH, json={"ref": "main"}, expect=204)
        await rest.call("PUT", f"{REPO}/workflows/nope.yaml/enable", expect=404)

    with_rest(body)
