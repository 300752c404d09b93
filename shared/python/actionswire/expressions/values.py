"""The values of the expression language and how they convert and compare.

Rules are GitHub's: numbers are IEEE doubles, text compares without case by code unit, and values of different kinds
meet as numbers. Knows nothing of syntax, contexts or functions.

Source: docs/expressions.md, "Values".
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias, TypeGuard, TypeVar

Value: TypeAlias = bool | int | float | str | Sequence["Value"] | Mapping[str, "Value"] | None

_Ordered = TypeVar("_Ordered", bytes, float)

# Integers up to here are exact as doubles, so an int can stand for one.
_EXACT_INT_LIMIT = 2**53
# White space of the reference implementation; Python's own set has four control characters more.
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)

# float() is not asked before these match: it also takes underscores, words and the digits of other scripts.
_DECIMAL = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_RADIX = re.compile(r"0(?:[xX](?P<hex>[0-9a-fA-F]+)|[oO](?P<octal>[0-7]+))")
_INFINITY = {"Infinity": math.inf, "+Infinity": math.inf, "-Infinity": -math.inf}


def is_array(value: Value) -> TypeGuard[Sequence[Value]]:
    """Tell whether ``value`` is an array."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_object(value: Value) -> TypeGuard[Mapping[str, Value]]:
    """Tell whether ``value`` is an object."""
    return isinstance(value, Mapping)


def is_number(value: Value) -> TypeGuard[int | float]:
    """Tell whether ``value`` is a number; a boolean is none, although Python counts it as one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def parse_number(text: str) -> int | float | None:
    """Read a number as the language writes it: decimal, ``0x``, ``0o`` or ``Infinity``.

    Args:
        text: no white space around it.

    Returns:
        None when ``text`` is not a number.
    """
    if _DECIMAL.fullmatch(text):
        return shortest_number(float(text))
    if radix := _RADIX.fullmatch(text):
        return shortest_number(_double(int(radix["hex"], 16) if radix["hex"] else int(radix["octal"], 8)))
    return _INFINITY.get(text)


def shortest_number(number: float) -> int | float:
    """Turn a whole double into the int of the same value, so that it prints and counts like one."""
    return int(number) if number.is_integer() and abs(number) < _EXACT_INT_LIMIT else number


def to_number(value: Value) -> float:
    """Convert ``value`` to a double: NaN for arrays, objects and text that is no number.

    Source: docs/expressions.md, "Conversions".
    """
    if value is None:
        return 0.0
    if isinstance(value, bool | int | float):
        return _double(value)
    if isinstance(value, str):
        text = value.strip(WHITE_SPACE)
        number = parse_number(text) if text else 0.0
        return math.nan if number is None else float(number)
    return math.nan


def to_text(value: Value) -> str:
    """Convert ``value`` to the text that a template shows for it.

    Source: docs/expressions.md, "Conversions".
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _number_text(_double(value))
    return "Object" if is_object(value) else "Array"


def truthy(value: Value) -> bool:
    """Tell whether ``value`` counts as true: all but false, 0, NaN, the empty text and null."""
    if is_array(value) or is_object(value):
        return True
    return bool(value) and not (isinstance(value, float) and math.isnan(value))


def equals(left: Value, right: Value) -> bool:
    """Compare with ``==``: arrays and objects by identity, text without case, mixed kinds as numbers."""
    if (is_array(left) and is_array(right)) or (is_object(left) and is_object(right)):
        return left is right
    return order(left, right) == 0


def order(left: Value, right: Value) -> int | None:
    """Compare two values for ``<`` and its relatives.

    Returns:
        -1, 0 or 1; None when the two have no order (NaN, arrays, objects).
    """
    if isinstance(left, str) and isinstance(right, str):
        return _sign(_sort_key(left), _sort_key(right))
    first, second = to_number(left), to_number(right)
    if math.isnan(first) or math.isnan(second):
        return None
    return _sign(first, second)


def fold_case(text: str) -> str:
    """Upper-case ``text`` character by character, so that its length stays (``ß`` is not ``SS``)."""
    return text.upper() if text.isascii() else "".join(map(_fold_char, text))


def lookup(mapping: Mapping[str, Value], name: str) -> tuple[bool, Value]:
    """Find ``name`` in ``mapping``: the exact key first, then the first that differs only by case.

    Returns:
        (found, value); value is None when nothing was found.
    """
    if name in mapping:
        return True, mapping[name]
    wanted = fold_case(name)
    for key in mapping:
        if fold_case(key) == wanted:
            return True, mapping[key]
    return False, None


def _fold_char(char: str) -> str:
    upper = char.upper()
    # Ordinal rules never turn another script's letter into ASCII (dotless i, long s).
    return upper if char.isascii() or (len(upper) == 1 and not upper.isascii()) else char


def _sort_key(text: str) -> bytes:
    """Code units in order: characters beyond the basic plane sort below U+E000, as in UTF-16."""
    return fold_case(text).encode("utf-16-be", "surrogatepass")


def _sign(left: _Ordered, right: _Ordered) -> int:
    return (left > right) - (left < right)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _number_text(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "%.15G" % (number + 0.0)  # adding zero drops the sign of -0
