"""`actionsrunner generate-config`: print a commented configuration file from the table of keys."""

import argparse
import json
import sys
import textwrap
from collections.abc import Iterator
from typing import Any, Final

from actionsrunner.settings import KEYS, Key, Kind
from actionsrunner.strategy_keys import STRATEGY_KEYS

_WIDTH: Final = 110
_HEAD: Final = """\
# Configuration of actionsrunner. Names and defaults are those of Gitea's own runner, whose files work unchanged.
# Keys marked "ours" are additions. Keys marked "no effect" are accepted, and ignored for the reason given.
# Durations are written as 3h, 10m30s or 500ms. Remove the # before a key to set it.
"""


def run(args: argparse.Namespace) -> int:
    """Print the file; return the exit status."""
    del args
    sys.stdout.write(render_config())
    return 0


def render_config() -> str:
    """Return the whole file; loading it gives the defaults, without a warning."""
    lines = [_HEAD.rstrip("\n")]
    open_sections: list[str] = []
    for key in sorted(KEYS, key=_section):
        *sections, name = key.name.split(".")
        shared = 0
        while shared < min(len(sections), len(open_sections)) and sections[shared] == open_sections[shared]:
            shared += 1
        for depth in range(shared, len(sections)):
            lines.extend(([""] if depth == 0 else []) + [f"{'  ' * depth}{sections[depth]}:"])
        open_sections = sections
        indent = "  " * len(sections)
        lines.extend(_comment(key, indent))
        # What a strategy takes unless it is told otherwise depends on the strategy, so nothing is told.
        mark = "#" if key in STRATEGY_KEYS else ""
        lines.append(f"{indent}{mark}{name}: {_yaml(key)}")
    return "\n".join(lines) + "\n"


def _section(key: Key) -> tuple[int, int, tuple[str, ...]]:
    """Order keys so that each section opens once, in the table's order, nested sections last."""
    top, *rest = key.name.split(".")
    tops = list(dict.fromkeys(known.name.split(".")[0] for known in KEYS))
    return tops.index(top), len(rest), tuple(rest[:-1])


def _comment(key: Key, indent: str) -> Iterator[str]:
    notes = [key.help]
    if key.choices:
        notes.append(f"One of {', '.join(key.choices)}.")
    if key.ours:
        notes.append("(ours)")
    if key.idle:
        notes.append(f"(no effect: {key.idle})")
    prefix = f"{indent}# "
    yield from textwrap.wrap(" ".join(notes), _WIDTH, initial_indent=prefix, subsequent_indent=prefix)


def _yaml(key: Key) -> str:
    value: Any = key.default
    if key.kind in (Kind.DURATION, Kind.CHOICE):
        return str(value)
    # JSON is YAML, and quotes what has to be quoted.
    return json.dumps(value)
