"""Workflow commands: the rows of a step's output that tell the runner something.

Owns the grammar of both forms (`::name key=value::data` and `##[name key=value]data`), stop-commands, and what each
command does to the row and to the step. Pure: what a command changes is collected in `StepEffects`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from actionsrunner.engine.options import Family

# One blank, not several, before the properties: two parts that both match blanks take quadratic time on hostile rows.
_DOUBLE_COLON: Final = re.compile(r"::(?P<name>[^\s:]+)(?:\s(?P<props>.*?))?::(?P<data>.*)", re.DOTALL)
_HASH_BRACKET: Final = re.compile(r"##\[(?P<name>[^\s\]]+)(?:\s(?P<props>[^\]]*))?\](?P<data>.*)", re.DOTALL)
_DATA_ESCAPES: Final = (("%0D", "\r"), ("%0A", "\n"))
_PROPERTY_ESCAPES: Final = (*_DATA_ESCAPES, ("%3A", ":"), ("%2C", ","), ("%5D", "]"), ("%3B", ";"))
_ANNOTATIONS: Final = frozenset({"notice", "warning", "error"})


@dataclass(frozen=True, slots=True)
class WorkflowCommand:
    """One parsed command; ``name`` is lower case, ``data`` and property values are unescaped."""

    name: str
    properties: Mapping[str, str]
    data: str
    raw_data: str
    hash_form: bool = False


@dataclass(slots=True)
class StepEffects:
    """What the commands and files of one step execution asked for, applied when the step ends."""

    outputs: dict[str, str] = field(default_factory=dict)
    state: dict[str, str] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def _unescape(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    for code, char in escapes:
        text = text.replace(code, char).replace(code.lower(), char)
    return text.replace("%25", "%")


def _properties(text: str, separator: str) -> dict[str, str]:
    pairs = (part.strip().split("=") for part in text.split(separator))
    return {pair[0].strip(): _unescape(pair[1], _PROPERTY_ESCAPES) for pair in pairs if len(pair) == 2}


def parse_command(row: str) -> WorkflowCommand | None:
    """Read one row as a workflow command of either form.

    Args:
        row: one line of output; the marker must be its first character.

    Returns:
        None for plain text. Properties without exactly one ``=`` are left out.
    Source: docs/running-jobs.md, "Workflow commands".
    """
    hash_form = row.startswith("##[")
    found = (_HASH_BRACKET if hash_form else _DOUBLE_COLON).fullmatch(row)
    if found is None:
        return None
    raw = found["data"]
    properties = _properties(found["props"] or "", ";" if hash_form else ",")
    return WorkflowCommand(found["name"].lower(), properties, _unescape(raw, _DATA_ESCAPES), raw, hash_form)


class CommandProcessor:
    """Feed it the rows of one step in order; it says which rows to log and remembers the effects."""

    def __init__(self, *, family: Family, debug: bool, allow_unsecure: bool, add_mask: Callable[[str], None]) -> None:
        self.effects = StepEffects()
        self._family = family
        self._debug = debug
        self._allow_unsecure = allow_unsecure
        self._add_mask = add_mask
        self._stop_token: str | None = None

    def process(self, row: str) -> str | None:
        """Act on ``row``.

        Returns:
            The row to log, perhaps rewritten; None when it must not appear.
        """
        if not row.startswith(("::", "##[")):
            return row
        if self._stop_token is not None:
            return self._while_stopped(row, self._stop_token)
        command = parse_command(row)
        return row if command is None else self._act(row, command)

    def _while_stopped(self, row: str, token: str) -> str | None:
        if row.rstrip() not in (f"::{token}::", f"##[{token}]"):
            return row
        self._stop_token = None
        return None

    def _act(self, row: str, command: WorkflowCommand) -> str | None:
        if command.name == "add-mask":
            self._add_mask(command.data)
            return None
        if command.name == "stop-commands":
            token = command.data.strip()
            if not token:
                return row
            self._stop_token = token
            return None
        if command.name == "debug":
            return self._debug_row(row, command)
        self._store(command)
        return display_row(row, command, self._family)

    def _debug_row(self, row: str, command: WorkflowCommand) -> str | None:
        if not self._debug:
            return None
        return row if self._family == "gitea" else command.raw_data

    def _store(self, command: WorkflowCommand) -> None:
        name = command.properties.get("name", "")
        match command.name:
            case "set-output" if name:
                self.effects.outputs[name] = command.data
            case "save-state" if name:
                self.effects.state[name] = command.data
            case "set-env" | "add-path" if not self._allow_unsecure:
                self.effects.errors.append(
                    f"the command `{command.name}` is disabled; write to the file in "
                    f"${'GITHUB_ENV' if command.name == 'set-env' else 'GITHUB_PATH'} instead, "
                    "or set ACTIONS_ALLOW_UNSECURE_COMMANDS to true in the env of the job or step"
                )
            case "set-env" if name:
                self.effects.env[name] = command.data
            case "add-path" if command.data:
                self.effects.paths.append(command.data)
            case "set-output" | "save-state" | "set-env":
                self.effects.errors.append(f"the command `{command.name}` needs a property `name`")
            case _:
                pass


def display_row(row: str, command: WorkflowCommand, family: Family) -> str:
    """Give the text under which a command's row appears in the log.

    Gitea's page does not show the properties of an annotation, so they move into the message; Forgejo's page folds
    groups only in the bracket form.
    """
    if family == "forgejo":
        if command.name == "group" and not command.hash_form:
            return f"##[group]{command.raw_data}"
        return "##[endgroup]" if command.name == "endgroup" else row
    if command.name not in _ANNOTATIONS or command.hash_form or not command.properties:
        return row
    properties = {key.lower(): value.replace("\r", " ").replace("\n", " ") for key, value in command.properties.items()}
    place = [
        properties.get("file", ""),
        properties.get("line", ""),
        properties.get("col") or properties.get("column", ""),
    ]
    location = ":".join(part for part in place if part)
    parts = [part for part in (location, properties.get("title", "")) if part]
    return f"::{command.name}::{': '.join((*parts, command.raw_data))}"
