"""The ASGI vocabulary in types, and the one way to answer a whole response. Knows no protocol above HTTP."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Event = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


async def respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send one complete response."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def is_disconnected(receive: Receive) -> bool:
    """Tell, without waiting, whether the caller has gone away; only after its body was read to the end.

    ``receive`` is driven one step by hand: it either returns the disconnect at once or begins to wait and is closed
    again. A task per call would cost more than everything else that a poll does.
    """
    step = receive().__await__()
    try:
        next(step)
    except StopIteration as stop:
        return bool(stop.value["type"] == "http.disconnect")
    close = getattr(step, "close", None)
    if close is not None:
        close()
    return False


class Deferred:
    """An application that is still being built; requests for it wait until it is provided."""

    on_first_request: Callable[[], None] | None = None
    """Called by the first request that finds no application, so that one may be built only when it is wanted."""

    def __init__(self) -> None:
        self._app: App | None = None
        self._is_there = asyncio.Event()

    def provide(self, app: App) -> None:
        """Serve everybody who waits, and everybody from now on, with ``app``."""
        self._app = app
        self._is_there.set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request once there is something to serve it with."""
        if self.on_first_request is not None:
            begin, self.on_first_request = self.on_first_request, None
            begin()
        await self._is_there.wait()
        assert self._app is not None, "provided"
        await self._app(scope, receive, send)
