"""Cut a runner's name to what a real server keeps.

Source: docs/protocol.md, "Register and Declare".
"""

import unicodedata
from typing import Final

NAME_MAX: Final = 255
_ELLIPSIS: Final = "\u2026"


def cut_name(name: str, rule: str) -> str:
    """Return at most 255 display columns (rule ``width``, ends with an ellipsis) or bytes (rule ``bytes``)."""
    if rule == "bytes":
        return name.encode()[:NAME_MAX].decode(errors="ignore")
    if sum(map(_columns, name)) <= NAME_MAX:
        return name
    kept: list[str] = []
    left = NAME_MAX - _columns(_ELLIPSIS)
    for character in name:
        left -= _columns(character)
        if left < 0:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
