"""Context, state and description of a commit status per profile."""

import pytest

from actionswire.result import Status
from mockgitea.core.commit_status import has_commit_status, status_context, status_description, status_state
from mockgitea.core.profiles import profile_named

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("event", "new", "old"),
    [
        ("push", True, True),
        ("pull_request", True, True),
        ("pull_request_target", True, True),
        ("release", True, True),
        ("pull_request_review", True, False),
        ("schedule", False, False),
        ("workflow_dispatch", False, False),
    ],
)
def test_only_some_events_have_statuses(event: str, new: bool, old: bool) -> None:
    assert has_commit_status(event, profile_named("gitea-1.27")) is new
    for profile in ("gitea-1.25", "forgejo-15"):
        assert has_commit_status(event, profile_named(profile)) is old


def context(profile: str, name: str) -> str:
    return status_context(
        workflow_name=name, workflow_file="ci.yml", job_name="build", event="push", profile=profile_named(profile)
    )


def test_context_is_built_from_workflow_job_and_event() -> None:
    assert context("gitea-1.27", "CI") == "CI / build (push)"
    assert context("gitea-1.21", "") == "ci.yml / build (push)"
    assert context("forgejo-15", "") == "/ build (push)"


@pytest.mark.parametrize(
    ("status", "state"),
    [
        (Status.SUCCESS, "success"),
        (Status.FAILURE, "failure"),
        (Status.CANCELLED, "failure"),
        (Status.WAITING, "pending"),
        (Status.BLOCKED, "pending"),
        (Status.RUNNING, "pending"),
        (Status.CANCELLING, "pending"),
    ],
)
def test_state_follows_the_status(status: Status, state: str) -> None:
    assert status_state(status, profile_named("gitea-1.27")) == state


def test_skipped_job_is_a_success_on_older_servers() -> None:
    states = {name: status_state(Status.SKIPPED, profile_named(name)) for name in ("gitea-1.27", "gitea-1.25")}
    assert states == {"gitea-1.27": "skipped", "gitea-1.25": "skipped"}
    for profile in ("gitea-1.21", "forgejo-11", "forgejo-15"):
        assert status_state(Status.SKIPPED, profile_named(profile)) == "success"


@pytest.mark.parametrize(
    ("status", "new", "old"),
    [
        (Status.SUCCESS, "Successful in 3s", "Successful in 3s"),
        (Status.FAILURE, "Failing after 3s", "Failing after 3s"),
        (Status.CANCELLED, "Canceled after 3s", "Has been cancelled"),
        (Status.SKIPPED, "Skipped", "Has been skipped"),
        (Status.RUNNING, "In progress", "Has started running"),
        (Status.CANCELLING, "Canceling", "Canceling"),
        (Status.WAITING, "Waiting to run", "Waiting to run"),
        (Status.BLOCKED, "Blocked by required conditions", "Blocked by required conditions"),
    ],
)
def test_description_has_the_words_of_its_time(status: Status, new: str, old: str) -> None:
    for profile, words in (("gitea-1.27", new), ("gitea-1.25", old), ("forgejo-15", old)):
        found = status_description(status, profile_named(profile), started_us=SECOND, stopped_us=4 * SECOND)
        assert found == words
