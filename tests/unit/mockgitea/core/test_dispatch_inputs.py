"""Inputs of a manual start: types, defaults and refusals."""

import pytest

from mockgitea.core.dispatch_inputs import declared_only, event_inputs, typed_inputs
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow_model import InputSpec

SPECS = {
    spec.name: spec
    for spec in (
        InputSpec(name="text", default="d"),
        InputSpec(name="flag", type="boolean"),
        InputSpec(name="count", type="number", default=3),
        InputSpec(name="pick", type="choice", options=("a", "b")),
    )
}


def test_missing_inputs_take_default_or_emptiness_of_their_type() -> None:
    assert typed_inputs(SPECS, {}) == {"text": "d", "flag": False, "count": 3, "pick": "a"}


def test_given_inputs_are_typed() -> None:
    given = {"text": "x", "flag": "true", "count": "4.5", "pick": "b"}
    assert typed_inputs(SPECS, given) == {"text": "x", "flag": True, "count": 4.5, "pick": "b"}
    assert typed_inputs(SPECS, {"flag": True, "count": 7, "text": 8}) == {
        "text": "8", "flag": True, "count": 7, "pick": "a"
    }  # fmt: skip


def test_event_inputs_are_texts() -> None:
    assert event_inputs({"a": True, "b": 4.0, "c": None, "d": "x"}) == {"a": "true", "b": "4", "c": "", "d": "x"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"nope": "1"}, "no such input; it has: text, flag, count, pick"),
        ({"flag": "yes"}, "true or false"),
        ({"count": "many"}, "must be a number"),
        ({"pick": "c"}, "choose a, b"),
        ({"text": ["a"]}, "not a list"),
    ],
)
def test_wrong_inputs_are_refused_by_name(given: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as refusal:
        typed_inputs(SPECS, given)
    assert refusal.value.field == f"inputs.{next(iter(given))}"


def test_required_input_without_value_or_default_is_refused() -> None:
    specs = {"a": InputSpec(name="a", is_required=True)}
    for given in ({}, {"a": ""}):
        with pytest.raises(InvalidInput, match=r"inputs\.a: is required"):
            typed_inputs(specs, given)
    assert typed_inputs({"a": InputSpec(name="a", is_required=True, default="x")}, {}) == {"a": "x"}


def test_declared_only_drops_what_the_file_does_not_know() -> None:
    assert declared_only(SPECS, {"text": "x", "nope": "1"}) == {"text": "x"}


def test_declared_only_reads_a_checked_box_as_true() -> None:
    assert declared_only(SPECS, {"text": "on", "flag": "on"}) == {"text": "on", "flag": "true"}
