"""Answers of the web endpoints: bodies, statuses and the one place where refusals become HTTP.

Source: docs/protocol.md, "Page".
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actionswire.codes import HTTP_STATUS
from mockgitea.core.errors import InvalidInput, LimitExceeded, Refusal
from mockgitea.transport.bounded import read_checked
from mockgitea.transport.page_target import PageFailure

BODY_BYTES_MAX: Final = 1024 * 1024
"""Largest body of a poll, an action or a form; a page sends a few kilobytes."""

Handler = Callable[[Request], Awaitable[Response]]


def json_response(value: Any, status: int = 200) -> Response:
    """Return a JSON answer that no cache keeps."""
    return Response(orjson.dumps(value), status, media_type="application/json", headers={"cache-control": "no-store"})


def json_bytes(body: bytes) -> Response:
    """Return JSON that is built already."""
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def failed_action(message: str) -> Response:
    """Return what a web action answers when the state of things forbids it: 400 with a text to show."""
    return json_response({"errorMessage": message, "renderFormat": "text"}, 400)


def refusing(handler: Handler) -> Handler:
    """Wrap a handler so that refusals and page failures become plain-text answers with the right status."""

    async def answer(request: Request) -> Response:
        try:
            return await handler(request)
        except PageFailure as error:
            return PlainTextResponse(f"{error}\n", 500)
        except Refusal as error:
            return PlainTextResponse(f"{error.message}\n", error.http_status or HTTP_STATUS[error.code])

    return answer


async def read_body(request: Request) -> bytes:
    """Return the request's body.

    Raises:
        LimitExceeded: it is larger than `BODY_BYTES_MAX`.
    """
    return await read_checked(request, _check_size)


def _check_size(size: int) -> None:
    if size > BODY_BYTES_MAX:
        raise BodyTooLarge


class BodyTooLarge(LimitExceeded):
    """A request body passed `BODY_BYTES_MAX`."""

    http_status = 413

    def __init__(self) -> None:
        super().__init__(f"body: larger than {BODY_BYTES_MAX} bytes", field="body")


class Missing(InvalidInput):
    """A form field is missing that the real servers fail on with 500."""

    http_status = 500
