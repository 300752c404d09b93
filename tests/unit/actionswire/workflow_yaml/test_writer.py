"""Writing workflow files: what is written is read back the same, here and by readers of YAML 1.1."""

import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.expressions import Value
from actionswire.workflow_yaml import DEPTH_MAX, dump, load

TEXTS = st.text(max_size=30) | st.text(alphabet="ab \n\t:#-'\"|>1.é😀\r\x85\u2028\ufeff{}[],&*!%@`?~", max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(VALUES)
def test_dump_any_value_is_loaded_back_the_same(value: object) -> None:
    text = dump(value)  # type: ignore[arg-type] # hypothesis does not know Value
    assert repr(load(text)) == repr(value)


@settings(deadline=None)
@given(VALUES)
def test_dump_any_value_reads_the_same_in_yaml_1_1(value: object) -> None:
    # Numbers are left out: 1.1 has other floats (1e3 is a text there), and workflow readers are not PyYAML.
    text = dump(_without_numbers(value))  # type: ignore[arg-type] # hypothesis does not know Value
    assert yaml.load(text, Loader=yaml.CBaseLoader) is not None
    assert yaml.safe_load(text) == _without_numbers(value)


def _without_numbers(value: object) -> object:
    if isinstance(value, dict):
        # PyYAML reads the bare key `on` as true; Go's readers do not, and workflows depend on it.
        return {f"{key}_": _without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_numbers(item) for item in value]
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "010",
        "0o17",
        "0b1",
        "1_000",
        "+1",
        "2024-01-01",
        "12:30:45",
        "~",
        "null",
        "1.10",
        "true",
        "",
        ".inf",
        ".NaN",
        "<<",
        "=",
        "0x1f",
        "1e3",
        "-",
        "--- a",
    ],
)
def test_dump_text_that_some_reader_would_convert_is_quoted(text: str) -> None:
    assert dump({"key": text}) == f"key: '{text}'\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("${{ matrix.os }}", "${{ matrix.os }}"),
        ("github.event_name == 'push' && !failure()", "github.event_name == 'push' && !failure()"),
        ("actions/checkout@v4", "actions/checkout@v4"),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("*", "'*'"),
        ("it's", "it's"),
        ("'it's'", "'''it''s'''"),
        ("a\tb", '"a\\tb"'),
        ("a\rb", '"a\\rb"'),
        ("\u2028", '"\\u2028"'),
        ("one\ntwo\n", "|\n  one\n  two"),
        ("one\n\n\ttwo 🚀", "|-\n  one\n\n  \ttwo 🚀"),
        ("  indented\n", "|2\n    indented"),
        ("end\n\n", "|+\n  end\n"),
        ("\n", '"\\n"'),
    ],
)
def test_dump_text_uses_the_most_readable_safe_style(text: str, written: str) -> None:
    assert dump({"key": text}) == f"key: {written}\n"


def test_dump_keeps_source_order_and_the_bare_on_key() -> None:
    workflow: Value = {
        "name": "ci",
        "on": {"push": None},
        "jobs": {"b": {"steps": [{"run": "x", "if": True}]}, "a": {}},
    }
    expected = "name: ci\non:\n  push: null\njobs:\n  b:\n    steps:\n      - run: x\n        if: true\n  a: {}\n"
    assert dump(workflow) == expected


def test_dump_numbers_keep_value_and_type() -> None:
    assert dump([1, 1.0, 1.1, 1e300, math.inf, -math.inf, math.nan]) == (
        "- 1\n- 1.0\n- 1.1\n- 1e+300\n- .inf\n- -.inf\n- .nan\n"
    )


def nested(levels: int) -> list[object]:
    value: list[object] = []
    for _ in range(levels - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({1: "a"}, "key 1 is not a text"),
        ({"a": object()}, "object cannot be written"),
        (["\ud800"], "surrogate"),
        ({"\ud800": 1}, "surrogate"),
        (nested(DEPTH_MAX + 2), "nested deeper"),
    ],
)
def test_dump_value_that_yaml_cannot_hold_is_refused(value: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dump(value)  # type: ignore[arg-type] # wrong on purpose


def test_dump_long_and_multi_line_keys_are_loaded_back() -> None:
    value: Value = {"k" * 3000: {"a\nb": ["x"]}, "é" * 600: 1}
    assert load(dump(value)) == value
