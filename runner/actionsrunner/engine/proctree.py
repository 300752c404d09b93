"""Finding and signalling every process that belongs to a step or job.

Owns the walk over `/proc`: by parent, by session, and by a marker variable in the environment, which also finds
processes that left the session and lost their parent. Without `/proc` only the process group is reached.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MARK_VARIABLE: Final = "ACTIONSRUNNER_TRACKING_ID"
"""Set in the environment of every step process; its value names the job and the step."""

_PROC: Final = Path("/proc")
_DEAD_STATES: Final = frozenset({"Z", "X", "x"})
_ENVIRON_BYTES_MAX: Final = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Process:
    pid: int
    parent: int
    group: int
    session: int


def _processes() -> Iterator[_Process]:
    """List living processes; ones that vanish meanwhile are left out."""
    try:
        names = [entry.name for entry in _PROC.iterdir()]
    except OSError:
        return
    for name in names:
        if not name.isdecimal():
            continue
        try:
            text = (_PROC / name / "stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        # The command name stands in parentheses and may hold anything, so fields count from the last one.
        fields = text.rpartition(")")[2].split()
        if len(fields) >= 4 and fields[0] not in _DEAD_STATES:
            yield _Process(int(name), int(fields[1]), int(fields[2]), int(fields[3]))


def _has_mark(pid: int, mark: str, *, prefix: bool) -> bool:
    try:
        with (_PROC / str(pid) / "environ").open("rb") as file:
            environ = file.read(_ENVIRON_BYTES_MAX)
    except OSError:
        return False
    wanted = os.fsencode(f"{MARK_VARIABLE}={mark}")
    return any(entry.startswith(wanted) if prefix else entry == wanted for entry in environ.split(b"\0"))


def members(mark: str, *, leader: int | None = None, prefix: bool = False) -> set[int]:
    """Find the living processes of a step or job.

    Args:
        mark: value of MARK_VARIABLE to look for.
        leader: the step's main process; its descendants, group and session belong too.
        prefix: look for values that begin with ``mark``, which finds all steps of a job.
    """
    own = os.getpid()
    listed = [process for process in _processes() if process.pid != own]
    found = {process.pid for process in listed if leader in (process.pid, process.group, process.session)}
    found |= {
        process.pid for process in listed if process.pid not in found and _has_mark(process.pid, mark, prefix=prefix)
    }
    grown = True
    while grown:
        children = {process.pid for process in listed if process.parent in found and process.pid not in found}
        found |= children
        grown = bool(children)
    return found


def send(pids: set[int], number: signal.Signals) -> None:
    """Signal each process; one that is gone or not ours is passed over."""
    for pid in pids:
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_group(leader: int, number: signal.Signals) -> None:
    """Signal the process group of ``leader``, which must not have been reaped."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
