from pathlib import Path
from typing import Any

import pytest

from actionsrunner.core.seams import TaskSpec
from actionsrunner.engine.options import EngineOptions
from actionsrunner.engine.variables import (
    configured_variables,
    file_prefixes,
    image_os,
    runner_context,
    runner_variables,
    step_debug,
    step_variables,
)


def options(**fields: Any) -> EngineOptions:
    defaults: dict[str, Any] = {
        "workdir_parent": Path("/w"),
        "labels": (),
        "runner_name": "r",
        "runner_version": "1.2",
        "instance_url": "https://git.example/",
    }
    return EngineOptions(**{**defaults, **fields})


def task(**context: Any) -> TaskSpec:
    return TaskSpec(id=1, payload=b"", context=context)


def test_configured_variables_name_the_services() -> None:
    assert configured_variables(task(gitea_runtime_token="jwt", token="t"), options()) == {
        "ACTIONS_RUNTIME_URL": "https://git.example/api/actions_pipeline/",
        "ACTIONS_RESULTS_URL": "https://git.example",
        "ACTIONS_RUNTIME_TOKEN": "jwt",
        "ACT": "true",
    }


def test_configured_variables_fall_back_and_can_be_overridden() -> None:
    variables = configured_variables(
        task(token="t", actions_id_token_request_url="u"), options(set_act_env=False, envs={"ACTIONS_RESULTS_URL": "x"})
    )
    assert variables["ACTIONS_RUNTIME_TOKEN"] == "t"
    assert variables["ACTIONS_RESULTS_URL"] == "x"
    assert variables["ACTIONS_ID_TOKEN_REQUEST_URL"] == "u"
    assert "ACTIONS_ID_TOKEN_REQUEST_TOKEN" not in variables
    assert "ACT" not in variables


def test_configured_variables_of_forgejo_read_its_spelling_first() -> None:
    context = {
        "forgejo_runtime_token": "f",
        "gitea_runtime_token": "g",
        "forgejo_actions_id_token_request_token": "id",
    }
    variables = configured_variables(task(**context), options(family="forgejo"))
    assert variables["ACTIONS_RUNTIME_TOKEN"] == "f"
    assert variables["ACTIONS_ID_TOKEN_REQUEST_TOKEN"] == "id"
    assert variables["ACTIONS_ID_TOKEN_REQUEST_URL"] == ""


def test_runner_variables_of_gitea_export_no_token() -> None:
    github = {"sha": "abc", "run_id": "5", "token": "secret", "workspace": "/w/x/hostexecutor"}
    runner = runner_context(options(), "/w/x/tmp", "/w/x/tool_cache", debug=False)
    variables = runner_variables(github, runner, options(), ["ubuntu-22.04"])
    assert variables["GITHUB_SHA"] == "abc"
    assert variables["RUNNER_TEMP"] == "/w/x/tmp"
    assert variables["RUNNER_WORKSPACE"] == "/w/x"
    assert variables["RUNNER_TRACKING_ID"] == ""
    assert variables["GITEA_RUN_ID"] == "5"
    assert variables["GITHUB_GRAPHQL_URL"] == ""
    assert variables["ImageOS"] == "ubuntu22"
    assert "RUNNER_DEBUG" not in variables
    assert "secret" not in variables.values()


def test_runner_variables_of_forgejo_have_twins_and_token() -> None:
    runner = runner_context(options(), "/t", "/c", debug=True)
    variables = runner_variables(
        {"sha": "abc", "token": "t", "workflow_ref": "w"}, runner, options(family="forgejo"), []
    )
    assert variables["FORGEJO_SHA"] == "abc"
    assert variables["GITHUB_TOKEN"] == variables["FORGEJO_TOKEN"] == "t"
    assert variables["GITHUB_WORKFLOW_REF"] == "w"
    assert variables["FORGEJO_ACTIONS"] == "true"
    assert variables["RUNNER_DEBUG"] == "1"
    assert "GITHUB_GRAPHQL_URL" not in variables


@pytest.mark.parametrize(
    ("runs_on", "name"),
    [("ubuntu-22.04", "ubuntu22"), (["debian-12"], "debian12"), ([], ""), (None, ""), (["", "host"], "host")],
)
def test_image_os_comes_from_the_label(runs_on: Any, name: str) -> None:
    assert image_os(runs_on) == name


def test_step_variables_name_action_and_files() -> None:
    variables = step_variables("one", {"GITHUB_ENV": "/f"})
    assert variables["GITHUB_ACTION"] == "one"
    assert variables["GITHUB_ENV"] == "/f"
    assert variables["GITHUB_ACTION_PATH"] == ""
    assert file_prefixes("gitea") == ("GITHUB_", "GITEA_")
    assert "FORGEJO_" in file_prefixes("forgejo")


def test_step_debug_is_asked_for_in_three_ways() -> None:
    spec = TaskSpec(id=1, payload=b"", secrets={"ACTIONS_STEP_DEBUG": "true"})
    other = TaskSpec(id=1, payload=b"", vars={"ACTIONS_STEP_DEBUG": "true"})
    assert step_debug(spec, options())
    assert step_debug(other, options())
    assert step_debug(task(), options(step_debug=True))
    assert not step_debug(task(), options())
