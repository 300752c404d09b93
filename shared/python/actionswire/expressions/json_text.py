"""JSON as `fromJSON` reads and `toJSON` writes it: strict, in source order, bounded in depth.

Messages never quote the text, which may hold a secret.

Source: docs/expressions.md, "Functions".
"""

import json
import math
import re
from collections.abc import Iterator
from typing import NoReturn, cast

from actionswire.expressions.values import Value, is_array, is_object, shortest_number, to_text

JSON_DEPTH_MAX = 100
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")


class JsonTextError(ValueError):
    """A text that is not strict JSON, or a value that cannot be written as JSON."""


def read_json(text: str) -> Value:
    """Parse strict JSON; numbers become doubles, of two equal keys the last wins.

    Raises:
        JsonTextError: not JSON, half a surrogate pair, or nested deeper than JSON_DEPTH_MAX.
    """
    if not text:
        raise JsonTextError("the text is empty, not JSON")
    try:
        value = cast(Value, json.loads(text, parse_int=_number, parse_constant=_refuse_constant))
    except json.JSONDecodeError as error:
        raise JsonTextError(f"the text is not JSON (line {error.lineno}, column {error.colno})") from error
    except RecursionError as error:
        raise _too_deep() from error
    _check(value)
    return value


def write_json(value: Value, *, chars_max: int) -> str:
    """Write ``value`` with an indent of two, in source order, without escaping what is not ASCII.

    Raises:
        JsonTextError: nested deeper than JSON_DEPTH_MAX, or more than ``chars_max`` characters.
    """
    writer = _Writer(chars_max)
    writer.write(value, 1)
    return "".join(writer.parts)


class _Writer:
    """Collects the parts of one JSON text and stops when they are too many characters."""

    def __init__(self, chars_max: int) -> None:
        self.parts: list[str] = []
        self._chars_max = chars_max
        self._chars_left = chars_max

    def write(self, value: Value, depth: int) -> None:
        if is_object(value):
            self._bracketed("{}", ((f"{_scalar(str(key))}: ", item) for key, item in value.items()), depth)
        elif is_array(value):
            self._bracketed("[]", (("", item) for item in value), depth)
        else:
            self._add(_scalar(value))

    def _bracketed(self, brackets: str, items: Iterator[tuple[str, Value]], depth: int) -> None:
        if depth > JSON_DEPTH_MAX:
            raise _too_deep()
        self._add(brackets[0])
        separator = new_line = "\n" + "  " * depth
        for label, item in items:
            self._add(separator + label)
            self.write(item, depth + 1)
            separator = "," + new_line
        if separator is not new_line:
            self._add(new_line[:-2])
        self._add(brackets[1])

    def _add(self, part: str) -> None:
        self._chars_left -= len(part)
        if self._chars_left < 0:
            raise JsonTextError(f"the value needs more than {self._chars_max} characters as JSON")
        self.parts.append(part)


def _scalar(value: Value) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "null"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else to_text(value)


def _number(text: str) -> int | float:
    return shortest_number(float(text))


def _refuse_constant(name: str) -> NoReturn:
    raise JsonTextError(f"{name} is not JSON")


def _too_deep() -> JsonTextError:
    return JsonTextError(f"the value is nested deeper than {JSON_DEPTH_MAX} levels")


def _check(value: Value) -> None:
    stack = [(value, 1)]
    while stack:
        part, depth = stack.pop()
        if isinstance(part, str):
            # Half a character cannot be written to any file or log, so it is refused where it appears.
            if not part.isascii() and _HALF_CHARACTER.search(part):
                raise JsonTextError("the text holds half of a surrogate pair")
        elif is_object(part) or is_array(part):
            if depth > JSON_DEPTH_MAX:
                raise _too_deep()
            inner = [*part.keys(), *part.values()] if is_object(part) else part
            stack.extend((item, depth + 1) for item in inner)
