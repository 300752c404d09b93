"""What a configuration key is: its name, what its value may be, and what it is for. Knows no key in particular."""

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """What a value may be, in words for people."""

    TEXT = "text"
    CHOICE = "one of a few words"
    FLAG = "true or false"
    COUNT = "whole number"
    DURATION = "duration such as 3h, 10m30s or 500ms"
    SIZE = "size such as 1GB or 512MiB"
    LIST = "list of texts"
    MAP = "map of texts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One configuration key.

    ``default`` is written as in the file. ``idle`` is empty for a key that has an effect, else the reason why it has
    none. ``least`` and ``most`` bound counts, and durations in seconds.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    idle: str = ""
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float | None = None
    ours: bool = False
