"""Shells: from the `shell` of a step to a script file and an argument vector.

Owns the table of known shells and the rules for custom templates. Pure; whether a program exists is asked through a
function.
"""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

PLACEHOLDER: Final = "{0}"


class ShellError(Exception):
    """A `shell` value that cannot be used; the text says why."""


@dataclass(frozen=True, slots=True)
class Shell:
    """How to run a script: ``words`` is the argument vector with `{0}` for the script's path."""

    words: tuple[str, ...]
    extension: str = ""
    prefix: str = ""
    suffix: str = ""

    @property
    def template(self) -> str:
        """The command as it is shown in a step's header."""
        return " ".join(self.words)

    def argv(self, script: str) -> tuple[str, ...]:
        """Put the script's path in; it stays one word, whatever it contains."""
        return tuple(word.replace(PLACEHOLDER, script) for word in self.words)

    def content(self, run: str) -> str:
        """Wrap the step's `run` text into what the script file holds."""
        parts = (self.prefix, run.removesuffix("\n"), self.suffix)
        return "".join(f"{part}\n" for part in parts if part)


def _power_shell(program: str) -> Shell:
    return Shell(
        (program, "-command", ". '{0}'"),
        ".ps1",
        prefix="$ErrorActionPreference = 'stop'",
        suffix="if (Test-Path -LiteralPath variable:\\LASTEXITCODE) { exit $LASTEXITCODE }",
    )


_SHELLS: Final[Mapping[str, Shell]] = {
    "bash": Shell(("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", PLACEHOLDER), ".sh"),
    "sh": Shell(("sh", "-e", PLACEHOLDER), ".sh"),
    "python": Shell(("python", PLACEHOLDER), ".py"),
    "pwsh": _power_shell("pwsh"),
    "powershell": _power_shell("powershell"),
    "cmd": Shell(("cmd", "/D", "/E:ON", "/V:OFF", "/S", "/C", 'CALL "{0}"'), ".cmd", prefix="@echo off"),
    "node": Shell(("node", PLACEHOLDER), ".js"),
}


def choose_shell(name: str, has_program: Callable[[str], bool]) -> Shell:
    """Find the shell for a step.

    Args:
        name: the value of `shell`; empty chooses bash when it is present and sh otherwise.
        has_program: tells whether the step's PATH holds a program of that name.

    Raises:
        ShellError: a custom template without `{0}` or with unbalanced quotes.
    Source: docs/running-jobs.md, "Shells".
    """
    wanted = name.strip()
    if not wanted:
        wanted = "bash" if has_program("bash") else "sh"
    known = _SHELLS.get(wanted)
    return known if known is not None else _custom(wanted)


def _custom(template: str) -> Shell:
    if PLACEHOLDER not in template:
        names = ", ".join(_SHELLS)
        raise ShellError(
            f"`shell: {template}` is neither a known shell ({names}) nor a template that holds {{0}} for the script"
        )
    try:
        words = shlex.split(template)
    except ValueError as error:
        raise ShellError(f"`shell: {template}` cannot be split into words: {error}") from error
    return Shell(tuple(words))
