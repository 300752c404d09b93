"""The files through which a step hands values to the runner (`GITHUB_ENV`, `GITHUB_OUTPUT`, ...).

Owns their names, their creation, their safe reading and the pair syntax. The parsers are pure; what the values then
change is decided elsewhere.
"""

import codecs
import errno
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

COMMAND_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""A larger command file fails its step, so that a step cannot exhaust the runner's memory."""

FILE_VARIABLES: Final = ("ENV", "OUTPUT", "STATE", "PATH", "STEP_SUMMARY")
"""Suffixes of the variables, e.g. ``GITHUB_ENV``; every step execution gets five fresh files."""

_QUOTED_LINE_CHARS_MAX: Final = 200


class CommandFileError(Exception):
    """A command file that cannot be used; the text names the file's variable and the line."""


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """The five files of one step execution, by variable suffix."""

    paths: Mapping[str, Path]

    @classmethod
    def create(cls, directory: Path, stem: str) -> "CommandFiles":
        """Make the empty files ``<stem>-<suffix>`` in ``directory``; names must not exist yet."""
        paths = {}
        for suffix in FILE_VARIABLES:
            path = directory / f"{stem}-{suffix.lower().replace('_', '-')}"
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            paths[suffix] = path
        return cls(paths)

    def variables(self, prefixes: tuple[str, ...]) -> dict[str, str]:
        """Name each file in the environment, once per prefix such as ``GITHUB_``."""
        return {prefix + suffix: str(path) for prefix in prefixes for suffix, path in self.paths.items()}

    def pairs(self, suffix: str) -> dict[str, str]:
        """Read the file as pairs.

        Raises:
            CommandFileError: unreadable, too large, or not in pair syntax.
        """
        try:
            return parse_pairs(read_text(self.paths[suffix]))
        except CommandFileError as error:
            raise CommandFileError(f"invalid content of the file in $GITHUB_{suffix}: {error}") from error

    def summary(self) -> str:
        """Read the step's summary; raises `CommandFileError` when it is unreadable or too large."""
        try:
            return read_text(self.paths["STEP_SUMMARY"])
        except CommandFileError as error:
            raise CommandFileError(f"the file in $GITHUB_STEP_SUMMARY is not sent: {error}") from error

    def lines(self, suffix: str) -> list[str]:
        """Read the file as lines, blank ones left out.

        Raises:
            CommandFileError: unreadable or too large.
        """
        try:
            return parse_lines(read_text(self.paths[suffix]))
        except CommandFileError as error:
            raise CommandFileError(f"invalid content of the file in $GITHUB_{suffix}: {error}") from error


def read_text(path: Path) -> str:
    """Read a command file that hostile code may have replaced.

    Returns:
        Its text; empty when the step removed it. Invalid bytes become U+FFFD; a byte order mark is honoured.

    Raises:
        CommandFileError: no regular file (a link, pipe or directory), unreadable, or above COMMAND_FILE_BYTES_MAX.
    """
    # Non-blocking, because opening a pipe that nobody writes to would otherwise wait for ever.
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        reason = "it was replaced by a link" if error.errno == errno.ELOOP else error.strerror
        raise CommandFileError(f"cannot read it: {reason}") from error
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise CommandFileError("it is no regular file any more")
        with os.fdopen(fd, "rb", closefd=False) as file:
            data = file.read(COMMAND_FILE_BYTES_MAX + 1)
    finally:
        os.close(fd)
    if len(data) > COMMAND_FILE_BYTES_MAX:
        raise CommandFileError(f"it is larger than {COMMAND_FILE_BYTES_MAX} bytes")
    return _decode(data)


def _decode(data: bytes) -> str:
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", errors="replace")
    return data.decode("utf-8-sig", errors="replace")


def _split(text: str) -> list[str]:
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    return lines


def parse_lines(text: str) -> list[str]:
    """List the lines that are not blank, without surrounding blanks."""
    return [line.strip() for line in _split(text) if line.strip()]


def parse_pairs(text: str) -> dict[str, str]:
    r"""Parse ``NAME=VALUE`` lines and ``NAME<<DELIMITER`` blocks.

    Returns:
        Values by name in order of appearance; the last of equal names wins. A block's lines are joined by ``\n``.

    Raises:
        CommandFileError: an empty name or delimiter, a delimiter that never comes, or any other line.
    Source: docs/running-jobs.md, "Command files".
    """
    pairs: dict[str, str] = {}
    lines = _split(text)
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if not line.strip():
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line[:equals], line[equals + 1 :]
        elif heredoc >= 0:
            name, delimiter = line[:heredoc], line[heredoc + 2 :]
            value, position = _block(lines, position, name, delimiter)
        else:
            raise CommandFileError(f"expected `NAME=VALUE` or `NAME<<DELIMITER`, found `{_quoted(line)}`")
        if not name.strip():
            raise CommandFileError(f"the name is empty in the line `{_quoted(line)}`")
        pairs[name] = value
    return pairs


def _block(lines: list[str], position: int, name: str, delimiter: str) -> tuple[str, int]:
    if not delimiter:
        raise CommandFileError(f"the delimiter is empty in the line `{_quoted(name)}<<`")
    try:
        end = lines.index(delimiter, position)
    except ValueError:
        raise CommandFileError(
            f"the delimiter `{_quoted(delimiter)}` of `{_quoted(name)}` does not appear before the end of the file"
        ) from None
    return "\n".join(lines[position:end]), end + 1


def _quoted(text: str) -> str:
    return text if len(text) <= _QUOTED_LINE_CHARS_MAX else text[:_QUOTED_LINE_CHARS_MAX] + "…"
