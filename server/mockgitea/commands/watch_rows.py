"""Log rows for a terminal: log commands told apart, and nothing left in them that could drive the terminal."""

import re
from typing import Final

_GROUP: Final = ("::group::", "##[group]")
_END_GROUP: Final = ("::endgroup::", "##[endgroup]")
_HIDDEN: Final = ("::add-matcher::", "##[add-matcher]", "::remove-matcher")
_COMMAND: Final = ("##[command]", "[command]")
_LABEL: Final = re.compile(r"(?s)(?:##\[(error|warning|notice|debug)\]|::(error|warning|notice|debug)(?: .*?)?::)(.*)")
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*m")
_ESCAPE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)|\x1b")
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def read_row(message: str) -> tuple[str, str]:
    """Return (kind, text) of a row.

    Kinds: ``row``, ``group``, ``endgroup``, ``hidden``, ``command``, ``error``, ``warning``, ``notice``, ``debug``.
    """
    for kind, heads in (("hidden", _HIDDEN), ("group", _GROUP), ("endgroup", _END_GROUP), ("command", _COMMAND)):
        for head in heads:
            if message.startswith(head):
                return kind, "" if kind in ("hidden", "endgroup") else message[len(head) :]
    if (label := _LABEL.fullmatch(message)) is not None:
        return label[1] or label[2], label[3]
    return "row", message


def plain_text(text: str) -> str:
    """Return text without escape sequences and control characters."""
    return _CONTROL.sub("", _ESCAPE.sub("", _last_drawn(text)))


def coloured_text(text: str) -> str:
    """Return text whose only escape sequences set colours."""
    parts = []
    at = 0
    text = _last_drawn(text)
    for colour in _COLOUR.finditer(text):
        parts += [plain_text(text[at : colour.start()]), colour[0]]
        at = colour.end()
    return "".join([*parts, plain_text(text[at:])])


def _last_drawn(text: str) -> str:
    """Return what a terminal would still show of a line that was drawn over with carriage returns."""
    return next((part for part in reversed(text.split("\r")) if part), "")
