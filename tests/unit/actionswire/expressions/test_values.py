"""Conversions and comparisons of values."""

import math

import pytest

from actionswire.expressions import Value, equals, to_number, to_text, truthy
from actionswire.expressions.values import order


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (1.5, "1.5"),
        (-3.25, "-3.25"),
        (0.1 + 0.2, "0.3"),
        (100_000_000_000_000, "100000000000000"),
        (1e15, "1E+15"),
        (123_456_789_012_345_678, "1.23456789012346E+17"),
        (1e100, "1E+100"),
        (0.0001, "0.0001"),
        (0.00001, "1E-05"),
        (1.5e-7, "1.5E-07"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (10**400, "Infinity"),
        ("x", "x"),
        ([1], "Array"),
        ((1, 2), "Array"),
        ({}, "Object"),
    ],
)
def test_to_text_gives_what_a_template_shows(value: Value, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (None, 0),
        (False, 0),
        (True, 1),
        ("", 0),
        (" \t\n\u00a0", 0),
        (" 12 ", 12),
        ("0xfF", 255),
        ("0o17", 15),
        ("-1.5e3", -1500),
        ("Infinity", math.inf),
        ("-Infinity", -math.inf),
        ("1" + "0" * 400, math.inf),
        ("0x" + "f" * 400, math.inf),
        (10**400, math.inf),
        (-(10**400), -math.inf),
    ],
)
def test_to_number_converts(value: Value, number: float) -> None:
    assert to_number(value) == number


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "true",
        "1,000",
        "1_000",
        "1 2",
        "infinity",
        "nan",
        "NaN",
        "0b1",
        "-0x1",
        "0x",
        "0o8",
        "1e",
        ".",
        "\u0661",
        "12\x1c",
        [],
        [1],
        {},
        {"a": 1},
    ],
)
def test_to_number_of_anything_else_is_not_a_number(value: Value) -> None:
    assert math.isnan(to_number(value))


@pytest.mark.parametrize("value", [None, False, 0, 0.0, -0.0, math.nan, ""])
def test_truthy_is_false_for_the_empty_values(value: Value) -> None:
    assert truthy(value) is False


@pytest.mark.parametrize("value", [True, 1, -1, 0.1, math.inf, " ", "false", "0", [], {}, [0]])
def test_truthy_is_true_for_all_others(value: Value) -> None:
    assert truthy(value) is True


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ("abc", "ABC", True),
        ("É", "é", True),
        ("ß", "SS", False),
        ("\u0131", "I", False),
        ("\u017f", "S", False),
        ("ŉ", "ŉ", True),
        (1, 1.0, True),
        (True, 1, True),
        (True, "true", False),
        (None, "", True),
        (math.nan, math.nan, False),
        ([], [], False),
        ([], {}, False),
        ([1], 1, False),
        (10**400, math.inf, True),
    ],
)
def test_equals_follows_the_rules_of_kinds(left: Value, right: Value, equal: bool) -> None:
    assert equals(left, right) is equal
    assert equals(right, left) is equal


def test_equals_of_one_array_or_object_with_itself_is_true_but_it_has_no_order() -> None:
    array: Value = [1]
    assert equals(array, array)
    assert order(array, array) is None


def test_order_of_texts_counts_code_units() -> None:
    assert order("\U0001f600", "\ufffd") == -1, "a surrogate pair sorts below U+E000"
    assert order("Z", "a") == 1
    assert order("_", "a") == 1
    assert order("10", "9") == -1
