"""Replace secrets in rows by ``***``. Pure; knows nothing of rows' numbers or of where they go.

A value is hidden as it is, line by line if it has several, and in the encodings in which tools print it: base64 (at
each of its three alignments), JSON strings, URLs, and the escapes of workflow commands.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

REPLACEMENT: Final = "***"
LENGTH_MIN: Final = 2
"""Shorter values would turn every row into asterisks."""
ENCODED_LENGTH_MIN: Final = 4
"""Encodings of shorter values are so short that they would hit innocent text."""

_SWITCHES: Final = frozenset({"ACTIONS_STEP_DEBUG", "ACTIONS_RUNNER_DEBUG"})
"""Secrets that are none: hiding the word `true` would ruin every log."""
_TOKEN_SUFFIXES: Final = ("runtime_token", "id_token_request_token")
"""Ends of the context's fields that hold a token, in either family's spelling; `token` itself is one too."""


def hidden_values(secrets: Mapping[str, str], context: Mapping[str, Any]) -> list[str]:
    """Return what nobody may read in a task's rows: its secrets, and the tokens that travel in its context."""
    tokens = [value for name, value in context.items() if name == "token" or name.endswith(_TOKEN_SUFFIXES)]
    known = [value for name, value in secrets.items() if name not in _SWITCHES]
    return [value for value in (*known, *tokens) if isinstance(value, str) and value.strip()]


class Masker:
    """The growing set of values to hide in one task."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._masks: dict[str, None] = {}
        self.too_short: bool = False
        """Some value could not be hidden because it is too short."""
        for value in values:
            self.add(value)

    def add(self, value: str) -> None:
        """Hide ``value``, each line of it and its encodings from now on."""
        for part in (value, *value.splitlines()):
            text = part.strip()
            if len(text) >= LENGTH_MIN:
                self._masks[text] = None
                self._masks.update(dict.fromkeys(_encodings(text)))
            elif text:
                self.too_short = True

    def mask(self, text: str) -> str:
        """Return ``text`` with every hidden value replaced; overlapping ones become one replacement."""
        # `in` is so much cheaper than any pattern that a row without secrets, the usual one, costs less this way.
        for mask in self._masks:
            if mask in text:
                break
        else:
            return text
        spans = self._spans(text)
        pieces: list[str] = []
        end = 0
        for first, last in _merge(spans):
            pieces.append(text[end:first])
            pieces.append(REPLACEMENT)
            end = last
        pieces.append(text[end:])
        return "".join(pieces)

    def touches(self, text: str) -> bool:
        """Tell whether ``text`` contains a hidden value."""
        return any(mask in text for mask in self._masks)

    def _spans(self, text: str) -> list[tuple[int, int]]:
        # Found one by one, since a single pattern would miss a secret that begins inside another one.
        spans: list[tuple[int, int]] = []
        for mask in self._masks:
            start = text.find(mask)
            while start >= 0:
                spans.append((start, start + len(mask)))
                start = text.find(mask, start + len(mask))
        spans.sort()
        return spans


def _merge(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        if merged and first < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def _encodings(text: str) -> set[str]:
    if len(text) < ENCODED_LENGTH_MIN:
        return set()
    json_text = json.dumps(text)[1:-1]
    html_safe = json_text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    command = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    plain_json = json.dumps(text, ensure_ascii=False)[1:-1]
    encoded = {json_text, html_safe, plain_json, command, quote_plus(text, safe=""), quote(text, safe="")}
    encoded.update(_base64_forms(text.encode("utf-8", "replace")))
    return {form for form in encoded if len(form) >= ENCODED_LENGTH_MIN}


def _base64_forms(data: bytes) -> set[str]:
    """Return the characters of base64 that depend on ``data`` alone, for its three alignments in a longer input."""
    forms = {base64.b64encode(data).decode().rstrip("=")}
    for shift, lead in ((0, 0), (1, 2), (2, 3)):
        whole = base64.b64encode(bytes(shift) + data).decode()
        # The last group is shared with what follows, unless the data ends on a group's border.
        tail = {0: 0, 1: 3, 2: 2}[(shift + len(data)) % 3]
        forms.add(whole[lead : len(whole) - tail])
    return forms
