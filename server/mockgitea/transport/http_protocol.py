"""One HTTP/1.1 connection with limits on what a peer may send before there is a request: size and time of a head.

The server library bounds neither, so one connection could fill the memory and many could wait for ever. Knows no
path and no application. Source: docs/protocol.md, "Transport".
"""

import asyncio
from typing import Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

HEAD_BYTES_MAX: Final = 1024 * 1024
"""Largest request line with headers; real servers stop at the same size."""
IGNORED_BYTES_MAX: Final = 256 * 1024 * 1024
"""How much of a body is read and thrown away after an early answer, before the connection is closed. Generous, since a
caller that is reset while it still sends may never hear why it was refused."""


class LimitedProtocol(HttpToolsProtocol):
    """The library's protocol, except that heads and unwanted bodies have limits."""

    head_read_s = 60.0
    """How long a head may take to arrive once its first byte is there."""
    _head_bytes = 0
    _ignored_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the library
        """Start to wait for the first request as long as for every later one."""
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, self.timeout_keep_alive_handler)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timers of this connection."""
        self._head_over()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrived; close when it is too much of what nobody wants."""
        super().data_received(data)
        # The library makes a fresh scope at a request's first byte and puts the path into it when the head is whole.
        if self.scope is None or "path" not in self.scope:
            self._head_grew(len(data))
            return
        if self._head_bytes:
            self._head_over()
        cycle = self.cycle
        if cycle is not None and cycle.response_complete and cycle.more_body:
            self._ignored_bytes += len(data)
            if self._ignored_bytes > IGNORED_BYTES_MAX:
                self.transport.close()

    def _head_grew(self, count: int) -> None:
        self._head_bytes += count
        self._ignored_bytes = 0
        if self._head_bytes > HEAD_BYTES_MAX:
            self._refuse_head(431, b"request head is too large\n")
        elif self._head_timer is None:
            self._head_timer = self.loop.call_later(
                self.head_read_s, self._refuse_head, 408, b"request head took too long\n"
            )

    def _head_over(self) -> None:
        self._head_bytes = 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _refuse_head(self, status: int, text: bytes) -> None:
        self._head_over()
        if self.transport.is_closing():
            return
        fields = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n" % len(
            text
        )
        self.transport.write(STATUS_LINE[status] + fields + text)
        self.transport.close()
