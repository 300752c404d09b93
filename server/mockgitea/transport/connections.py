"""The open connections of the runner port, and what faults may do to one: close it, reset it, write to it unasked.

A subclass of the HTTP server's own protocol class is the registry, so a connection that no fault touches pays two
calls in its whole life. Knows no rule.
Source: docs/faults.md, "Kinds".
"""

import asyncio
import socket
import struct
from typing import Any, Final, Protocol

from uvicorn.config import Config
from uvicorn.server import ServerState

from mockgitea.transport.asgi import Scope
from mockgitea.transport.http_protocol import LimitedProtocol

PEER_KEY: Final = "mockgitea.peer"
"""Scope key under which a transport without sockets hands its own `Peer` over, such as the laboratory's."""
_RESET_ON_CLOSE: Final = struct.pack("ii", 1, 0)


class Peer(Protocol):
    """The other end of a call, as faults of the connection see it. Fulfilled by sockets and by the laboratory."""

    def close(self) -> None:
        """End the connection after what was written (FIN); nothing more is sent."""

    def reset(self) -> None:
        """End the connection at once (RST); what was written and not sent is lost."""

    def write(self, data: bytes) -> None:
        """Send bytes that belong to no response."""

    def forget_date(self) -> None:
        """Add no Date header of the server's own to the response that is about to start."""


class Connections:
    """Every open connection of one listener."""

    def __init__(self) -> None:
        self._by_client: dict[tuple[str, int], _Connection] = {}
        self._ended = asyncio.Event()

    def __len__(self) -> int:
        return len(self._by_client)

    def protocol(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> LimitedProtocol:
        """Return the protocol of a new connection; takes the place of the library's class."""
        return _Connection(self, config, server_state, app_state, _loop)

    def find(self, scope: Scope) -> Peer | None:
        """Return the connection a request came by; None when its transport has none."""
        given: Peer | None = scope.get(PEER_KEY)
        client = scope.get("client")
        return self._by_client.get(client) if given is None and client else given

    def reset_all(self) -> int:
        """Reset every open connection and return how many there were."""
        connections = list(self._by_client.values())
        for connection in connections:
            connection.reset()
        return len(connections)

    async def empty(self) -> None:
        """Return once no connection is open."""
        while self._by_client:
            self._ended.clear()
            await self._ended.wait()

    def drain(self) -> None:
        """Close idle connections, and the others after the answer that they wait for."""
        for connection in list(self._by_client.values()):
            connection.shutdown()

    def _add(self, connection: "_Connection") -> None:
        if connection.client is not None:
            self._by_client[connection.client] = connection

    def _remove(self, connection: "_Connection") -> None:
        if connection.client is not None and self._by_client.get(connection.client) is connection:
            del self._by_client[connection.client]
            self._ended.set()


class _Connection(LimitedProtocol):
    """One connection."""

    def __init__(self, registry: Connections, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._registry = registry

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in the base
        super().connection_made(transport)
        self._registry._add(self)  # noqa: SLF001,RUF100 - one module, one registry

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._registry._remove(self)  # noqa: SLF001,RUF100 - one module, one registry

    def close(self) -> None:
        self._give_up_response()
        self.transport.close()

    def reset(self) -> None:
        self._give_up_response()
        sock: socket.socket | None = self.transport.get_extra_info("socket")
        if sock is not None and not self.transport.is_closing():
            # Without this option `abort` ends the connection in an orderly way, with FIN.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        self.transport.abort()

    def write(self, data: bytes) -> None:
        if not self.transport.is_closing():
            self.transport.write(data)

    def forget_date(self) -> None:
        cycle = self.cycle
        cycle.default_headers = [field for field in cycle.default_headers if field[0] != b"date"]

    def _give_up_response(self) -> None:
        # The library would answer 500, or log an error, when an application ends without a whole response.
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
