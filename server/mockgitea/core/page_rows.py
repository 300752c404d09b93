"""Reading stored log lines back for the page: time and content of each row.

A stored line is `2023-11-14T22:13:20.5000000Z content`. This module knows the form, not where lines are kept.
Source: docs/protocol.md, "Page".
"""

import calendar
from collections.abc import Iterable, Iterator
from typing import Any, Final

_NANOSECONDS: Final = 1_000_000_000
_SECONDS_TEXT: Final = 19
"""Length of `2023-11-14T22:13:20`."""


def page_lines(lines: Iterable[bytes], first_number: int) -> list[dict[str, Any]]:
    """Return rows as the page's JSON shows them.

    Args:
        lines: stored lines without their line feed.
        first_number: number of the first one inside its step, from 1.

    Returns:
        ``{"index", "message", "timestamp"}`` each; the timestamp is float seconds from the row's own time.

    Source: docs/protocol.md, "Page".
    """
    shown = []
    for number, (timestamp_s, message) in enumerate(parse_lines(lines), start=first_number):
        shown.append({"index": number, "message": message, "timestamp": timestamp_s})
    return shown


def parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[float, str]]:
    """Yield (float seconds since the epoch, content) of each stored line.

    A line whose time cannot be read (absurd years, damage) keeps its content and counts as the epoch, so that one bad
    row never hides the others. Bytes that are not UTF-8 (a cut character) become U+FFFD.
    """
    known_text, known_s = b"", 0
    for line in lines:
        stamp, _, content = line.partition(b" ")
        seconds_text = stamp[:_SECONDS_TEXT]
        if seconds_text != known_text:
            # Neighbouring rows mostly share their second, so it is parsed once.
            known_text, known_s = seconds_text, _epoch_s(seconds_text)
        yield (known_s * _NANOSECONDS + _fraction_ns(stamp)) / _NANOSECONDS, content.decode(errors="replace")


def _epoch_s(text: bytes) -> int:
    try:
        year, month, day = int(text[:4]), int(text[5:7]), int(text[8:10])
        clock = int(text[11:13]), int(text[14:16]), int(text[17:19])
        return calendar.timegm((year, month, day, *clock))
    except (ValueError, OverflowError):
        return 0


def _fraction_ns(stamp: bytes) -> int:
    digits = stamp[_SECONDS_TEXT + 1 : -1]
    if stamp[_SECONDS_TEXT : _SECONDS_TEXT + 1] != b"." or not digits.isdigit():
        return 0
    return int(digits[:9].ljust(9, b"0"))
