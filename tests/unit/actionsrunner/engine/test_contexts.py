from pathlib import Path
from typing import Any

import pytest

from actionsrunner.core.seams import Need, TaskSpec
from actionsrunner.engine.contexts import (
    context_aliases,
    github_context,
    inputs_context,
    job_status,
    needs_context,
    secrets_context,
    task_token,
)
from actionsrunner.engine.options import EngineOptions
from actionsrunner.engine.plan import parse_plan
from actionswire.result import Result

OPTIONS = EngineOptions(
    workdir_parent=Path("/w"), labels=(), runner_name="r", runner_version="1", instance_url="https://git.example/"
)
PLAN = parse_plan(b"{name: CI, on: push, jobs: {build: {steps: []}}}")


def task(payload: bytes = b"", **context: Any) -> TaskSpec:
    return TaskSpec(id=1, payload=payload, context=context)


@pytest.mark.parametrize(
    ("ref", "name", "kind"),
    [
        ("refs/heads/a/b", "a/b", "branch"),
        ("refs/tags/v1", "v1", "tag"),
        ("refs/pull/7/head", "7/head", ""),
        ("other", "other", ""),
    ],
)
def test_github_context_derives_missing_ref_parts(ref: str, name: str, kind: str) -> None:
    github = github_context(task(ref=ref), PLAN, OPTIONS)
    assert (github["ref_name"], github["ref_type"]) == (name, kind)


def test_github_context_fills_in_and_hides_private_keys() -> None:
    github = github_context(
        task(
            actor="alice",
            job="17",
            repository="alice/demo",
            server_url="https://other/",
            triggering_actor="",
            workflow="ci.yaml",
            gitea_runtime_token="t",
            forgejo_default_actions_url="u",
            actions_id_token_request_token="t",
            repositoryUrl="https://git.example/alice/demo",
        ),
        PLAN,
        OPTIONS,
    )
    assert github["triggering_actor"] == "alice"
    assert github["repository_owner"] == "alice"
    assert github["run_attempt"] == "1"
    assert github["job"] == "build"
    assert github["workflow"] == "CI"
    assert github["server_url"] == "https://git.example"
    assert github["api_url"] == "https://git.example/api/v1"
    assert github["event"] == {}
    assert github["repositoryUrl"] == "https://git.example/alice/demo"
    assert not {"gitea_runtime_token", "forgejo_default_actions_url", "actions_id_token_request_token"} & set(github)


def test_github_context_without_a_workflow_name_takes_the_file() -> None:
    plan = parse_plan(b"jobs: {build: {steps: []}}")
    assert github_context(task(workflow="ci.yaml"), plan, OPTIONS)["workflow"] == "ci.yaml"


def test_task_token_prefers_the_familys_secret() -> None:
    spec = TaskSpec(
        id=1,
        payload=b"",
        context={"token": "context"},
        secrets={"GITHUB_TOKEN": "github", "GITEA_TOKEN": "gitea", "FORGEJO_TOKEN": "forgejo"},
    )
    assert task_token(spec, "gitea") == "gitea"
    assert task_token(spec, "forgejo") == "forgejo"
    assert task_token(task(token="context"), "gitea") == "context"


def test_secrets_context_always_has_the_token_names() -> None:
    assert secrets_context(task(token="t"), "gitea") == {"GITHUB_TOKEN": "t", "GITEA_TOKEN": "t"}
    assert set(secrets_context(task(token="t"), "forgejo")) == {"GITHUB_TOKEN", "GITEA_TOKEN", "FORGEJO_TOKEN"}


def test_context_aliases_follow_the_family() -> None:
    assert context_aliases("gitea") == ("github", "gitea")
    assert "forgejo" in context_aliases("forgejo")


def test_needs_context_has_result_words_and_outputs() -> None:
    needs = {"a": Need(Result.SUCCESS, {"x": "1"}), "b": Need(Result.SKIPPED), "c": Need(Result.UNSPECIFIED)}
    assert needs_context(needs) == {
        "a": {"result": "success", "outputs": {"x": "1"}},
        "b": {"result": "skipped", "outputs": {}},
        "c": {"result": "", "outputs": {}},
    }


@pytest.mark.parametrize(
    ("results", "success", "failure"),
    [
        ([], True, False),
        ([Result.SUCCESS], True, False),
        ([Result.SUCCESS, Result.FAILURE], False, True),
        ([Result.SUCCESS, Result.SKIPPED], False, False),
        ([Result.CANCELLED], False, False),
    ],
)
def test_job_status_looks_at_needs(results: list[Result], success: bool, failure: bool) -> None:
    needs = {str(index): Need(result) for index, result in enumerate(results)}
    assert job_status(needs, "success") is success
    assert job_status(needs, "failure") is failure
    assert job_status(needs, "cancelled") is False
    assert job_status(needs, "always") is True


def test_inputs_context_is_typed_by_the_declaration() -> None:
    plan = parse_plan(
        b"""
        on:
          workflow_dispatch:
            inputs:
              flag: {type: boolean}
              off: {type: boolean, default: false}
              count: {type: number}
              part: {type: number, default: 1.5}
              word: {type: string, default: hello}
              choice: {type: choice, options: [a, b], default: a}
              bare:
        jobs: {a: {steps: []}}
        """
    )
    inputs = {"flag": "true", "count": "3", "choice": "b", "extra": "kept"}
    spec = task(event_name="workflow_dispatch", event={"inputs": inputs})
    assert inputs_context(spec, plan) == {
        "flag": True,
        "off": False,
        "count": 3,
        "part": 1.5,
        "word": "hello",
        "choice": "b",
        "bare": "",
        "extra": "kept",
    }
    assert github_context(spec, plan, OPTIONS)["event"] == {"inputs": inputs}


def test_inputs_context_of_another_event_is_empty() -> None:
    assert inputs_context(task(event_name="push", event={}), PLAN) == {}
