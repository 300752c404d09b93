"""Reading workflow files: YAML 1.2 scalars, clear errors with a place, bounds on hostile files."""

import math
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.workflow_yaml import DEPTH_MAX, NODES_MAX, SOURCE_BYTES_MAX, WorkflowYamlError, load


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("on: push", {"on": "push"}),
        ("a: yes", {"a": "yes"}),
        ("a: Off", {"a": "Off"}),
        ("a: y", {"a": "y"}),
        ("a: true", {"a": True}),
        ("a: FALSE", {"a": False}),
        ("a: tRUE", {"a": "tRUE"}),
        ("a: 010", {"a": 10}),
        ("a: 0o17", {"a": 15}),
        ("a: 0xFf", {"a": 255}),
        ("a: -3", {"a": -3}),
        ("a: 1_000", {"a": "1_000"}),
        ("a: 0b11", {"a": "0b11"}),
        ("a: 1.10", {"a": 1.1}),
        ("a: .5", {"a": 0.5}),
        ("a: 5.", {"a": 5.0}),
        ("a: 1e3", {"a": 1000.0}),
        ("a: -.Inf", {"a": -math.inf}),
        ("a: 1.2.3", {"a": "1.2.3"}),
        ("a: 2024-01-01", {"a": "2024-01-01"}),
        ("a: 12:30:45", {"a": "12:30:45"}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("a: Null", {"a": None}),
        ("a: '010'", {"a": "010"}),
        ('a: "true"', {"a": "true"}),
        ("a: !!str 010", {"a": "010"}),
        ("a: !!float 1", {"a": 1.0}),
        ("a: ! 1", {"a": "1"}),
        ("a: [1, {b: c}]", {"a": [1, {"b": "c"}]}),
        ("a: >\n  x\n  y\n", {"a": "x y\n"}),
        ("a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        ("a: ${{ matrix.os }}", {"a": "${{ matrix.os }}"}),
        ("\ufeffa: 1", {"a": 1}),
        ("---\na: 1\n...\n", {"a": 1}),
        ("", None),
        ("# nothing\n", None),
        ("- a\n- b", ["a", "b"]),
        ("text", "text"),
    ],
)
def test_load_scalar_or_collection_follows_yaml_1_2(source: str, value: object) -> None:
    loaded = load(source)
    assert loaded == value
    assert repr(loaded) == repr(value), "1, 1.0 and true are equal in Python only"


def test_load_not_a_number_gives_nan() -> None:
    assert repr(load("[.nan, .NaN]")) == "[nan, nan]"


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("1: a\n1.10: b\ntrue: c\n~: d\n0x1: e", ["1", "1.10", "true", "~", "0x1"]),
        ("on: a\n'yes': b\n2024-01-01: c", ["on", "yes", "2024-01-01"]),
        ("? long\n: a", ["long"]),
        ("? \n: a", [""]),
    ],
)
def test_load_keys_of_any_type_keep_their_source_text(source: str, keys: list[str]) -> None:
    loaded = load(source)
    assert isinstance(loaded, dict)
    assert list(loaded) == keys


def test_load_numbers_too_large_for_a_double_become_infinite() -> None:
    assert load("a: " + "9" * 5000) == {"a": math.inf}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_load_bytes_in_any_marked_encoding_gives_the_same(encoding: str) -> None:
    assert load("a: é😀\r\nb: 2\r\n".encode(encoding)) == {"a": "é😀", "b": 2}


def test_load_merge_key_own_keys_win_and_the_first_source_wins() -> None:
    source = "x: &x {a: 1, b: 1}\ny: &y {b: 2, c: 2}\nz:\n  c: 3\n  <<: [*x, *y]\nw: {<<: *x, b: 9}"
    loaded = load(source)
    assert isinstance(loaded, dict)
    assert loaded["z"] == {"a": 1, "b": 1, "c": 3}
    assert loaded["w"] == {"a": 1, "b": 9}


def test_load_quoted_merge_key_is_an_ordinary_key() -> None:
    assert load("'<<': 1") == {"<<": 1}


def test_load_aliases_are_copies() -> None:
    loaded = load("a: &x {b: [1]}\nc: *x\n*x2 : 1".replace("\n*x2 : 1", ""))
    assert loaded == {"a": {"b": [1]}, "c": {"b": [1]}}
    assert isinstance(loaded, dict)
    assert loaded["a"] is not loaded["c"]


def test_load_alias_as_key_gives_its_source_text() -> None:
    assert load("a: &x 1.10\n*x : b") == {"a": 1.1, "1.10": "b"}


