"""Cut the text of an expression into tokens; knows no grammar beyond what separates two tokens.

Every pattern is linear: an expression is untrusted input.

Source: docs/expressions.md, "Syntax".
"""

import re
from typing import NamedTuple

from actionswire.expressions.errors import ExpressionError
from actionswire.expressions.values import WHITE_SPACE, parse_number


class Token(NamedTuple):
    """One token; ``offset`` is 0-based, ``value`` is set for numbers and strings."""

    kind: str  # name | number | string | operator | end
    text: str
    offset: int
    value: int | float | str | None = None


_TOKEN = re.compile(
    rf"""
      (?P<space>[{WHITE_SPACE}]+)
    | (?P<string>'(?:[^']|'')*+')
    | (?P<operator>&&|\|\||[=!<>]=|[<>!()\[\],.*])
    | (?P<name>[A-Za-z_][A-Za-z0-9_-]*)
    | (?P<number>[-+0-9][^{WHITE_SPACE}()\[\],!<>=&|'*]*)
    """,
    re.VERBOSE,
)
_FRACTION = re.compile(rf"\.[0-9][^{WHITE_SPACE}()\[\],!<>=&|'*]*")
# What people write from habit in other languages, with the way out.
_HINTS = {
    '"': "text stands in single quotes",
    "=": "equality is ==",
    "&": "and is &&",
    "|": "or is ||",
    "'": "this text has no closing quote",
    "$": "leave out the ${{ }} inside an expression",
    "{": "there are no object literals; use fromJSON",
}
_ARITHMETIC = "+-*/%"


def tokenize(text: str) -> list[Token]:
    """Split ``text`` into tokens; the last one is the end mark.

    Raises:
        ExpressionError: a character or number that the language does not have.
    """
    tokens: list[Token] = []
    offset = 0
    while offset < len(text):
        match = _fraction(text, offset, tokens) or _TOKEN.match(text, offset)
        if match is None:
            raise _unexpected(text, offset)
        if match.lastgroup != "space":
            tokens.append(_token(text, match))
        offset = match.end()
    tokens.append(Token("end", "", len(text)))
    return tokens


def _fraction(text: str, offset: int, tokens: list[Token]) -> re.Match[str] | None:
    """Match ``.5``, which is a number only where no value stands before the dot."""
    after_value = bool(tokens) and (tokens[-1].kind != "operator" or tokens[-1].text in (")", "]", "*"))
    return None if after_value else _FRACTION.match(text, offset)


def _token(text: str, match: re.Match[str]) -> Token:
    kind, found, offset = match.lastgroup or "number", match.group(), match.start()
    if kind == "string":
        return Token(kind, found, offset, found[1:-1].replace("''", "'"))
    if kind == "number":
        number = parse_number(found)
        if number is None:
            calculates = set(found[1:]) & set(_ARITHMETIC) or found in _ARITHMETIC
            reason = "there is no arithmetic" if calculates else "a number looks like 1, -1.5, 1e3 or 0xff"
            raise ExpressionError(f"'{_shown(found)}' is not a number ({reason})", text, offset + 1)
        return Token(kind, found, offset, number)
    return Token(kind, found, offset)


def _unexpected(text: str, offset: int) -> ExpressionError:
    char = text[offset]
    hint = "there is no arithmetic" if char in _ARITHMETIC else _HINTS.get(char)
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    return ExpressionError(f"unexpected {shown}" + (f" ({hint})" if hint else ""), text, offset + 1)


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"
