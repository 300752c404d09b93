"""What a runner that was killed left behind: job directories, and processes that still run for those jobs.

Every job directory holds a file that its runner keeps locked; the lock vanishes with the runner, however it ends, so
directories of other living runners below the same parent are never touched. Without file locks nothing is cleared.
"""

import asyncio
import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import structlog

from actionsrunner.engine.directories import remove_tree
from actionsrunner.engine.process import sweep

OWNER_FILE: Final = ".owner"
CLEAR_S_MAX: Final = 60.0
"""How long a starting runner clears up; what is left then waits for its next start."""
_JOB_NAME: Final = re.compile(r"[0-9a-f]{16}")

log = structlog.get_logger(__name__)


@contextmanager
def owned(root: Path) -> Iterator[None]:
    """Mark a job's directory as in use while the block runs."""
    lock = _own(root)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


async def clear_leftovers(parent: Path) -> int:
    """End the processes and remove the directories of jobs whose runner is gone.

    Args:
        parent: the setting `workdir_parent`.

    Returns:
        How many directories were removed. Whatever stands in the way is logged, never raised.
    """
    removed = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(CLEAR_S_MAX):
            for root in _job_directories(parent):
                removed += await _clear(root)
    return removed


def _own(root: Path) -> int | None:
    draft = root / f"{OWNER_FILE}.new"
    try:
        lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    try:
        # Locked before it gets its name, so that nobody ever finds it free while the job lives.
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        draft.rename(root / OWNER_FILE)
    except OSError:
        os.close(lock)
        return None
    return lock


def _job_directories(parent: Path) -> list[Path]:
    try:
        return sorted(path for path in parent.resolve().iterdir() if _JOB_NAME.fullmatch(path.name))
    except OSError:
        return []


async def _clear(root: Path) -> bool:
    try:
        lock = os.open(root / OWNER_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False  # not one of ours, or made by a runner without locks
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        await sweep(f"{root.name}-", prefix=True)
        await asyncio.to_thread(remove_tree, root)
    except BlockingIOError:
        return False
    except (OSError, shutil.Error) as error:
        log.warning("leftover_stays", path=str(root), error=str(error))
        return False
    finally:
        os.close(lock)
    log.info("leftover_removed", path=str(root))
    return True
