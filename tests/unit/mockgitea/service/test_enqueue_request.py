"""A request becomes a run or a refusal that names its field, whatever it holds."""

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockgitea.core.errors import InvalidInput
from mockgitea.core.profiles import profile_named
from mockgitea.service.enqueue_request import EnqueueRequest, check_request, new_run
from mockgitea.storage.repositories import RepositoryRecord
from mockgitea.storage.runs import NewRun

REPOSITORY = RepositoryRecord(1, 1, "demo", "demo", "main", has_actions=True)
SOURCE = b"on: [push, pull_request, workflow_dispatch]\njobs: {a: {runs-on: x, steps: [{run: x}]}}"


def made(**request: Any) -> NewRun:
    asked = EnqueueRequest(repository="demo/demo", **request)
    check_request(asked)
    return new_run(
        asked,
        repository=REPOSITORY,
        source=SOURCE,
        profile=profile_named("gitea-1.27"),
        app_url="http://x/",
        default_sha="0" * 40,
    )


def test_defaults_are_filled_in() -> None:
    run = made()
    assert (run.event, run.ref, run.sha, run.actor) == ("push", "refs/heads/main", "0" * 40, "demo")
    assert run.event_payload["head_commit"]["message"] == "workflow.yml"


def test_pull_request_has_both_sides() -> None:
    run = made(event="pull_request")
    assert (run.ref, run.base_ref, run.head_ref) == ("refs/pull/1/head", "main", "feature")


def test_own_payload_replaces_the_default_and_is_plain_json() -> None:
    assert made(event_payload={"a": (1, float("nan"))}).event_payload == {"a": [1, None]}


def test_own_payload_of_a_manual_start_keeps_the_inputs() -> None:
    assert made(event="workflow_dispatch", event_payload={"a": 1}).event_payload == {"inputs": {}, "a": 1}


def test_too_deep_payload_is_refused() -> None:
    payload: dict[str, Any] = {}
    for _ in range(30):
        payload = {"a": payload}
    with pytest.raises(InvalidInput, match="nested deeper than 25"):
        made(event_payload=payload)


def test_secrets_never_show_in_a_representation() -> None:
    asked = EnqueueRequest(repository="demo/demo", secrets={"KEY": "hidden-value"})
    assert "hidden-value" not in repr(asked)
    assert "hidden-value" not in repr(made(secrets={"KEY": "hidden-value"}))


@pytest.mark.parametrize(
    "given",
    [{"title": "a\ud800"}, {"actor": "a\nb"}, {"secrets": {"A": "\ud800"}}, {"event_payload": {"a": "\ud800"}}],
)
def test_half_characters_and_control_characters_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refusal:
        made(**given)
    assert refusal.value.field.split(".")[0] == next(iter(given))


_TEXT = st.text(max_size=20)
_JSON = st.recursive(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), _TEXT), lambda inner: st.one_of(
    st.lists(inner, max_size=3), st.dictionaries(_TEXT, inner, max_size=3)
), max_leaves=10)  # fmt: skip


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "workflow_file": _TEXT.map(lambda text: f"{text}.yml"),
            "event": st.sampled_from(["", "push", "pull_request", "workflow_dispatch", "release"]),
            "event_payload": st.dictionaries(_TEXT, _JSON, max_size=3),
            "ref": _TEXT,
            "base_ref": _TEXT,
            "title": _TEXT,
            "actor": _TEXT,
            "inputs": st.dictionaries(_TEXT, _TEXT, max_size=2),
            "secrets": st.dictionaries(_TEXT, _TEXT, max_size=2),
        },
    )
)
@settings(max_examples=200, deadline=None)
def test_any_request_is_made_or_refused(request: dict[str, Any]) -> None:
    try:
        run = made(**request)
    except InvalidInput as refusal:
        assert refusal.field
    else:
        orjson.dumps([run.event_payload, run.ref, run.title, run.actor])
