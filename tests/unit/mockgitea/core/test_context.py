"""The context of a task, field by field, for both families."""

import pytest

from mockgitea.core.context import RunFacts, github_context, ref_name_and_type
from mockgitea.core.profiles import profile_named

FACTS = RunFacts(
    run_id=341,
    number=12,
    attempt=2,
    repository="alice/demo",
    owner_id=3,
    repo_id=4,
    actor_id=3,
    workflow_file="ci.yaml",
    event="push",
    event_payload={"ref": "refs/heads/main"},
    ref="refs/heads/main",
    sha="a" * 40,
    actor="alice",
    triggering_actor="bob",
)
EMPTY = [
    "graphql_url",
    "path",
    "env",
    "workspace",
    "event_path",
    "retention_days",
    "action",
    "action_path",
    "action_ref",
    "action_repository",
    "action_status",
    "base_ref",
    "head_ref",
]


def context(profile: str) -> dict[str, object]:
    return github_context(FACTS, job="build", app_url="https://git.example.com/", profile=profile_named(profile))


def test_context_holds_every_field_with_its_type() -> None:
    assert context("gitea-1.27") == dict.fromkeys(EMPTY, "") | {
        "actor": "alice",
        "triggering_actor": "bob",
        "api_url": "https://git.example.com/api/v1",
        "server_url": "https://git.example.com/",
        "event": {"ref": "refs/heads/main"},
        "event_name": "push",
        "job": "build",
        "ref": "refs/heads/main",
        "ref_name": "main",
        "ref_type": "branch",
        "ref_protected": False,
        "repository": "alice/demo",
        "repository_owner": "alice",
        "repositoryUrl": "https://git.example.com/alice/demo",
        "run_id": "341",
        "run_number": "12",
        "run_attempt": "2",
        "secret_source": "Actions",
        "sha": "a" * 40,
        "workflow": "ci.yaml",
        "gitea_default_actions_url": "https://github.com",
    }


@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-1.21", "forgejo-11", "forgejo-15"])
def test_triggering_actor_is_empty_on_other_servers(profile: str) -> None:
    assert context(profile)["triggering_actor"] == ""


def test_forgejo_adds_its_own_fields() -> None:
    added = context("forgejo-15").keys() - context("gitea-1.27").keys()
    assert added == {
        "actor_id", "repository_id", "repository_owner_id", "workflow_ref", "forgejo_server_version",
        "job_name", "runner_perflog", "runner_tracking_id",
    }  # fmt: skip
    assert context("forgejo-15")["workflow_ref"] == "alice/demo/.forgejo/workflows/ci.yaml@refs/heads/main"
    assert context("forgejo-15")["actor_id"] == "3"
    assert context("forgejo-15")["gitea_default_actions_url"] == "https://data.forgejo.org"


@pytest.mark.parametrize(
    ("ref", "name", "kind"),
    [
        ("refs/heads/a/b", "a/b", "branch"),
        ("refs/tags/v1", "v1", "tag"),
        ("refs/pull/7/head", "7", ""),
        ("refs/pull/x", "refs/pull/x", ""),
        ("", "", ""),
    ],
)
def test_ref_is_split_into_name_and_type(ref: str, name: str, kind: str) -> None:
    assert ref_name_and_type(ref) == (name, kind)
