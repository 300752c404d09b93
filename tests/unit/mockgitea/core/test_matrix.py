"""Combinations: product, exclude, include, order, names and limits."""

import pytest

from actionswire.expressions import Value
from mockgitea.core.errors import InvalidInput
from mockgitea.core.matrix import expand_matrix, go_text, matrix_name, same


def expand(matrix: Value) -> list[dict[str, Value]]:
    return list(expand_matrix(matrix, "m"))


def test_product_is_sorted_by_name() -> None:
    combinations = expand({"os": ["win", "linux"], "v": [10, 9]})
    assert [matrix_name(each) for each in combinations] == ["(linux, 10)", "(linux, 9)", "(win, 10)", "(win, 9)"]


def test_name_lists_values_by_sorted_key() -> None:
    assert matrix_name({"z": 1, "a": "x", "m": True}) == "(x, true, 1)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (False, "false"),
        (3, "3"),
        (3.1, "3.1"),
        (3.0, "3"),
        ("a b", "a b"),
        ([1, "x"], "[1 x]"),
        ({"b": 1, "a": None}, "map[a:<nil> b:1]"),
        (float("inf"), "+Inf"),
    ],
)
def test_values_are_written_as_the_servers_write_them(value: Value, text: str) -> None:
    assert go_text(value) == text


def test_exclude_removes_what_matches_all_its_keys() -> None:
    combinations = expand({"os": ["a", "b"], "v": [1, 2], "exclude": [{"os": "a", "v": 1}, {"os": "b"}]})
    assert combinations == [{"os": "a", "v": 2}]


def test_exclude_compares_values_with_their_kind() -> None:
    assert expand({"v": [1, "1", True], "exclude": [{"v": 1}]}) == [{"v": "1"}, {"v": True}]


def test_include_extends_matching_combinations() -> None:
    combinations = expand({"os": ["a", "b"], "include": [{"os": "a", "extra": 1}, {"all": True}]})
    assert combinations == [{"os": "a", "extra": 1, "all": True}, {"os": "b", "all": True}]


def test_include_that_matches_nothing_is_a_new_combination() -> None:
    assert expand({"os": ["a"], "include": [{"os": "c", "v": 1}]}) == [{"os": "a"}, {"os": "c", "v": 1}]


def test_include_never_extends_what_another_include_added() -> None:
    combinations = expand({"os": ["a"], "include": [{"os": "c"}, {"os": "c", "v": 1}]})
    assert combinations == [{"os": "a"}, {"os": "c"}, {"os": "c", "v": 1}]


def test_include_alone_makes_one_combination_each() -> None:
    assert expand({"include": [{"a": 1}, {"a": 2}]}) == [{"a": 1}, {"a": 2}]


def test_include_overwrites_what_an_earlier_include_added() -> None:
    assert expand({"os": ["a"], "include": [{"c": 1}, {"c": 2}]}) == [{"os": "a", "c": 2}]


@pytest.mark.parametrize(
    ("matrix", "field"),
    [
        (None, "m"),
        ({}, "m"),
        ({"a": []}, "m.a"),
        ({"a": {"b": 1}}, "m.a"),
        ({"a": [1], "exclude": [{"a": 1}]}, "m"),
        ({"a": [1], "exclude": [{"b": 1}]}, "m.exclude[0].b"),
        ({"a": [1], "exclude": {"a": 1}}, "m.exclude"),
        ({"a": [1], "include": [1]}, "m.include[0]"),
        ({"a": [1], "include": [{}]}, "m.include[0]"),
        ({"a": list(range(257))}, "m"),
        ({"a": list(range(256)), "include": [{"a": -1}]}, "m"),
        ({key: list(range(100)) for key in "abcdefgh"}, "m"),
    ],
)
def test_matrix_without_sense_or_measure_is_refused(matrix: Value, field: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        expand(matrix)
    assert refusal.value.field == field


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (1, True, False),
        ([1, {"a": "b"}], [1, {"a": "b"}], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"b": 1}, False),
        (None, None, True),
        (None, "", False),
    ],
)
def test_values_are_the_same_only_with_their_kind(left: Value, right: Value, equal: bool) -> None:
    assert same(left, right) is equal
