"""Write a value as a workflow file that every YAML reader understands alike.

Texts that some reader would take for a number, date or boolean are quoted; texts of several lines are literal blocks,
also with tabs and emoji in them, which the emitters of the YAML libraries would escape.

Source: docs/expressions.md, "Workflow files".
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from actionswire.expressions.values import Value, is_array, is_object
from actionswire.workflow_yaml.reader import DEPTH_MAX
from actionswire.workflow_yaml.scalars import is_ambiguous, write_number

_INDENT = "  "
# Some parsers look at no more than 1,024 characters for the colon behind a key.
_SIMPLE_KEY_CHARS_MAX = 500

# Controls, byte order marks, halves of characters, and the line breaks that only YAML 1.1 has.
_UNSAFE_BESIDES_TAB_AND_BREAK = "\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_UNSAFE_IN_BLOCK = re.compile(f"[{_UNSAFE_BESIDES_TAB_AND_BREAK}]")
_UNSAFE_IN_LINE = re.compile(f"[\t\n{_UNSAFE_BESIDES_TAB_AND_BREAK}]")
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
# What means something to YAML: a sign at the start, a colon or a comment within, a colon or blank at the end.
_NOT_PLAIN = re.compile(r"\A[-?:,\[\]{}#&*!|>'\"%@` ]|: | #|[: ]\Z")


def dump(value: Value) -> str:
    """Write ``value`` so that `load` gives it back, and so that YAML 1.1 readers and Go's yaml.v3 see the same.

    Args:
        value: mappings with text keys, sequences, texts, numbers, booleans, None; at most DEPTH_MAX levels.

    Returns:
        One document in source order; ends with a line break.

    Raises:
        ValueError: a key that is no text, a value of another type, too many levels, or half a character.
    Source: docs/expressions.md, "Workflow files".
    """
    lines: list[str] = []
    if _is_full(value):
        _write_collection(lines, value, "", "", DEPTH_MAX)
    else:
        lines.append(_scalar(value, ""))
    return "\n".join(lines) + "\n"


def _is_full(value: Value) -> bool:
    return (is_array(value) or is_object(value)) and len(value) > 0


def _write_collection(lines: list[str], value: Value, first: str, indent: str, levels: int) -> None:
    """Add a mapping or sequence that is not empty.

    Args:
        lines: the lines so far.
        value: the collection.
        first: what stands before its first entry on that line.
        indent: what stands before the others.
        levels: how many levels of collections it may have.
    """
    if levels == 0:
        raise ValueError(f"the value is nested deeper than {DEPTH_MAX} levels")
    for number, (label, item) in enumerate(_labelled(value, indent)):
        lead = (indent if number else first) + label
        if not _is_full(item):
            lines.append(f"{lead} {_scalar(item, indent)}")
        elif label == "-":
            _write_collection(lines, item, lead + " ", indent + _INDENT, levels - 1)
        else:
            lines.append(lead)
            _write_collection(lines, item, indent + _INDENT, indent + _INDENT, levels - 1)


def _labelled(value: Value, indent: str) -> Iterable[tuple[str, Value]]:
    if is_object(value):
        return ((_key(key, indent), item) for key, item in value.items())
    return (("-", item) for item in value) if is_array(value) else ()


def _key(key: object, indent: str) -> str:
    if not isinstance(key, str):
        raise ValueError(f"the key {key!r} is not a text")  # noqa: TRY004 -- a bad value, as documented
    # Go readers take `on` as text, and a workflow with a quoted one would look odd.
    text = key if key == "on" else _one_line(key)
    return f"{text}:" if len(text) <= _SIMPLE_KEY_CHARS_MAX else f"? {text}\n{indent}:"


def _scalar(value: Value, indent: str) -> str:
    """Write what fits behind a label: a scalar, or a collection without content."""
    if isinstance(value, str):
        return _block(value, indent + _INDENT) if _reads_best_as_block(value) else _one_line(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return write_number(value)
    if isinstance(value, Mapping | Sequence):
        return "{}" if isinstance(value, Mapping) else "[]"
    raise ValueError(f"a {type(value).__name__} cannot be written to a workflow file")


def _reads_best_as_block(text: str) -> bool:
    return "\n" in text and not text.isspace() and _UNSAFE_IN_BLOCK.search(text) is None


def _block(text: str, indent: str) -> str:
    # The first line decides the indentation, unless the header says it.
    depth = str(len(_INDENT)) if text[0] in " \t\n" else ""
    chomping = "-" if text[-1] != "\n" else "+" if text.endswith("\n\n") else ""
    body = text if chomping == "-" else text[:-1]
    return "\n".join(("|" + depth + chomping, *(indent + line if line else "" for line in body.split("\n"))))


def _one_line(text: str) -> str:
    if not _UNSAFE_IN_LINE.search(text):
        needs_quotes = is_ambiguous(text) or _NOT_PLAIN.search(text)
        return "'" + text.replace("'", "''") + "'" if needs_quotes else text
    if _HALF_CHARACTER.search(text):
        raise ValueError("a text holds half of a surrogate pair")
    return _UNSAFE_IN_LINE.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))
