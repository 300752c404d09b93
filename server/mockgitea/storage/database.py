"""Open one SQLite database: file mode, lock, pragmas, schema and its version. Knows no intents and no threads.

A file belongs to one server process at a time; a lock beside it (`<file>.lock`) says so and vanishes with the
process, however it ends. Everything that prevents opening is a `ValueError` that names the remedy.
"""

import fcntl
import os
import sqlite3
from pathlib import Path
from typing import Final, Literal

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, select
from sqlalchemy.exc import DatabaseError

from mockgitea.storage.prepared import driver_of
from mockgitea.storage.schema import SCHEMA_VERSION, meta, metadata

MEMORY: Final = ":memory:"
BUSY_TIMEOUT_MS: Final = 5000
"""How long SQLite itself waits for a foreign process that holds the file, e.g. a backup."""
_PRIVATE: Final = 0o600
_STARTS: Final = "starts"


class DatabaseFile:
    """One database, as a path or ``:memory:``; opens connections on whichever thread asks.

    Args:
        path: file name, or ``:memory:`` for a database that lives in its only connection.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.is_memory = path == MEMORY
        self._lock: int | None = None

    def claim(self) -> None:
        """Create the file with mode 0600 if it is missing and lock it against other processes.

        Raises:
            ValueError: the folder is missing or closed to us, or another process holds the file.
        """
        if self.is_memory:
            return
        try:
            self._lock = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _PRIVATE))
            Path(self.path).chmod(_PRIVATE)
        except BlockingIOError:
            self.release()
            raise ValueError(
                f"database: {self.path} is in use by another mockgitea process; stop it or choose another file"
            ) from None
        except OSError as error:
            self.release()
            raise ValueError(f"database: cannot open {self.path}: {error.strerror or error}") from error

    def release(self) -> None:
        """Give the lock back; safe to call twice."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def engine(self, *, role: Literal["writer", "reader"]) -> Engine:
        """Return an engine whose single connection must be opened on the thread that uses it."""
        engine = create_engine("sqlite+pysqlite://", creator=self._connect, poolclass=NullPool)
        begin = "BEGIN IMMEDIATE" if role == "writer" else "BEGIN"

        @event.listens_for(engine, "begin")
        def _begin(conn: Connection) -> None:
            # Intents may open their transaction on the driver's connection, see `batch`.
            if not driver_of(conn).in_transaction:
                conn.exec_driver_sql(begin)

        return engine

    def _connect(self) -> sqlite3.Connection:
        conn = sqlite3.connect(self.path, isolation_level=None, timeout=BUSY_TIMEOUT_MS / 1000)
        if not self.is_memory:
            conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute("PRAGMA temp_store = MEMORY")
        return conn


def open_schema(engine: Engine, path: str) -> tuple[Connection, int]:
    """Open the writer's connection, create the tables in an empty database and check the version in a used one.

    Returns:
        The connection, and how often the database was opened before.

    Raises:
        ValueError: not a database, not one of ours, or written by another version of the schema.
    """
    try:
        conn = engine.connect()
    except (sqlite3.Error, DatabaseError) as error:
        raise ValueError(
            f"database: {path}: {getattr(error, 'orig', error)}; choose another file or move this one away"
        ) from error
    try:
        with conn.begin():
            tables = set(conn.exec_driver_sql("SELECT name FROM sqlite_master WHERE type = 'table'").scalars())
            if not tables:
                metadata.create_all(conn)
                rows = [
                    {"key": "schema_version", "value": str(SCHEMA_VERSION)},
                    {"key": _STARTS, "value": "0"},
                ]
                conn.execute(meta.insert(), rows)
            else:
                _check_version(conn, tables, path)
            starts = int(conn.execute(select(meta.c.value).where(meta.c.key == _STARTS)).scalar_one())
            conn.execute(meta.update().where(meta.c.key == _STARTS).values(value=str(starts + 1)))
    except DatabaseError as error:
        conn.close()
        raise ValueError(f"database: {path}: {error.orig}; choose another file or move this one away") from error
    except ValueError:
        conn.close()
        raise
    return conn, starts


def _check_version(conn: Connection, tables: set[str], path: str) -> None:
    if meta.name not in tables:
        raise ValueError(f"database: {path} is not a mockgitea database; choose another file")
    found = conn.execute(meta.select().where(meta.c.key == "schema_version")).first()
    version = found.value if found else "none"
    if version != str(SCHEMA_VERSION):
        raise ValueError(
            f"database: {path} has schema version {version}, this mockgitea needs {SCHEMA_VERSION};"
            " use the version that wrote it, or move the file away and start afresh"
        )
