"""Log rows as values: what one is, and how text becomes rows that every server can store."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

ROW_CHARS_MAX: Final = 1024 * 1024
"""A longer line continues in the next row; servers cut at 64 KiB of their own accord."""


class Row(NamedTuple):
    """One row; ``at_us`` is microseconds since 1970."""

    at_us: int
    content: str


def printable_lines(text: str) -> Iterable[str]:
    """Return the lines of ``text`` without line ends, valid as UTF-8, none longer than `ROW_CHARS_MAX`.

    What is not valid (bytes that a process wrote and that were decoded as lone surrogates) becomes ``?``, since
    protobuf refuses to carry it.
    """
    if len(text) <= ROW_CHARS_MAX and text.isascii() and "\n" not in text and "\r" not in text:
        return (text,)  # what almost every row is
    return _lines(text)


def _lines(text: str) -> Iterator[str]:
    for line in text.rstrip("\r\n").split("\n"):
        valid = valid_text(line.rstrip("\r"))
        yield valid[:ROW_CHARS_MAX]
        for start in range(ROW_CHARS_MAX, len(valid), ROW_CHARS_MAX):
            yield valid[start : start + ROW_CHARS_MAX]


def valid_text(text: str) -> str:
    """Return ``text`` with ``?`` for everything that is not valid as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
