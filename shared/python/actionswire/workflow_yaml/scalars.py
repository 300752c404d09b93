"""Which plain scalars are numbers, booleans or null, and which texts some reader would take for one.

Reading follows the YAML 1.2 core schema. Writing also minds YAML 1.1 readers and Go's yaml.v3, which see dates,
`yes`, octal `010`, `1_000` and base-60 numbers.

Source: docs/expressions.md, "Workflow files".
"""

import math
import re

Scalar = bool | int | float | str | None

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_STARTS = frozenset("+-.0123456789")
_INT = re.compile(r"[-+]?[0-9]+|0o(?P<octal>[0-7]+)|0x(?P<hex>[0-9a-fA-F]+)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INFINITE = re.compile(r"(?P<sign>[-+]?)\.(?:inf|Inf|INF)")
_NOT_A_NUMBER = frozenset((".nan", ".NaN", ".NAN"))
# A longer one is infinite as a double anyway, and Python refuses to convert the longest.
_INT_DIGITS_MAX = 400
_WORDS_OF_OTHER_READERS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "", "<<", "="))


def read_plain(text: str) -> Scalar:
    """Return what the unquoted scalar ``text`` stands for."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    return _read_number(text) if text[0] in _NUMBER_STARTS else text


def is_ambiguous(text: str) -> bool:
    """Tell whether some reader may take the unquoted ``text`` for something else than text."""
    return text.lower() in _WORDS_OF_OTHER_READERS or text[0] in _NUMBER_STARTS


def write_number(number: float) -> str:
    """Write a number so that it is read back with its value and type."""
    if isinstance(number, int):
        return str(number)
    if math.isnan(number):
        return ".nan"
    if math.isinf(number):
        return ".inf" if number > 0 else "-.inf"
    return repr(number)


def _read_number(text: str) -> Scalar:
    if whole := _INT.fullmatch(text):
        if whole["octal"]:
            return int(whole["octal"], 8)
        if whole["hex"]:
            return int(whole["hex"], 16)
        return int(text) if len(text) <= _INT_DIGITS_MAX else float(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if infinite := _INFINITE.fullmatch(text):
        return -math.inf if infinite["sign"] == "-" else math.inf
    return math.nan if text in _NOT_A_NUMBER else text
