"""Reading a request's body without ever holding much more of it than is wanted."""

from collections.abc import Callable

from starlette.requests import Request


async def read_checked(request: Request, check: Callable[[int], None]) -> bytes:
    """Return the body; ``check`` hears how many bytes there are so far and raises when those are too many."""
    body = bytearray()
    async for part in request.stream():
        body += part
        check(len(body))
    return bytes(body)
