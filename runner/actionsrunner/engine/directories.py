"""The directories of one job: made at its start, removed at its end.

Owns the layout below `workdir_parent`. Two jobs never share a directory: each gets a new random name.
"""

import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

_NAME_TRIES: Final = 8
_UNSAFE_NAME: Final = re.compile(r"[^A-Za-z0-9_-]+")
_STEM_CHARS_MAX: Final = 60


class DirectoryError(Exception):
    """The job's directories cannot be made; the text names the path."""


@dataclass(frozen=True, slots=True)
class JobDirectories:
    """Absolute paths without links. ``scripts`` holds scripts, command files and the event."""

    root: Path
    workspace: Path
    scripts: Path
    temp: Path
    tool_cache: Path

    @property
    def event_file(self) -> Path:
        """Where `GITHUB_EVENT_PATH` points."""
        return self.scripts / "event.json"

    @property
    def name(self) -> str:
        """The random name of the job's directory, which also marks its processes."""
        return self.root.name


def make_directories(parent: Path, *, tool_cache_shared: bool, tool_cache: str = "") -> JobDirectories:
    """Make the directories of a job, mode 0700.

    Args:
        parent: the setting `workdir_parent`; made when missing.
        tool_cache_shared: use one tool cache below ``parent`` for all jobs, which is kept.
        tool_cache: a tool cache chosen by the operator, which beats both.

    Raises:
        DirectoryError: no permission, no space, or ``parent`` is no directory.
    """
    try:
        parent.mkdir(parents=True, exist_ok=True)
        root = _new_directory(parent.resolve())
        shared = root.parent / "tool_cache"
        cache = Path(tool_cache) if tool_cache else shared if tool_cache_shared else root / "tool_cache"
        directories = JobDirectories(root, root / "hostexecutor", root / "act" / "workflow", root / "tmp", cache)
        for path in (directories.workspace, directories.scripts, root / "act" / "actions", directories.temp, cache):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise DirectoryError(f"cannot make the job's directories below {parent}: {error.strerror}") from error
    return directories


def _new_directory(parent: Path) -> Path:
    for _ in range(_NAME_TRIES):
        path = parent / secrets.token_hex(8)
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return path
    raise DirectoryError(f"cannot find a free directory name below {parent}")


def write_event(path: Path, event: Any) -> None:
    """Write the event as JSON, readable for all.

    Raises:
        DirectoryError: it cannot be written.
    """
    try:
        path.write_text(json.dumps(event, ensure_ascii=True, default=_plain), encoding="utf-8")
        path.chmod(0o644)
    except OSError as error:
        raise DirectoryError(f"cannot write {path}: {error.strerror}") from error


def _plain(value: object) -> Any:
    """JSON knows dict only; contexts may be any mapping."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"no JSON for {type(value).__name__}")


def safe_stem(index: int, step_id: str) -> str:
    """Make the beginning of a step's file names; the index keeps ids apart that look alike after cleaning."""
    cleaned = _UNSAFE_NAME.sub("_", step_id)[:_STEM_CHARS_MAX].strip("_-")
    return f"{index}-{cleaned}" if cleaned and cleaned != str(index) else str(index)


def remove_tree(root: Path) -> None:
    """Remove a job's directory, read-only parts too; links are removed, not followed.

    Raises:
        OSError: something cannot be removed even after its permissions were opened.
    """
    try:
        shutil.rmtree(root)
    except FileNotFoundError:
        if root.exists():
            shutil.rmtree(root)
    except OSError:
        _open_permissions(root)
        shutil.rmtree(root)


def _open_permissions(root: Path) -> None:
    """Make every directory writable; caches of some tools are read-only on purpose."""
    root.chmod(stat.S_IRWXU)
    for directory, subdirectories, _ in os.walk(root):
        for path in (Path(directory, name) for name in subdirectories):
            if not path.is_symlink():
                path.chmod(stat.S_IRWXU)
