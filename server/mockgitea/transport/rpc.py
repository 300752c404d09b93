"""The runner services over Connect: one ASGI call in, one whole answer out.

Reads bytes, checks them in the order of the library that real servers use, and hands decoded messages to
`RunnerMethods`. Source: docs/protocol.md, "Transport" and "Errors".
"""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import structlog

from actionswire import headers as names
from actionswire.codes import Code
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.errors import Refusal
from mockgitea.core.journal import Entry
from mockgitea.core.profiles import Dialect
from mockgitea.transport import connect
from mockgitea.transport.asgi import Event, Receive, Scope, Send, is_disconnected
from mockgitea.transport.connect import Headers
from mockgitea.transport.dialect import WireError, in_dialect
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.methods import Caller, CallerGone, Procedure, Reply, RunnerMethods

log = structlog.get_logger(__name__)

Answer = tuple[int, Headers, bytes]

PREFIX: Final = names.MOUNT_PREFIX + "/"
_SAFE_LENGTH_DIGITS: Final = 3
"""A Content-Length of so few digits is below the least `body_bytes_max` and needs no look."""


class RunnerRpc:
    """ASGI handler for everything below `/api/actions/`.

    Args:
        methods: the table that gRPC shares.
        dialect: how refusals are spelled.
        faults: asked before and after the work.
        body_bytes_max: largest body, compressed or not.
        body_read_s: longest time a body may take to arrive.
        now_s: monotonic seconds, the same source that stamps `Entry.opened_s`.
    """

    def __init__(
        self,
        methods: RunnerMethods,
        *,
        dialect: Dialect,
        faults: FaultGate,
        body_bytes_max: int,
        body_read_s: float,
        now_s: Callable[[], float],
    ) -> None:
        self._methods = methods
        self._dialect = dialect
        self._faults = faults
        self._body_bytes_max = body_bytes_max
        self._body_read_s = body_read_s
        self._now_s = now_s
        self._procedures = {PREFIX + procedure.name: procedure for procedure in methods.procedures}
        self._services = tuple({path.rpartition("/")[0] + "/" for path in self._procedures})

    async def __call__(self, scope: Scope, receive: Receive, send: Send, entry: Entry) -> None:
        """Answer one request and leave its outcome in ``entry``."""
        procedure = self._procedures.get(scope["path"])
        entry.method = Method.UNKNOWN_RPC if procedure is None else procedure.method
        try:
            if procedure is None or scope["method"] != "POST":
                answer = self._no_method(scope, entry)
                outcome = Outcome.UNIMPLEMENTED
            else:
                answer, outcome = await self._call(procedure, scope, receive, entry)
        except WireError as error:
            outcome = error.outcome
            entry.code = error.code
            answer = connect.failure(error)
        except CallerGone:
            return
        if self._faults.is_active and await self._faults.swallows(scope, receive, entry):
            return
        status, headers, body = answer
        entry.status = status
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        entry.outcome = outcome

    def _no_method(self, scope: Scope, entry: Entry) -> Answer:
        entry.code = Code.UNIMPLEMENTED
        if scope["method"] != "POST" and scope["path"].startswith(self._services):
            return connect.method_not_allowed()
        return connect.plain_text(404, "404 page not found")

    async def _call(self, procedure: Procedure, scope: Scope, receive: Receive, entry: Entry) -> tuple[Answer, Outcome]:
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))  # of repeated headers the first one counts
        codec = connect.codec_for(headers.get(b"content-type", b""))
        if codec is None:
            entry.code = Code.INVALID_ARGUMENT
            return connect.unsupported_type(), Outcome.INVALID_ARGUMENT
        entry.content_type = codec.content_type
        caller = Caller(headers, now_s=self._now_s, is_gone=partial(is_disconnected, receive))
        is_gzip = self._read_head(headers, caller, entry)
        event = await receive()
        body: bytes = event.get("body", b"")
        if event.get("more_body") or event["type"] == "http.disconnect":
            body = await self._rest_of_body(event, receive)
        if is_gzip or len(body) > self._body_bytes_max:
            body = self._inflated(body)
        entry.request = body
        try:
            request = codec.decode(body, procedure.request_type)
            caller.body = body if codec.content_type == connect.PROTO else b""
            if self._faults.is_active:
                caller.mishap = self._faults.begin_work(entry)
            reply = await self._methods.invoke(procedure, request, caller, entry)
            if self._faults.is_active:
                await self._wait_after(reply, entry)
            if reply.task_ids:
                await self._check_delivery(reply, caller, entry)
        except Refusal as refusal:
            raise in_dialect(refusal, self._dialect) from refusal
        except (WireError, CallerGone):
            raise
        except Exception as error:
            # The outermost net of a call: the peer learns a number to look up, never the text of our own bug.
            log.exception("call_failed", method=procedure.method.value, request_id=entry.number)
            raise WireError(Code.INTERNAL, f"internal error, request {entry.number}") from error
        entry.response = raw = codec.encode(reply.message)
        accept = headers.get(b"accept-encoding")
        gzip_from = procedure.gzip_from if accept is not None and connect.accepts_gzip(accept) else None
        fields, body = connect.success(codec, raw, gzip_from=gzip_from, extra=reply.headers)
        return (200, fields, body), reply.outcome

    async def _wait_after(self, reply: Reply, entry: Entry) -> None:
        try:
            await self._faults.after_work(entry)
        except asyncio.CancelledError:
            self._methods.give_back_soon(reply)
            raise

    async def _check_delivery(self, reply: Reply, caller: Caller, entry: Entry) -> None:
        if self._faults.is_of_a_killed_server(entry):
            raise CallerGone
        await self._methods.give_back_if_late(reply, caller)

    def _read_head(self, headers: Mapping[bytes, bytes], caller: Caller, entry: Entry) -> bool:
        """Check what the headers say, note the deadline, and tell whether the body is gzip."""
        encoding = headers.get(b"content-encoding")
        is_gzip = encoding is not None and connect.is_gzip(encoding)
        version = headers.get(connect.VERSION_HEADER)
        if version is not None:
            connect.check_version(version)
        timeout = headers.get(connect.TIMEOUT_HEADER)
        if timeout is not None and (limit_s := connect.timeout_s(timeout)) is not None:
            caller.deadline_s = entry.opened_s + limit_s
        announced = headers.get(b"content-length", b"")
        if len(announced) > _SAFE_LENGTH_DIGITS and announced.isdigit() and int(announced) > self._body_bytes_max:
            raise connect.too_large(self._body_bytes_max)
        return is_gzip

    def _inflated(self, body: bytes) -> bytes:
        if len(body) > self._body_bytes_max:
            raise connect.too_large(self._body_bytes_max)
        return connect.inflate(body, self._body_bytes_max)

    async def _rest_of_body(self, event: Event, receive: Receive) -> bytes:
        whole = bytearray()
        try:
            async with asyncio.timeout(self._body_read_s):
                while len(whole) <= self._body_bytes_max:
                    if event["type"] == "http.disconnect":
                        raise CallerGone
                    whole += event.get("body", b"")
                    if not event.get("more_body"):
                        break
                    event = await receive()
        except TimeoutError as error:
            text = f"request body did not arrive within body_read_s ({self._body_read_s:g} s)"
            raise WireError(Code.DEADLINE_EXCEEDED, text) from error
        return bytes(whole)
