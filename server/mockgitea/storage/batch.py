"""Group commit: run queued intents in one transaction when all go well, one by one when any of them fails.

Works on one open connection and on whatever thread calls it; knows neither queues nor the event loop.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from mockgitea.core.errors import Refusal, ServerFault
from mockgitea.storage.interface import Tx
from mockgitea.storage.prepared import driver_of

log = structlog.get_logger(__name__)

Subscribers = Mapping[type, Sequence[Callable[[Any], None]]]


@dataclass(slots=True, eq=False)
class Work:
    """One queued call: an intent ``(tx) -> result``, or a query ``(connection) -> result`` when ``is_read``."""

    call: Callable[[Any], Any]
    now_us: int
    is_read: bool
    result: Any = None
    error: Exception | None = None
    callbacks: Sequence[Callable[[], None]] = ()


class _BatchSpoiled(Exception):
    """An intent wrote and then refused, so the common transaction cannot be kept."""


def run_writes(conn: Connection, works: Sequence[Work], subscribers: Subscribers) -> None:
    """Run every intent; afterwards each work holds its result or its error, and what succeeded is durable."""
    if len(works) > 1 and _run_together(conn, works, subscribers):
        return
    for work in works:
        run_write(conn, work, subscribers)


def run_read(conn: Connection, work: Work) -> None:
    """Run one query in a transaction of its own that cannot write."""
    driver = driver_of(conn)
    try:
        with conn.begin():
            driver.execute("PRAGMA query_only = ON")
            try:
                work.result = work.call(conn)
            finally:
                driver.execute("PRAGMA query_only = OFF")
    except (SQLAlchemyError, sqlite3.Error) as error:
        work.error = _translated(error)
    except Exception as error:  # noqa: BLE001,RUF100 - handed to the caller, whose call this is
        work.error = error


def _run_together(conn: Connection, works: Sequence[Work], subscribers: Subscribers) -> bool:
    """Try all intents in one transaction; False means everything was rolled back and nothing is decided yet."""
    try:
        driver = driver_of(conn)
        driver.execute("BEGIN IMMEDIATE")
        try:
            for work in works:
                _attempt(conn, driver, work, subscribers)
            _commit(conn, driver)
        except BaseException:
            _roll_back(conn, driver)
            raise
    except Exception as error:  # noqa: BLE001,RUF100 - the intents run again alone, where each error finds its caller
        log.debug("store_batch_rerun", intents=len(works), reason=type(error).__name__)
        for work in works:
            work.result, work.error, work.callbacks = None, None, ()
        return False
    return True


def _attempt(conn: Connection, driver: sqlite3.Connection, work: Work, subscribers: Subscribers) -> None:
    changes = driver.total_changes
    tx = Tx(conn, work.now_us, subscribers)
    try:
        work.result = work.call(tx)
        work.callbacks = tx.callbacks
    except Refusal as refusal:
        if driver.total_changes != changes:
            raise _BatchSpoiled from refusal
        work.error = refusal


def run_write(conn: Connection, work: Work, subscribers: Subscribers) -> None:
    """Run one intent in a transaction of its own; see `run_writes`."""
    tx = Tx(conn, work.now_us, subscribers)
    driver = tx.driver
    try:
        driver.execute("BEGIN IMMEDIATE")
        try:
            work.result = work.call(tx)
            _commit(conn, driver)
        except BaseException:
            _roll_back(conn, driver)
            raise
        work.callbacks = tx.callbacks
    except (SQLAlchemyError, sqlite3.Error) as error:
        work.error = _translated(error)
    except Exception as error:  # noqa: BLE001,RUF100 - handed to the caller, whose intent this is
        work.error = error


# A transaction is begun on the driver's connection; SQLAlchemy joins it when a statement goes through it, which costs
# more than most statements do.


def _commit(conn: Connection, driver: sqlite3.Connection) -> None:
    if conn.in_transaction():
        conn.commit()
    else:
        driver.commit()


def _roll_back(conn: Connection, driver: sqlite3.Connection) -> None:
    conn.rollback()
    driver.rollback()


def _translated(error: SQLAlchemyError | sqlite3.Error) -> ServerFault:
    """Turn a database error into a refusal whose text says what is wrong, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    log.error("store_failed", reason=str(cause), error=type(error).__name__)
    fault = ServerFault(f"store: {cause}")
    fault.__cause__ = error
    return fault
