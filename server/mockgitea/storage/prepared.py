"""Statements that run at every report, compiled once: the same SQL as through SQLAlchemy, without its cost per call.

Building, caching and decoding a statement costs SQLAlchemy some fifty microseconds, the statement itself three. Only
columns whose Python value is the stored one may be read and written this way (numbers, texts, bytes; a Boolean is 0
or 1 here). Knows no table.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import ClauseElement

_DIALECT = sqlite.dialect(paramstyle="named")


class Prepared:
    """One statement with named parameters only.

    Args:
        statement: a Core statement; every value that changes is a `bindparam`.
    """

    __slots__ = ("_fixed", "_sql")

    def __init__(self, statement: ClauseElement) -> None:
        compiled = statement.compile(dialect=_DIALECT)
        self._sql = str(compiled)
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}
        """Values that stand in the statement itself."""

    def all(self, driver: sqlite3.Connection, **parameters: Any) -> list[tuple[Any, ...]]:
        """Return every row of a query."""
        return driver.execute(self._sql, self._fixed | parameters).fetchall()

    def first(self, driver: sqlite3.Connection, **parameters: Any) -> tuple[Any, ...] | None:
        """Return the first row of a query; None without one."""
        row: tuple[Any, ...] | None = driver.execute(self._sql, self._fixed | parameters).fetchone()
        return row

    def run(self, driver: sqlite3.Connection, **parameters: Any) -> int:
        """Execute a statement that changes rows; return how many."""
        return driver.execute(self._sql, self._fixed | parameters).rowcount

    def run_many(self, driver: sqlite3.Connection, parameters: Iterable[Mapping[str, Any]]) -> None:
        """Execute a statement once for each set of parameters."""
        driver.executemany(self._sql, [self._fixed | dict(one) for one in parameters])


def driver_of(conn: Connection) -> sqlite3.Connection:
    """Return the driver's connection under an open SQLAlchemy connection."""
    driver = conn.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection), "the connection is open"
    return driver
