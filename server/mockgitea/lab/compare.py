"""Compares two documents of the laboratory: what became worse, and by more than is allowed.

Meant for pull requests: the same scenario before and after a change. Reads documents, runs nothing.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mockgitea.lab.figures import FIGURES, Figure, formatted
from mockgitea.lab.suite import FORMAT, KIND

FILE_BYTES_MAX: Final = 256 * 1024 * 1024
NOISE_S: Final = 1e-6
"""A figure that differs by less is the same."""
_CONDITIONS: Final = (
    ("runners", "fleet.runners"),
    ("capacity", "fleet.capacity"),
    ("seed", "seed"),
    ("profile", "profile"),
    ("time", "time"),
    ("round_trip_s", "link.round_trip_s"),
)
"""What must be equal for figures to be comparable: its key in ``setup``, and the scenario's field."""


class NotComparable(ValueError):
    """A file is no document of the laboratory, or the two do not belong together; the text says why."""


@dataclass(frozen=True, slots=True)
class Change:
    """One figure of one strategy in both documents."""

    strategy: str
    figure: Figure
    before: float | int | None
    after: float | int | None
    is_worse: bool
    """By more than is allowed."""

    @property
    def text(self) -> str:
        """One line for a person."""
        before, after = formatted(self.before, self.figure.unit), formatted(self.after, self.figure.unit)
        share = f" ({(self.after - self.before) / self.before:+.1%})" if self.before and self.after is not None else ""
        return f"{self.strategy}: {self.figure.title}: {before} -> {after}{share}"


def read_document(path: Path) -> dict[str, Any]:
    """Return what `mockgitea lab --json` wrote.

    Raises:
        NotComparable: it cannot be read, or is something else.
    """
    try:
        size = path.stat().st_size
        text = path.read_text(encoding="utf-8") if size <= FILE_BYTES_MAX else ""
    except (OSError, UnicodeDecodeError) as error:
        raise NotComparable(f"{path}: cannot be read ({error})") from error
    if size > FILE_BYTES_MAX:
        raise NotComparable(f"{path}: larger than {FILE_BYTES_MAX} bytes")
    try:
        content = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise NotComparable(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise NotComparable(f"{path}: not written by `mockgitea lab --json`")
    if content.get("format") != FORMAT:
        raise NotComparable(
            f"{path}: format {content.get('format')!r}, this version reads {FORMAT}; measure again with this version"
        )
    _check(content, path)
    return content


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _check(content: Mapping[str, Any], path: Path) -> None:
    """Refuse a document that lacks a figure, as one that was cut or changed by hand does."""
    results = content.get("results")
    if not isinstance(content.get("scenario"), str) or not isinstance(results, list) or not results:
        raise NotComparable(f"{path}: incomplete: no scenario or no results; measure again")
    for number, result in enumerate(results):
        name = "setup"
        try:
            absent = [key for key, _ in _CONDITIONS if key not in result["setup"]]
            if absent or not isinstance(result["strategy"], str):
                raise KeyError(*absent)
            _span_s(result)
            for figure in FIGURES:
                name = figure.name
                figure.text(result)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise NotComparable(f"{path}: results[{number}] is incomplete at {name}; measure again") from error


def compare(before: Mapping[str, Any], after: Mapping[str, Any], *, fail_over: float) -> list[Change]:
    """Return every cost that differs, strategy by strategy.

    Args:
        before: the document to compare with.
        after: the document that is judged.
        fail_over: how much more of a cost is still allowed, as a share; what was 0 or absent may not appear.

    Raises:
        NotComparable: other scenarios or conditions, or a strategy of ``before`` is missing.
    """
    if before["scenario"] != after["scenario"]:
        raise NotComparable(f"the scenarios differ: {before['scenario']!r} and {after['scenario']!r}")
    found = {result["strategy"]: result for result in after["results"]}
    changes: list[Change] = []
    for result in before["results"]:
        other = found.get(result["strategy"])
        if other is None:
            raise NotComparable(f"strategy {result['strategy']!r} is missing in the second document")
        _same_conditions(result, other)
        changes += _changes(result, other, fail_over)
    return changes


def _same_conditions(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    pairs = [(field, before["setup"][key], after["setup"][key]) for key, field in _CONDITIONS]
    pairs.append(("duration_s", _span_s(before), _span_s(after)))
    for field, old, new in pairs:
        if old != new:
            raise NotComparable(
                f"{before['strategy']}: {field} differs ({old} and {new}); measure both in the same way"
            )


def _span_s(result: Mapping[str, Any]) -> float:
    return float(result["window"]["end_s"] - result["window"]["start_s"])


def _changes(before: Mapping[str, Any], after: Mapping[str, Any], fail_over: float) -> list[Change]:
    changes = []
    for figure in FIGURES:
        if not figure.is_cost:
            continue
        old, new = figure.of(before), figure.of(after)
        if old == new or (old is not None and new is not None and abs(new - old) < NOISE_S):
            continue
        worse = new is not None and new - (old or 0) > fail_over * (old or 0) + NOISE_S
        changes.append(Change(before["strategy"], figure, old, new, worse))
    return changes
