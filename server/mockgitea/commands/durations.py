"""Durations as Go writes them, such as `10m`, `1h30m` or `500ms`, in seconds."""

import re
from typing import Final

_UNITS_S: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|ms|s|m|h)")


def seconds(text: str) -> float:
    """Return the length of a duration in seconds.

    Args:
        text: one or more numbers with units (`1h30m`); `0` needs none.

    Raises:
        ValueError: not a duration; the text says what one looks like.
    """
    if text == "0":
        return 0.0
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{text!r} is not a duration; write it like 10m, 1h30m or 500ms")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)
