"""One JSON error shape for everything the control API refuses, the framework's own refusals included.

`ControlRoute` runs each handler inside that promise; `install_error_handlers` gives the same shape to what never
reaches a handler (unknown path, wrong method). No exception text reaches a caller except that of a `Refusal`.
"""

import uuid
from collections.abc import Callable, Coroutine
from typing import Any, Final

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import Message

from actionswire.codes import HTTP_STATUS, Code
from mockgitea.core.errors import Refusal

log = structlog.get_logger(__name__)

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
"""Largest request body of the control API and of REST v1: a workflow file with its event payload fits many times."""

_FRAMEWORK_CODES: Final[dict[int, Code]] = {
    400: Code.INVALID_ARGUMENT,
    401: Code.UNAUTHENTICATED,
    404: Code.NOT_FOUND,
    405: Code.UNIMPLEMENTED,
    413: Code.RESOURCE_EXHAUSTED,
    422: Code.INVALID_ARGUMENT,
}


class ErrorDetail(BaseModel):
    """What went wrong."""

    code: str = Field(description="A Connect error code, such as `not_found` or `invalid_argument`.")
    message: str = Field(description="A sentence for people: what is wrong and how to fix it.")
    field: str = Field(description="Dotted name of the offending request field; empty when there is none.")


class ErrorAnswer(BaseModel):
    """The body of every answer with a status of 400 or above."""

    error: ErrorDetail


def error_response(
    status: int, code: Code, message: str, field: str = "", headers: dict[str, str] | None = None
) -> JSONResponse:
    """Build the one error body.

    Args:
        status: HTTP status.
        code: Connect code named in the body.
        message: a sentence for people, without secrets.
        field: dotted name of the offending request field.
        headers: extra response headers, such as `Allow`.
    """
    content = {"error": {"code": str(code), "message": sendable(message), "field": sendable(field)}}
    return JSONResponse(content, status_code=status, headers=headers)


def sendable(text: str) -> str:
    """Return text that UTF-8 can hold: half of a surrogate pair, quoted from a request, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode()


def status_of(refusal: Refusal) -> int:
    """Return the HTTP status of a refusal: its own when it has one, else that of its Connect code."""
    return refusal.http_status or HTTP_STATUS[refusal.code]


def limit_body(request: Request, limit: int = BODY_BYTES_MAX) -> Request:
    """Return the request with a body that cannot grow past ``limit`` bytes.

    Raises (while the body is read):
        HTTPException: status 413, as soon as one byte too many arrives.
    """
    received = 0

    async def receive() -> Message:
        nonlocal received
        message = await request.receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise HTTPException(413, f"request body is larger than {limit} bytes")
        return message

    return Request(request.scope, receive)


class ControlRoute(APIRoute):
    """A route whose every failure leaves in the one error shape.

    ``admit`` is asked before the body is read, so a stranger learns nothing about what a route takes.
    """

    admit: Callable[[Request], None] = staticmethod(lambda _request: None)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler: bounded body in, one error shape out."""
        handler = super().get_route_handler()

        async def guarded(request: Request) -> Response:
            try:
                self.admit(request)
                return await handler(limit_body(request))
            except Exception as error:  # the outermost frame of a request: nothing may escape as a traceback
                return response_for(error)

        return guarded


def response_for(error: Exception) -> JSONResponse:
    """Turn any exception of a handler into the one error shape; the unforeseen is logged under a request id."""
    if isinstance(error, Refusal):
        return error_response(status_of(error), error.code, error.message, error.field)
    if isinstance(error, RequestValidationError):
        return _invalid_request(error)
    if isinstance(error, HTTPException):
        code = _FRAMEWORK_CODES.get(error.status_code, Code.UNKNOWN)
        return error_response(error.status_code, code, _sentence(error), headers=dict(error.headers or {}))
    request_id = uuid.uuid4().hex
    log.error("control_request_failed", request_id=request_id, exc_info=error)
    return error_response(500, Code.INTERNAL, f"internal error; the server's log has it under request id {request_id}")


def install_error_handlers(app: FastAPI) -> None:
    """Give ``app`` the one error shape for what the framework itself refuses, such as an unknown path."""

    async def answer(_request: Request, error: Exception) -> Response:
        return response_for(error)

    for kind in (HTTPException, RequestValidationError, Refusal):
        app.add_exception_handler(kind, answer)


def _sentence(error: HTTPException) -> str:
    if error.status_code == 404 and error.detail == "Not Found":
        return "no such route; GET /openapi.json lists them"
    if error.status_code == 405:
        return "this route does not take that method; GET /openapi.json lists them"
    return str(error.detail)


def _invalid_request(error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    place = first.get("loc", ())
    if first.get("type") == "json_invalid":
        return error_response(400, Code.INVALID_ARGUMENT, "the body is not valid JSON", "body")
    field = ".".join(str(part) for part in place[1:]) or (str(place[0]) if place else "body")
    if first.get("type") == "extra_forbidden":
        message = f"{field}: unknown field; remove it or check its spelling"
    elif first.get("type") == "model_attributes_type":
        message = f"{field}: send a JSON object with the header Content-Type: application/json"
    else:
        message = f"{field}: {_lower_first(str(first.get('msg', 'is wrong')))}"
    return error_response(422, Code.INVALID_ARGUMENT, message, field)


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:]
