"""The Connect unary codec of a client: headers out, an answer or an `RpcError` in. Knows no method and no runner.

As strict as Go's client: only status 200 with exactly the content type of the request is an answer.
Source: docs/protocol.md, "Transport".
"""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from google.protobuf.message import DecodeError, Message

from actionsrunner.core.failures import Failure, classify, classify_foreign
from actionsrunner.edge.transport import DeadlinePassed, RawAnswer, Transport, TransportError
from actionswire import headers as names
from actionswire.codes import Code, code_from_http

CONTENT_TYPE: Final = "application/proto"
_ERROR_TYPES: Final = frozenset({"application/json", "application/json; charset=utf-8"})
_MESSAGE_CHARS_MAX: Final = 500
"""An error text is cut here: some servers answer with a whole page."""

M = TypeVar("M", bound=Message)


class RpcError(Exception):
    """A call brought no usable answer.

    ``failure`` says what that means to a runner; ``code`` and ``message`` are for people.
    """

    def __init__(self, method: str, failure: Failure, code: Code, message: str) -> None:
        super().__init__(f"{method}: {code}: {message}")
        self.method = method
        self.failure = failure
        self.code = code
        self.message = message


def request_headers(identity: Mapping[str, str], *, announce_s: float | None) -> dict[str, str]:
    """Return the headers of one call.

    Args:
        identity: user agent, runner uuid and token, whatever the caller is known by.
        announce_s: seconds until the caller stops listening, told to the server; None to say nothing.
    """
    headers = {
        "content-type": CONTENT_TYPE,
        names.CONNECT_PROTOCOL_VERSION: "1",
        "accept-encoding": "gzip",
        **identity,
    }
    if announce_s is not None:
        milliseconds = str(max(1, int(announce_s * 1000)))
        if len(milliseconds) <= names.CONNECT_TIMEOUT_DIGITS_MAX:
            headers[names.CONNECT_TIMEOUT_MS] = milliseconds
    return headers


async def call(
    transport: Transport,
    path: str,
    request: Message,
    answer: M,
    *,
    headers: Mapping[str, str],
    limit_s: float,
) -> tuple[M, Mapping[str, str]]:
    """Send ``request``, fill ``answer``, and return it with the response headers.

    Raises:
        RpcError: for everything else than an answer, with the cause attached.
    """
    method = path.rpartition("/")[2]
    try:
        raw = await transport.send("POST", path, headers, request.SerializeToString(), limit_s)
    except (DeadlinePassed, TransportError) as error:
        raise unanswered(method, error) from error
    if raw.status != 200:
        raise _error(method, raw)
    _check_content_type(method, raw)
    try:
        # Fields of newer servers stay in the message as unknown ones and harm nobody.
        answer.ParseFromString(raw.body)
    except DecodeError as error:
        raise RpcError(method, Failure.RETRY, Code.INVALID_ARGUMENT, f"undecodable answer: {error}") from error
    return answer, raw.headers


def unanswered(method: str, error: DeadlinePassed | TransportError) -> RpcError:
    """Return what it means that a call got no answer."""
    if isinstance(error, DeadlinePassed):
        return RpcError(method, Failure.DEADLINE, Code.DEADLINE_EXCEEDED, str(error))
    return RpcError(method, Failure.RETRY, Code.UNAVAILABLE, str(error))


def _check_content_type(method: str, raw: RawAnswer) -> None:
    got = raw.headers.get("content-type", "")
    if got == CONTENT_TYPE:
        return
    code = Code.INTERNAL if got.startswith("application/") else Code.UNKNOWN
    raise RpcError(method, Failure.RETRY, code, f"answer of type {got!r}, expected {CONTENT_TYPE!r}")


def _error(method: str, raw: RawAnswer) -> RpcError:
    """Return what an error answer says; a valid code in the body wins over the HTTP status."""
    content_type = raw.headers.get("content-type", "")
    body = _json_object(raw.body) if content_type in _ERROR_TYPES else {}
    message = str(body.get("message", ""))[:_MESSAGE_CHARS_MAX]
    try:
        code = Code(body.get("code", ""))
    except ValueError:
        code, failure = code_from_http(raw.status), classify_foreign(raw.status, content_type)
        return RpcError(method, failure, code, message or f"HTTP {raw.status}")
    return RpcError(method, classify(code, message), code, message)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
