"""`hashFiles`: one digest over the files of a workspace that match patterns.

Owns pattern matching, the walk and the digest. Links are neither followed nor hashed; nothing outside the workspace is
read.
"""

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

HASH_TIME_S_MAX: Final = 60.0
"""Longer hashing fails the expression."""

_CHUNK_BYTES: Final = 1024 * 1024
_FOLLOW_FLAG: Final = "--follow-symbolic-links"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    include: bool
    parts: tuple[str, ...]


def hash_files(workspace: Path, patterns: Sequence[str]) -> str:
    """Digest all files that match.

    Args:
        workspace: absolute directory that patterns are relative to.
        patterns: globs with ``**``, ``*``, ``?`` and ``[...]``; one per entry or line. A leading ``!`` takes away from
            what came before; later patterns win.

    Returns:
        SHA-256, in hex, over the binary SHA-256 digests of the files in sorted order; empty when nothing matches.

    Raises:
        ValueError: hashing took longer than HASH_TIME_S_MAX.
        OSError: a matching file cannot be read.
    Source: docs/running-jobs.md, "hashFiles".
    """
    rules = _rules(workspace, patterns)
    deadline = time.monotonic() + HASH_TIME_S_MAX
    total = hashlib.sha256()
    matched = False
    for relative in _files(workspace, deadline):
        if _wanted(relative, rules):
            total.update(_digest(workspace / relative, deadline))
            matched = True
    return total.hexdigest() if matched else ""


def _rules(workspace: Path, patterns: Sequence[str]) -> list[_Rule]:
    rules = []
    for line in (line.strip() for pattern in patterns for line in pattern.splitlines()):
        if not line or line.startswith("#") or line == _FOLLOW_FLAG:
            continue
        text = line.removeprefix("!").strip().removeprefix(f"{workspace}{os.sep}")
        parts = tuple(part for part in text.replace("[^", "[!").split("/") if part not in ("", "."))
        # An absolute pattern that is still absolute points outside, where nothing is read.
        if parts and not text.startswith("/"):
            rules.append(_Rule(include=not line.startswith("!"), parts=parts))
    return rules


def _wanted(relative: str, rules: Sequence[_Rule]) -> bool:
    names = relative.split("/")
    wanted = False
    for rule in rules:
        if wanted != rule.include and matches(rule.parts, names):
            wanted = rule.include
    return wanted


def matches(parts: Sequence[str], names: Sequence[str]) -> bool:
    """Tell whether a glob matches a path or one of the directories above it.

    All positions in the glob are followed at once, so that no pattern takes more than its length times the path's.

    Args:
        parts: the glob between slashes; ``**`` stands for any number of names.
        names: the path between slashes.
    """
    end = len(parts)
    positions = _beyond_stars({0}, parts)
    for name in names:
        if end in positions:
            return True
        stay = {at for at in positions if parts[at] == "**"}
        move = {at + 1 for at in positions if parts[at] != "**" and fnmatchcase(name, parts[at])}
        positions = _beyond_stars(stay | move, parts)
    return end in positions


def _beyond_stars(positions: set[int], parts: Sequence[str]) -> set[int]:
    """Add the positions reached when a ``**`` stands for nothing."""
    reached = set(positions)
    for at in range(len(parts)):
        if at in reached and parts[at] == "**":
            reached.add(at + 1)
    return reached


def _files(workspace: Path, deadline: float) -> Iterator[str]:
    """Yield the paths of regular files, relative and sorted."""
    found = []
    for directory, subdirectories, names in os.walk(workspace):
        _check(deadline)
        subdirectories.sort()
        for name in names:
            path = Path(directory, name)
            if not path.is_symlink() and path.is_file():
                found.append(path.relative_to(workspace).as_posix())
    yield from sorted(found)


def _digest(path: Path, deadline: float) -> bytes:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            _check(deadline)
    return digest.digest()


def _check(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise ValueError(f"hashFiles took longer than {HASH_TIME_S_MAX:g} s")
