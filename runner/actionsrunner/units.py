"""Durations and sizes as people write them in the configuration: ``1h30m``, ``500ms``, ``10GB``."""

import re
from typing import Final

_UNITS_S: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_PART: Final = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def parse_duration(text: str) -> float:
    """Return the seconds of a duration as Go writes it, e.g. ``1m30s``.

    Raises:
        ValueError: for anything else, with an example in the text.
    """
    unsigned = text.removeprefix("+")
    if unsigned == "0":
        return 0.0
    parts = _PART.findall(unsigned)
    if not parts or "".join(number + unit for number, unit in parts) != unsigned:
        raise ValueError(f"{text!r} is not a duration; write for example 3h, 10m30s or 500ms")
    return sum(float(number) * _UNITS_S[unit] for number, unit in parts)


def format_duration(seconds: float) -> str:
    """Return ``seconds`` as `parse_duration` reads them, e.g. ``1h30m``."""
    if seconds and seconds < 1:
        return f"{seconds * 1000:g}ms"
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    parts = ((hours, "h"), (minutes, "m"), (rest, "s"))
    return "".join(f"{number:g}{unit}" for number, unit in parts if number) or "0s"


def parse_size(text: str) -> int:
    """Return the bytes of a size such as ``1GB``, ``512MiB`` or ``4096``.

    Raises:
        ValueError: for anything else, with an example in the text.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a size; write for example 1GB, 512MiB or 4096")
    number, prefix, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** " kmgt".index(prefix.lower() or " "))
