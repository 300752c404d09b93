"""What faults do to one whole answer: refuse it, cut it, change bytes of it, lie about an ack index or the time.

Values in, values out; the waits and the sending belong to `fault_gate`.
Source: docs/faults.md, "Kinds".
"""

import gzip
import random
import zlib
from collections.abc import Callable, Mapping
from email.utils import formatdate
from http import HTTPStatus
from typing import Final, NamedTuple

import orjson

from actionswire.codes import Code
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.faults import Fault, FaultKind, Hit
from mockgitea.transport import connect
from mockgitea.transport.connect import Headers
from mockgitea.transport.dialect import WireError

ANSWER_BYTES_MAX: Final = 64 * 1024 * 1024
"""Largest answer that a fault can hold or change; a longer one passes as it is."""
RPC_METHODS: Final = frozenset(Method) - {Method.REST, Method.PAGE, Method.UNKNOWN_RPC}
_HTML: Final = "<!DOCTYPE html>\n<html><head><title>{title}</title></head><body><h1>{title}</h1></body></html>\n"
_TYPES: Final = {
    "text": "text/plain; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "json": "application/json",
    "empty": "",
}


class Answer(NamedTuple):
    """A whole HTTP response. Header names are in lower case."""

    status: int
    headers: Headers
    body: bytes

    def header(self, name: bytes) -> bytes:
        """Return the first header of this name, empty when there is none."""
        return next((value for key, value in self.headers if key == name), b"")

    def with_header(self, name: bytes, value: bytes) -> "Answer":
        """Return the answer with this header in place of every one of the same name."""
        kept = [(key, old) for key, old in self.headers if key != name]
        return self._replace(headers=[*kept, (name, value)])

    def with_body(self, body: bytes) -> "Answer":
        """Return the answer with another body and the length that belongs to it."""
        return self._replace(body=body).with_header(b"content-length", b"%d" % len(body))

    def raw(self) -> bytes:
        """Return the bytes on the wire of a response that comes from nowhere."""
        reason = HTTPStatus(self.status).phrase if self.status in HTTPStatus._value2member_map_ else ""
        head = [f"HTTP/1.1 {self.status} {reason}".encode(), *(name + b": " + value for name, value in self.headers)]
        return b"\r\n".join([*head, b"", b""]) + self.body


def wire_error(fault: Fault) -> WireError:
    """Return the error of a refusing rule as both RPC transports send it."""
    code = fault.code or Code.UNAVAILABLE
    return WireError(code, fault.message or f"refused by fault {fault.name!r}", outcome=Outcome.REFUSED)


def refusal(fault: Fault, method: Method) -> Answer:
    """Return what a refusing rule answers instead of the server."""
    answer = _error(wire_error(fault), method) if fault.status is None else _bare(fault, fault.status)
    if fault.retry_after_s is not None:
        answer = answer.with_header(b"retry-after", b"%d" % fault.retry_after_s)
    return answer


def unavailable(retry_after_s: int | None) -> Answer:
    """Return what something in front of the server says while that is down on purpose."""
    answer = Answer(503, [(b"content-type", _TYPES["text"].encode())], b"").with_body(b"service unavailable\n")
    return answer if retry_after_s is None else answer.with_header(b"retry-after", b"%d" % retry_after_s)


def web_error(status: int, message: str) -> Answer:
    """Return an error of REST v1 as real servers shape it."""
    body = orjson.dumps({"message": message})
    return Answer(status, [(b"content-type", b"application/json")], b"").with_body(body)


def changed(hit: Hit, answer: Answer, method: Method) -> Answer:
    """Return the answer as a changing rule makes it; other kinds leave it alone."""
    change = _CHANGES.get(hit.fault.kind)
    return answer if change is None else change(hit, answer, method)


def dated(answer: Answer, at_us: int) -> Answer:
    """Return the answer with the Date header of a server whose clock says ``at_us``, microseconds since 1970."""
    return answer.with_header(b"date", formatdate(at_us / 1e6, usegmt=True).encode())


def kept_part(fault: Fault, body: bytes) -> bytes:
    """Return the part of a body that is sent before it breaks off; at least one byte is missing, if there is any."""
    kept = len(body) // 2 if fault.kept_bytes is None else fault.kept_bytes
    return body[: max(0, min(kept, len(body) - 1))]


def _error(error: WireError, method: Method) -> Answer:
    if method in RPC_METHODS or method is Method.UNKNOWN_RPC:
        return Answer(*connect.failure(error))
    return web_error(error.http_status, error.message)


def _bare(fault: Fault, status: int) -> Answer:
    form = fault.body or "text"
    title = fault.message or _phrase(status)
    body = b""
    if form == "html":
        body = _HTML.format(title=title.replace("&", "&amp;").replace("<", "&lt;")).encode()
    elif form == "json":
        body = orjson.dumps({"message": title})
    elif form == "text":
        body = f"{title}\n".encode()
    content_type = _TYPES[form] if fault.content_type is None else fault.content_type
    headers = [(b"content-type", content_type.encode())] if content_type else []
    if status in (204, 304):
        return Answer(status, headers, b"")
    return Answer(status, headers, b"").with_body(body)


def _phrase(status: int) -> str:
    return HTTPStatus(status).phrase if status in HTTPStatus._value2member_map_ else f"status {status}"


def _truncated(hit: Hit, answer: Answer, method: Method) -> Answer:
    del method
    return answer.with_body(kept_part(hit.fault, answer.body))


def _corrupted(hit: Hit, answer: Answer, method: Method) -> Answer:
    del method
    rng = random.Random(hit.draw)  # noqa: S311 - seeded on purpose
    body = bytearray(answer.body)
    for place in rng.sample(range(len(body)), min(hit.fault.changed_bytes or 1, len(body))):
        body[place] ^= rng.randint(1, 255)
    return answer._replace(body=bytes(body))


def _with_wrong_ack(hit: Hit, answer: Answer, method: Method) -> Answer:
    codec = connect.codec_for(answer.header(b"content-type"))
    if method is not Method.UPDATE_LOG or codec is None or answer.status != 200:
        return answer
    is_gzip = answer.header(b"content-encoding") == b"gzip"
    try:
        message = codec.decode(gzip.decompress(answer.body) if is_gzip else answer.body, pb.UpdateLogResponse)
    except (WireError, EOFError, OSError, zlib.error):
        return answer  # another rule has broken it already: there is no ack in it to be wrong
    message.ack_index = max(0, message.ack_index + (hit.fault.rows or 0))
    body = codec.encode(message)
    return answer.with_body(gzip.compress(body) if is_gzip else body)


_CHANGES: Final[Mapping[FaultKind, Callable[[Hit, Answer, Method], Answer]]] = {
    FaultKind.REFUSE: lambda hit, _, method: refusal(hit.fault, method),
    FaultKind.TRUNCATE: _truncated,
    FaultKind.CORRUPT: _corrupted,
    FaultKind.WRONG_ACK: _with_wrong_ack,
}
