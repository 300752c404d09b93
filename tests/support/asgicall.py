"""Call an ASGI application directly: one request as a list of body pieces in, one whole response out."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Asgi = Callable[[Any, Any, Any], Awaitable[None]]


@dataclass
class Response:
    """What the application sent; ``status`` 0 means nothing."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    is_complete: bool = False


def http_scope(method: str, path: str, headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """A scope as an HTTP server makes it: lower-case header names in order."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return {
        "type": "http",
        "method": method,
        "path": path,
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in pairs],
    }


async def call(app: Asgi, scope: Any, *pieces: bytes, hang_up: bool = False) -> Response:
    """Run one request.

    Args:
        app: the application.
        scope: from `http_scope`.
        pieces: the body; several pieces are a chunked body.
        hang_up: after the last piece the caller is gone, instead of waiting for the answer.
    """
    response = Response()
    events = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces or (b"",), 1)
    ]

    async def receive() -> Any:
        if events:
            return events.pop(0)
        if hang_up:
            return {"type": "http.disconnect"}
        return await asyncio.get_running_loop().create_future()  # the caller stays

    async def send(event: Any) -> None:
        if event["type"] == "http.response.start":
            response.status = event["status"]
            response.headers = {name.decode(): value.decode("latin-1") for name, value in event["headers"]}
        else:
            response.body += event.get("body", b"")
            response.is_complete = not event.get("more_body", False)

    await app(scope, receive, send)
    return response
