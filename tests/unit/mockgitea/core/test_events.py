"""Refs and payloads of events that were enqueued without them."""

import json

import pytest

from mockgitea.core.events import Happened, default_payload, full_ref

EVENTS = ["push", "pull_request", "pull_request_target", "workflow_dispatch", "schedule", "release", "issues"]


def happened(event: str, ref: str = "refs/heads/main", **given: object) -> Happened:
    return Happened(
        event=event,
        repository="alice/demo",
        ref=ref,
        sha="a" * 40,
        actor="bob",
        app_url="http://x/",
        **given,  # type: ignore[arg-type] - test values
    )


@pytest.mark.parametrize("event", EVENTS)
def test_every_payload_is_json_and_names_repository_and_sender(event: str) -> None:
    payload = default_payload(happened(event))
    assert json.loads(json.dumps(payload)) == payload
    assert payload["repository"]["full_name"] == "alice/demo"
    assert payload["repository"]["clone_url"] == "http://x/alice/demo.git"
    assert payload["sender"]["login"] == "bob"


def test_push_payload_has_the_commit() -> None:
    payload = default_payload(happened("push", title="Fix it"))
    assert (payload["ref"], payload["after"]) == ("refs/heads/main", "a" * 40)
    assert payload["head_commit"]["message"] == "Fix it"


def test_pull_request_payload_has_both_sides() -> None:
    payload = default_payload(happened("pull_request", "refs/pull/7/head", base_ref="main", head_ref="feature"))
    assert payload["number"] == payload["pull_request"]["number"] == 7
    assert payload["pull_request"]["base"]["ref"] == "main"
    assert payload["pull_request"]["head"]["ref"] == "feature"


def test_dispatch_payload_has_the_inputs() -> None:
    payload = default_payload(happened("workflow_dispatch", inputs={"a": "1"}, workflow_file="ci.yml"))
    assert (payload["inputs"], payload["workflow"]) == ({"a": "1"}, "ci.yml")


@pytest.mark.parametrize(
    ("ref", "event", "full"),
    [
        ("", "push", "refs/heads/trunk"),
        ("main", "push", "refs/heads/main"),
        ("v1", "release", "refs/tags/v1"),
        ("refs/tags/v1", "push", "refs/tags/v1"),
        ("", "pull_request", "refs/pull/1/head"),
        ("", "pull_request_target", "refs/heads/trunk"),
    ],
)
def test_ref_is_completed(ref: str, event: str, full: str) -> None:
    assert full_ref(ref, event=event, default_branch="trunk") == full
