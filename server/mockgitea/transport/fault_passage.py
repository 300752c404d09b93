"""One HTTP call on its way through the faults: what arrives for it, what leaves for it, and whether anybody waits.

`Inbox` keeps the request readable while a fault watches for the caller's end; `Outbox` holds the answer back until it
is whole when a fault wants to change it. Neither decides anything.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from mockgitea.core.faults import PASS, Call, Verdict
from mockgitea.core.faults.kinds import FaultKind
from mockgitea.core.journal import Entry
from mockgitea.transport.asgi import Event, Receive, Send
from mockgitea.transport.connections import Peer
from mockgitea.transport.fault_answers import ANSWER_BYTES_MAX, Answer

INBOX_BYTES_MAX: Final = 64 * 1024 * 1024
"""Most of a request that is kept while its call waits in front of the server; the rest stays with the caller."""


class Passage:
    """What the gate remembers of one open call."""

    __slots__ = ("after", "after_is_decided", "call", "entry", "inside", "is_cut", "is_gone", "peer", "until_gone")

    def __init__(
        self, entry: Entry, call: Call, until_gone: Callable[[], Awaitable[object]], peer: Peer | None
    ) -> None:
        self.entry = entry
        self.call = call
        self.until_gone = until_gone
        """Returns once nobody waits for the answer any more."""
        self.peer = peer
        self.inside: FaultKind | None = None
        """What the service itself is to suffer."""
        self.after: Verdict = PASS
        """What is left to be done to the answer."""
        self.after_is_decided = False
        self.is_gone = False
        self.is_cut = False
        """True once a fault kept the answer from the caller."""

    def cut(self, *, is_reset: bool) -> None:
        """End the call without an answer, or without the rest of one."""
        self.is_cut = True
        if self.peer is not None:
            if is_reset:
                self.peer.reset()
            else:
                self.peer.close()


class Inbox:
    """The request of one call; everything read ahead of the application is handed to it later.

    Args:
        receive: the HTTP server's.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._ahead: deque[Event] = deque()
        self._size = 0
        self._is_whole = False
        self.is_gone = False

    async def receive(self) -> Event:
        """Return the next event, as the application asks for it."""
        if self._ahead:
            return self._ahead.popleft()
        if self.is_gone:
            return {"type": "http.disconnect"}
        event = await self._receive()
        self._note(event)
        return event

    async def until_gone(self) -> None:
        """Return once the caller has closed the connection."""
        while not self.is_gone:
            if self._size > INBOX_BYTES_MAX:
                await asyncio.get_running_loop().create_future()  # the connection's own flow control holds the rest
            await self._read_ahead()

    async def body(self) -> bytes:
        """Return the request's body as far as it is kept, without taking it from the application."""
        while not self.is_gone and not self._is_whole and self._size <= INBOX_BYTES_MAX:
            await self._read_ahead()
        return b"".join(event.get("body", b"") for event in self._ahead)

    async def _read_ahead(self) -> None:
        event = await self._receive()
        self._note(event)
        if not self.is_gone:
            self._ahead.append(event)

    def _note(self, event: Event) -> None:
        if event["type"] == "http.disconnect":
            self.is_gone = True
            return
        self._size += len(event.get("body", b""))
        self._is_whole = self._is_whole or not event.get("more_body")


class Outbox:
    """The answer of one call.

    Args:
        send: the HTTP server's.
        begin: asked when the answer begins; True when a fault wants it whole.
        finish: takes the whole answer, and sends what is to be sent.
    """

    def __init__(
        self, send: Send, begin: Callable[[], Awaitable[bool]], finish: Callable[[Answer], Awaitable[None]]
    ) -> None:
        self._send = send
        self._begin = begin
        self._finish = finish
        self._start: Event | None = None
        self._body = bytearray()
        self._is_late = False

    async def send(self, event: Event) -> None:
        """Take the next event of the application."""
        if event["type"] == "http.response.start":
            self._start = event if await self._begin() else None
            if self._start is None:
                await self._send(event)
            return
        if self._start is None:
            await self._send(event)
            return
        self._body += event.get("body", b"")
        if len(self._body) > ANSWER_BYTES_MAX:
            await self._let_go(more_body=bool(event.get("more_body")))
        elif not event.get("more_body"):
            headers = [(name.lower(), value) for name, value in self._start["headers"]]
            await self._finish(Answer(self._start["status"], headers, bytes(self._body)))

    async def _let_go(self, *, more_body: bool) -> None:
        """Send an answer that is too large to be kept as it is."""
        start, self._start = self._start, None
        assert start is not None, "held"
        await self._send(start)
        await self._send({"type": "http.response.body", "body": bytes(self._body), "more_body": more_body})
        self._body.clear()
