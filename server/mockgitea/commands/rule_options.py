"""Flags for the fields of a rule, and its lines in a list; shared by `fault` and `downtime`."""

import argparse
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final
from urllib.parse import quote

_DEST: Final = "field_"
"""Keeps fields of a rule, such as `transport`, apart from other options of the same name."""


def add_field_options(
    parser: argparse.ArgumentParser, fields: Mapping[str, tuple[Any, str]], *, required: Iterable[str] = ()
) -> None:
    """Add one flag for each field.

    Args:
        parser: of the command.
        fields: name to (type, help); a boolean becomes a flag without value.
        required: those that must be given.
    """
    for name, (annotation, text) in fields.items():
        flag = "--" + name.replace("_", "-")
        kinds = set(typing.get_args(annotation) or (annotation,))
        if bool in kinds:
            parser.add_argument(
                flag, dest=_DEST + name, action="store_true", default=None, help=text.replace("%", "%%")
            )
            continue
        kind = next((kind for kind in (float, int) if kind in kinds), str)
        metavar = {float: "SECONDS" if name.endswith("_s") else "NUMBER", int: "NUMBER"}.get(kind, "TEXT")
        parser.add_argument(
            flag, dest=_DEST + name, type=kind, metavar=metavar, help=text.replace("%", "%%"), required=name in required
        )


def field_values(options: argparse.Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the fields that were given on the command line."""
    return {name: value for name in names if (value := getattr(options, _DEST + name)) is not None}


def quoted(name: str) -> str:
    """Return a rule's name as it stands in a path."""
    return quote(name, safe="")


def print_rules(rules: Iterable[Mapping[str, Any]], state: Callable[[dict[str, Any]], str]) -> None:
    """Print one line a rule: name, kind, state, and the fields that say more."""
    hidden = {"name", "kind", "transports", "seen", "hits", "left", "expires_at", "is_open", "starts_at", "ends_at"}
    for rule in rules:
        more = (f"{name}={value}" for name, value in rule.items() if name not in hidden and value not in (None, False))
        print("  ".join([str(rule["name"]), str(rule["kind"]), state(dict(rule)), *more]))
