"""Group commit: run queued intents in one transaction when all go well, one by one when any of them fails.

Works on one open connection and on whatever thread calls it; knows neither queues nor the event loop.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from sqlalchemy import Connection
from sqlalchemy.exc import SQLAlchemyError

from mockgitea.core.errors import Refusal, ServerFault
from mockgitea.storage.interface import Tx

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
    callbacks: list[Callable[[], None]] = field(default_factory=list)


class _BatchSpoiled(Exception):
    """An intent wrote and then refused, so the common transaction cannot be kept."""


def run_writes(conn: Connection, works: Sequence[Work], subscribers: Subscribers) -> None:
    """Run every intent; afterwards each work holds its result or its error, and what succeeded is durable."""
    if len(works) > 1 and _run_together(conn, works, subscribers):
        return
    for work in works:
        _run_alone(conn, work, subscribers)


def run_read(conn: Connection, work: Work) -> None:
    """Run one query in a transaction of its own that cannot write."""
    driver = _driver(conn)
    try:
        with conn.begin():
            driver.execute("PRAGMA query_only = ON")
            try:
                work.result = work.call(conn)
            finally:
                driver.execute("PRAGMA query_only = OFF")
    except SQLAlchemyError as error:
        work.error = _translated(error)
    except Exception as error:  # noqa: BLE001,RUF100 - handed to the caller, whose call this is
        work.error = error


def _run_together(conn: Connection, works: Sequence[Work], subscribers: Subscribers) -> bool:
    """Try all intents in one transaction; False means everything was rolled back and nothing is decided yet."""
    try:
        with conn.begin():
            for work in works:
                _attempt(conn, work, subscribers)
    except Exception as error:  # noqa: BLE001,RUF100 - the intents run again alone, where each error finds its caller
        log.debug("store_batch_rerun", intents=len(works), reason=type(error).__name__)
        for work in works:
            work.result, work.error, work.callbacks = None, None, []
        return False
    return True


def _attempt(conn: Connection, work: Work, subscribers: Subscribers) -> None:
    changes = total_changes(conn)
    tx = Tx(conn, work.now_us, subscribers)
    try:
        work.result = work.call(tx)
        work.callbacks = tx.callbacks
    except Refusal as refusal:
        if total_changes(conn) != changes:
            raise _BatchSpoiled from refusal
        work.error = refusal


def _run_alone(conn: Connection, work: Work, subscribers: Subscribers) -> None:
    work.result, work.error, work.callbacks = None, None, []
    tx = Tx(conn, work.now_us, subscribers)
    try:
        with conn.begin():
            work.result = work.call(tx)
        work.callbacks = tx.callbacks
    except SQLAlchemyError as error:
        work.error = _translated(error)
    except Exception as error:  # noqa: BLE001,RUF100 - handed to the caller, whose intent this is
        work.error = error


def total_changes(conn: Connection) -> int:
    """Return how many rows this connection has changed since it was opened."""
    return _driver(conn).total_changes


def _driver(conn: Connection) -> sqlite3.Connection:
    driver = conn.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection), "the connection is open"
    return driver


def _translated(error: SQLAlchemyError) -> ServerFault:
    """Turn a database error into a refusal whose text says what is wrong, without the statement and its values."""
    cause = getattr(error, "orig", None) or error
    log.error("store_failed", reason=str(cause), error=type(error).__name__)
    fault = ServerFault(f"store: {cause}")
    fault.__cause__ = error
    return fault
