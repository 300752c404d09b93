"""From the bytes a process writes to the rows of the log. Pure.

Owns splitting, decoding and the bound on a row's length. Carriage returns inside a row stay (progress bars), trailing
ones go; bytes that are no UTF-8 become ``?``.
"""

import re
from collections.abc import Iterator
from typing import Final

ROW_BYTES_MAX: Final = 1024 * 1024
"""A longer line is split into rows of this size, so that a step without line feeds cannot exhaust memory."""

_NOT_UTF8: Final = re.compile("[\ud800-\udfff]+")


def clean_row(text: str) -> str:
    """Make one row fit for the log: no trailing CR or LF, no inner LF, valid Unicode."""
    trimmed = text.rstrip("\r\n")
    if "\n" in trimmed:
        trimmed = trimmed.replace("\n", " ")
    return trimmed if trimmed.isascii() else _NOT_UTF8.sub("?", trimmed)


def split_rows(text: str) -> list[str]:
    """Split a message of the runner into rows at its line feeds; bounded like a step's output."""
    rows = []
    for line in text.split("\n"):
        rows += [clean_row(line[at : at + ROW_BYTES_MAX]) for at in range(0, max(len(line), 1), ROW_BYTES_MAX)]
    return rows


class LineSplitter:
    """Cuts a stream of byte chunks into decoded rows; holds at most one unfinished row."""

    def __init__(self, row_bytes_max: int = ROW_BYTES_MAX) -> None:
        self._rest = bytearray()
        self._row_bytes_max = row_bytes_max

    def feed(self, chunk: bytes) -> Iterator[str]:
        """Take the next bytes and yield the rows that are complete."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            self._rest += line
            yield from self._take_overlong()
            yield self._take(len(self._rest))
        self._rest += rest
        yield from self._take_overlong()

    def finish(self) -> Iterator[str]:
        """Yield the last row when it had no line feed."""
        if self._rest:
            yield self._take(len(self._rest))

    def _take_overlong(self) -> Iterator[str]:
        while len(self._rest) > self._row_bytes_max:
            cut = self._row_bytes_max
            # A UTF-8 character has at most three continuation bytes: step back to its first byte.
            while cut > self._row_bytes_max - 4 and self._rest[cut] & 0xC0 == 0x80:
                cut -= 1
            yield self._take(cut)

    def _take(self, size: int) -> str:
        row = clean_row(self._rest[:size].decode("utf-8", errors="surrogateescape"))
        del self._rest[:size]
        return row
