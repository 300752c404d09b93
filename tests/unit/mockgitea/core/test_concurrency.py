"""Groups of runs and jobs under the three rules."""

import pytest

from mockgitea.core.concurrency import Group, cancels_previous, job_group, run_group
from mockgitea.core.context import RunFacts
from mockgitea.core.errors import InvalidInput
from mockgitea.core.profiles import profile_named
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow_model import ConcurrencySpec

SCOPE = Surroundings(github={"ref": "refs/heads/Main"}, inputs={"stop": True}).scope(matrix={"v": 1})


def facts(event: str = "push", action: str = "") -> RunFacts:
    payload = {"action": action} if action else {}
    return RunFacts(
        run_id=1,
        number=1,
        repository="a/b",
        workflow_file="CI.yml",
        event=event,
        event_payload=payload,
        ref="refs/heads/Main",
    )


def group_of(spec: ConcurrencySpec | None, profile: str, event: str = "push", action: str = "") -> Group | None:
    return run_group(spec, facts(event, action), SCOPE, profile_named(profile))


def test_gitea_evaluates_group_and_flag() -> None:
    spec = ConcurrencySpec("g-${{ github.ref }}", "${{ inputs.stop }}")
    assert group_of(spec, "gitea-1.27") == Group("g-refs/heads/Main", cancels=True)


def test_gitea_has_no_group_without_a_block_or_with_an_empty_name() -> None:
    assert group_of(None, "gitea-1.27") is None
    assert group_of(ConcurrencySpec("${{ github.head_ref }}"), "gitea-1.27") is None


@pytest.mark.parametrize("profile", ["gitea-1.25", "gitea-1.21", "forgejo-11"])
def test_older_servers_ignore_the_block(profile: str) -> None:
    assert group_of(ConcurrencySpec("g", True), profile) is None


@pytest.mark.parametrize(
    ("spec", "event", "action", "expected"),
    [
        (None, "push", "", Group("refs/heads/main_ci.yml_push__auto", cancels=True)),
        (None, "schedule", "", Group("refs/heads/main_ci.yml_schedule__auto")),
        (None, "pull_request", "opened", Group("refs/heads/main_ci.yml_pull_request__auto")),
        (None, "pull_request", "synchronized", Group("refs/heads/main_ci.yml_pull_request__auto", cancels=True)),
        (ConcurrencySpec("G"), "push", "", Group("g", cancels=True)),
        (ConcurrencySpec("G"), "schedule", "", Group("g")),
        (ConcurrencySpec("G", False), "push", "", Group("g", queues=True)),
        (ConcurrencySpec("G", True), "schedule", "", Group("g", cancels=True)),
        (ConcurrencySpec("", False), "push", "", Group("refs/heads/main_ci.yml_push__auto")),
    ],
)
def test_forgejo_lowers_names_and_chooses_by_what_is_given(
    spec: ConcurrencySpec | None, event: str, action: str, expected: Group
) -> None:
    assert group_of(spec, "forgejo-15", event, action) == expected


def test_group_that_cannot_be_evaluated_names_its_field() -> None:
    with pytest.raises(InvalidInput, match=r"concurrency\.group: fromJSON"):
        group_of(ConcurrencySpec("${{ fromJSON('x') }}"), "gitea-1.27")


def test_job_group_sees_the_matrix_and_exists_on_new_gitea_only() -> None:
    spec = ConcurrencySpec("g${{ matrix.v }}")
    assert job_group(spec, SCOPE, profile_named("gitea-1.27"), field="f") == Group("g1")
    for profile in ("gitea-1.25", "forgejo-15"):
        assert job_group(spec, SCOPE, profile_named(profile), field="f") is None


@pytest.mark.parametrize(
    ("profile", "event", "action", "expected"),
    [
        ("gitea-1.25", "push", "", True),
        ("gitea-1.25", "pull_request", "synchronized", True),
        ("gitea-1.25", "pull_request", "opened", False),
        ("gitea-1.25", "workflow_dispatch", "", False),
        ("gitea-1.21", "push", "", True),
        ("gitea-1.21", "pull_request", "synchronized", False),
        ("forgejo-11", "push", "", True),
        ("gitea-1.27", "push", "", False),
        ("forgejo-15", "push", "", False),
    ],
)
def test_servers_without_groups_cancel_previous_runs(profile: str, event: str, action: str, expected: bool) -> None:
    assert cancels_previous(event, {"action": action}, profile_named(profile)) is expected
