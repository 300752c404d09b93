from typing import Any

import pytest

from actionsrunner.engine.fields import FieldError, boolean_field, env_field, minutes_field, text_field
from actionswire.expressions import Scope

SCOPE = Scope({"vars": {"n": "2.5", "bad": "soon", "yes": True}})


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("${{ vars.missing }}", None),
        (1, 60.0),
        (0.5, 30.0),
        ("2", 120.0),
        ("${{ vars.n }}", 150.0),
        ("1${{ 2 }}", 720.0),
    ],
)
def test_minutes_field_gives_seconds(value: Any, seconds: float | None) -> None:
    assert minutes_field(value, SCOPE, "f") == seconds


@pytest.mark.parametrize("value", [0, -1, "abc", "${{ vars.bad }}", True, "1_0", "nan", "inf", "٣", 10**9])
def test_minutes_field_refuses_and_names_the_field(value: Any) -> None:
    with pytest.raises(FieldError, match=r"^steps\[0\].timeout-minutes must be a number of minutes"):
        minutes_field(value, SCOPE, "steps[0].timeout-minutes")


@pytest.mark.parametrize(
    ("value", "result"),
    [
        (None, False),
        (True, True),
        (False, False),
        ("true", True),
        ("False", False),
        ("", False),
        ("${{ vars.yes }}", True),
        ("${{ vars.missing }}", False),
    ],
)
def test_boolean_field_reads_yes_and_no(value: Any, result: bool) -> None:
    assert boolean_field(value, SCOPE, "f") is result


@pytest.mark.parametrize("value", ["maybe", 1, "${{ vars.n }}"])
def test_boolean_field_refuses_other_values(value: Any) -> None:
    with pytest.raises(FieldError, match=r"^f must be true or false, found `"):
        boolean_field(value, SCOPE, "f")


def test_text_field_names_the_field_of_a_bad_expression() -> None:
    with pytest.raises(FieldError, match=r"^steps\[1\]\.run: .*nope"):
        text_field("${{ nope( }}", SCOPE, "steps[1].run")


def test_env_field_turns_values_into_text() -> None:
    env = {"A": True, "B": 1.0, "C": None, "D": "x${{ vars.n }}"}
    assert env_field(env, SCOPE, "env") == {"A": "true", "B": "1", "C": "", "D": "x2.5"}
    assert env_field("${{ fromJSON('{\"E\": 1}') }}", SCOPE, "env") == {"E": "1"}
    assert env_field(None, SCOPE, "env") == {}


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"A": [1]}, "env.A must be a single value, found a list"),
        ("${{ 1 }}", "env must be a mapping, found `1`"),
        ({"A=B": "x"}, "'A=B' cannot be an environment variable"),
        ({"": "x"}, "'' cannot be an environment variable"),
        ({"A": "x\0y"}, "'A' cannot be an environment variable"),
    ],
)
def test_env_field_refuses_and_names_the_field(value: Any, part: str) -> None:
    with pytest.raises(FieldError) as caught:
        env_field(value, SCOPE, "env")
    assert part in str(caught.value)
