"""The store as the services see it: intents in, results out.

An *intent* is a plain function `(tx) -> result` in a module of this package; it runs inside one transaction on the
writer, possibly in a batch with others (group commit), and may be run again from scratch if another intent of its
batch failed. So an intent has no effect outside `tx`: memory is updated in `tx.on_commit` callbacks, which run on the
event loop's thread after the commit and before the caller resumes, even when the caller has gone away.
An intent that refuses (raises `core.errors.Refusal`) does so before its first write.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

from sqlalchemy import Connection

from mockgitea.storage.prepared import driver_of

T = TypeVar("T")


class Tx:
    """One intent's view of the open transaction."""

    __slots__ = ("callbacks", "conn", "driver", "now_us", "subscribers")

    def __init__(
        self, conn: Connection, now_us: int, subscribers: Mapping[type, Sequence[Callable[[Any], None]]] | None = None
    ) -> None:
        self.conn = conn
        self.driver = driver_of(conn)
        """The driver's connection in the same transaction, for `Prepared` statements."""
        self.now_us = now_us
        """The clock when the intent was queued: the one time an intent may use."""
        self.callbacks: list[Callable[[], None]] = []
        self.subscribers = subscribers or {}

    def on_commit(self, callback: Callable[[], None]) -> None:
        """Run ``callback`` on the loop's thread once this transaction is durable; never if it is rolled back."""
        self.callbacks.append(callback)

    def announce(self, fact: object) -> None:
        """Tell everyone subscribed to facts of this type, once this transaction is durable.

        This is how a module of this package reaches what services keep in memory (`facts.VersionBumped` and the
        like) without knowing them.
        """
        for subscriber in self.subscribers.get(type(fact), ()):
            self.callbacks.append(partial(subscriber, fact))


class Store(Protocol):
    """One database with a single writer and independent readers."""

    @property
    def is_inline(self) -> bool:
        """True when intents run on the caller's thread, so that nothing ever waits for the writer."""

    async def start(self) -> None:
        """Open the database, create or check the schema; raises `ValueError` naming the remedy when it cannot."""

    def write(self, intent: Callable[[Tx], T]) -> Coroutine[Any, Any, T]:
        """Run ``intent`` in a transaction; await its result, which comes after the commit.

        Raises:
            Refusal: what the intent refused with; nothing was written.
            LimitExceeded: the writer's mailbox stayed full for the time budget; nothing was written.
        """

    def read(self, query: Callable[[Connection], T]) -> Coroutine[Any, Any, T]:
        """Run ``query`` on a reader connection: a consistent snapshot, no writes."""

    def subscribe(self, kind: type[T], subscriber: Callable[[T], None]) -> None:
        """Call ``subscriber`` on the loop's thread with each committed fact of type ``kind``."""

    async def close(self) -> None:
        """Finish what is queued, commit, close; safe to call twice."""
