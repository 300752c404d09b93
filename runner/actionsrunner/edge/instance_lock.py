"""At most one runner process per `.runner` file: an advisory lock that vanishes with the process."""

import fcntl
from pathlib import Path
from types import TracebackType
from typing import IO, Self


class AlreadyRunning(Exception):
    """Another process holds the lock."""


class InstanceLock:
    """Holds ``<registration file>.lock`` while in use; the file itself stays, since removing it would race."""

    def __init__(self, registration_file: Path) -> None:
        self._path = registration_file.with_name(f"{registration_file.name}.lock")
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        """Take the lock.

        Raises:
            AlreadyRunning: another process has it.
        """
        self._file = self._path.open("a", encoding="utf-8")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise AlreadyRunning(f"another runner uses {self._path}; stop it or set `runner.file`") from error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Release the lock."""
        if self._file is not None:
            self._file.close()
