"""Write log rows as the lines a real server stores and shows: `<UTC time, 7 decimals, Z> <content>`.

Any time a runner can send has a line, years before 0 and after 9999 included.
Source: docs/protocol.md, "UpdateLog".
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from mockgitea.core.messages import LogRow

CONTENT_BYTES_MAX: Final = 65_536
"""A row's content is cut here, after its line feeds were spelled out, possibly inside a character."""
_SHORT: Final = CONTENT_BYTES_MAX // 4
"""No string of this many characters encodes to more than the limit."""
_SECOND_NS: Final = 1_000_000_000
_DAY_S: Final = 86_400
_SECONDS_REMEMBERED: Final = 4096


def format_rows(rows: Iterable[LogRow]) -> bytes:
    """Return the stored lines of ``rows``, each with its line feed."""
    lines: list[str] = []
    parts: list[bytes] = []
    stamp = ""
    stamp_ns: int | None = None
    for time_ns, content in rows:
        if time_ns != stamp_ns:  # rows of one burst share theirs
            second, fraction = divmod(time_ns, _SECOND_NS)
            stamp, stamp_ns = f"{_second(second)}.{fraction // 100:07d}Z ", time_ns
        text = content.replace("\n", "\\n") if "\n" in content else content
        if len(text) <= _SHORT:
            lines.append(f"{stamp}{text}\n")
            continue
        parts.append("".join(lines).encode())
        lines.clear()
        parts.append(stamp.encode() + text.encode()[:CONTENT_BYTES_MAX] + b"\n")
    parts.append("".join(lines).encode())
    return b"".join(parts)


@lru_cache(maxsize=_SECONDS_REMEMBERED)
def _second(second: int) -> str:
    """Return date and time of a second since the epoch, in the proleptic Gregorian calendar."""
    days, rest = divmod(second, _DAY_S)
    year, month, day = _civil(days)
    hour, rest = divmod(rest, 3600)
    sign = "-" if year < 0 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T{hour:02d}:{rest // 60:02d}:{rest % 60:02d}"


def _civil(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day number (0 = 1970-01-01), for any year.

    Counts in years that begin on 1 March, so that the leap day is the last one; 400 years have 146,097 days.
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return year_of_era + era * 400 + (month <= 2), month, day