@pytest.mark.parametrize(
    ("source", "line", "column", "words"),
    [
        ("a: 1\nb: 2\na: 3", 3, 1, "'a' stands already in line 1"),
        ("a:\n  b: 1\n  b: 2", 3, 3, "'b' stands already in line 2"),
        ("1: a\n'1': b", 2, 1, "'1' stands already"),
        ("a: [1, 2", 2, 1, "expected ',' or ']'"),
        ("a: 1\n\tb: 2", 2, 1, "tab character"),
        ("a: b: c", 1, 5, "mapping values are not allowed"),
        ("a: 1\n---\nb: 2", 2, 1, "second one"),
        ("? [1, 2]\n: x", 1, 3, "key must be a text"),
        ("{a: 1}: x", 1, 1, "key must be a text"),
        ("a: *nowhere", 1, 4, "*nowhere refers to nothing"),
        ("a: &x [*x]", 1, 8, "*x stands within"),
        ("a: !!python/name:os.system x", 1, 4, "!!python/name:os.system is not supported"),
        ("a: !secret x", 1, 4, "!secret is not supported"),
        ("a: !!set {x}", 1, 4, "!!set is not supported"),
        ("a: !!int x", 1, 4, "not the int"),
        ("a: !!float yes", 1, 4, "not the float"),
        ("a: {<<: 1}", 1, 9, "takes a mapping"),
        ("a: 1\nb: \x01", 2, 4, "U+0001"),
        ("a: \x00", 1, 4, "U+0000"),
        ("a: \ud800", 1, 4, "surrogate"),
        ("a: @x", 1, 4, "cannot start any token"),
        ("a: 'x", 1, 6, "unexpected end of stream"),
        ('a: "\\q"', 1, 5, "unknown escape"),
    ],
)
def test_load_broken_file_names_the_place(source: str, line: int, column: int, words: str) -> None:
    with pytest.raises(WorkflowYamlError) as caught:
        load(source)
    assert words in caught.value.message
    assert (caught.value.line, caught.value.column) == (line, column)
    assert str(caught.value).startswith(f"line {line}, column {column}: ")


def test_load_bytes_that_are_no_utf_8_names_the_place() -> None:
    with pytest.raises(WorkflowYamlError, match="line 2, column 4: the bytes are not utf-8"):
        load(b"a: 1\nb: \xff\xfe")


LAUGHS = "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 9) if before else ', '.join(['lol'] * 9)}]\n"
    for before, name in zip(["", *"abcdefgh"], "abcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (LAUGHS, f"more than {NODES_MAX} nodes"),
        ("[" + "a," * NODES_MAX + "]", f"more than {NODES_MAX} nodes"),
        ("[" * (DEPTH_MAX + 1) + "]" * (DEPTH_MAX + 1), f"deeper than {DEPTH_MAX}"),
        ("[" * 400_000, "exceeded maximum nesting depth"),
        ("{a: " * 100_000, f"deeper than {DEPTH_MAX}"),
        ("- " * 100_000, f"deeper than {DEPTH_MAX}"),
        ("- &a0 [x]\n" + "".join(f"- &a{n} [*a{n - 1}]\n" for n in range(1, 200)), f"deeper than {DEPTH_MAX}"),
        ("a" * (SOURCE_BYTES_MAX + 1), "bytes, more than"),
        ("é" * (SOURCE_BYTES_MAX // 2 + 1), "bytes, more than"),
    ],
    ids=["laughs", "nodes", "depth", "flow", "flow map", "block", "alias depth", "bytes", "wide bytes"],
)
def test_load_hostile_file_is_refused_quickly(source: str, words: str) -> None:
    started = time.process_time()
    with pytest.raises(WorkflowYamlError, match=words):
        load(source)
    assert time.process_time() - started < 5, "limits must cut the work short"


def test_load_file_at_the_depth_limit_is_accepted() -> None:
    load("[" * DEPTH_MAX + "]" * DEPTH_MAX)


@settings(deadline=None)
@given(st.text(alphabet=st.characters(), max_size=60) | st.text(alphabet="ab:-[]{}&*!|>'\"#%@, \n\t<?~1.", max_size=60))
def test_load_any_text_raises_nothing_but_its_error(source: str) -> None:
    try:
        load(source)
    except WorkflowYamlError as error:
        assert error.line >= 1
        assert error.column >= 1


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_load_any_bytes_raises_nothing_but_its_error(source: bytes) -> None:
    try:
        load(source)
    except WorkflowYamlError as error:
        assert error.message
