"""The same runner services over gRPC (grpc.aio in the server's own loop). Imported only when the port is on.

Every call passes the same admission, faults and method table as over Connect; refusals keep the dialect's text, and
gRPC's status numbers stand in for Connect's code words.
Source: docs/protocol.md, "Transport".
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final, NoReturn

import grpc
import grpc.aio
import structlog

from actionswire.codes import GRPC_NUMBER, Code
from mockgitea.core.errors import Refusal
from mockgitea.core.journal import Entry
from mockgitea.core.profiles import Dialect
from mockgitea.settings import SettingError
from mockgitea.supervise import Supervisor
from mockgitea.transport import connect
from mockgitea.transport.admission import Admission
from mockgitea.transport.dialect import WireError, in_dialect
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.methods import Caller, CallerGone, Procedure, Reply, RunnerMethods

log = structlog.get_logger(__name__)

_CODEC: Final = connect.ProtoCodec()
_STATUS: Final = {status.value[0]: status for status in grpc.StatusCode}
Context = grpc.aio.ServicerContext[Any, Any]


class GrpcPort:
    """The gRPC listener.

    Args:
        methods: the table that Connect shares.
        admission: opens and closes journal entries, counts calls.
        faults: refusals, delays and holds.
        dialect: how refusals are spelled.
        supervisor: owns calls whose caller has gone.
        now_s: the monotonic source of `Entry.opened_s`.
        body_bytes_max: largest message.
    """

    def __init__(
        self,
        *,
        methods: RunnerMethods,
        admission: Admission,
        faults: FaultGate,
        dialect: Dialect,
        supervisor: Supervisor,
        now_s: Callable[[], float],
        body_bytes_max: int,
    ) -> None:
        self._methods = methods
        self._admission = admission
        self._faults = faults
        self._dialect = dialect
        self._supervisor = supervisor
        self._now_s = now_s
        self._body_bytes_max = body_bytes_max
        self._server: grpc.aio.Server | None = None
        self.port = 0

    async def start(self, host: str, port: int, *, tls: tuple[str, str] | None = None) -> None:
        """Listen; raises `SettingError` when the address cannot be had. ``port`` 0 takes a free one."""
        limits = [
            ("grpc.max_receive_message_length", self._body_bytes_max),
            ("grpc.so_reuseport", 0),  # two servers on one port must be an error, not a lottery
        ]
        server = grpc.aio.server(options=limits)
        server.add_generic_rpc_handlers(tuple(self._handlers()))
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if tls is None:
                self.port = server.add_insecure_port(address)
            else:
                self.port = server.add_secure_port(address, _credentials(*tls))
        except RuntimeError as error:
            raise SettingError(f"grpc_port: cannot listen on {address}; choose another port, or 0") from error
        await server.start()
        self._server = server

    async def close(self, *, grace_s: float) -> None:
        """Stop accepting, give calls in progress ``grace_s`` seconds; safe to call twice."""
        server, self._server = self._server, None
        if server is not None:
            await server.stop(grace_s)

    def _handlers(self) -> "list[grpc.GenericRpcHandler[Any, Any]]":
        by_service: dict[str, dict[str, grpc.RpcMethodHandler[Any, Any]]] = {}
        for procedure in self._methods.procedures:
            by_service.setdefault(procedure.service, {})[procedure.method.value] = grpc.unary_unary_rpc_method_handler(
                self._serve(procedure)
            )
        return [grpc.method_handlers_generic_handler(service, table) for service, table in by_service.items()]

    def _serve(self, procedure: Procedure) -> Callable[[bytes, Context], Awaitable[bytes]]:
        async def serve(body: bytes, context: Context) -> bytes:
            entry = self._admission.open(f"/{procedure.name}")
            entry.method = procedure.method
            entry.transport = "grpc"
            entry.content_type = connect.PROTO
            entry.request = body
            try:
                answer = await self._answer(procedure, body, context, entry)
            except WireError as error:
                entry.outcome = error.outcome
                entry.code = error.code
                await _abort(context, error)
            finally:
                self._faults.leave(entry)
                self._admission.close(entry)
            return answer

        return serve

    async def _answer(self, procedure: Procedure, body: bytes, context: Context, entry: Entry) -> bytes:
        gone = asyncio.Event()
        caller = self._caller(context, gone)
        if self._faults.is_active:
            await self._faults.enter(entry, caller.headers, body, gone.wait)
        work = self._supervisor.start(self._work(procedure, body, caller, entry), name=f"grpc:{procedure.method.value}")
        try:
            result = await asyncio.shield(work)
        except asyncio.CancelledError:
            # The library cancels this coroutine when the caller leaves. The work goes on, as a real handler's does;
            # a claim looks at `gone` when it is done.
            gone.set()
            raise
        if self._faults.is_active:
            await self._faults.exit(entry, caller.headers, gone.wait)
        if isinstance(result, WireError):
            raise result
        if result.headers:
            await context.send_initial_metadata([(key.decode().lower(), value) for key, value in result.headers])
        entry.response = answer = _CODEC.encode(result.message)
        entry.outcome = result.outcome
        return answer

    async def _work(self, procedure: Procedure, body: bytes, caller: Caller, entry: Entry) -> Reply | WireError:
        # A refusal is returned, not raised: a supervised task that raises stops the server.
        try:
            request = _CODEC.decode(body, procedure.request_type)
            if self._faults.is_active:
                caller.mishap = self._faults.begin_work(entry)
            reply = await self._methods.invoke(procedure, request, caller, entry)
            if self._faults.is_active:
                await self._faults.after_work(entry)
            if reply.task_ids and not self._faults.is_of_a_killed_server(entry):
                await self._methods.give_back_if_late(reply, caller)
        except Refusal as refusal:
            return in_dialect(refusal, self._dialect)
        except CallerGone:
            return WireError(Code.CANCELED, "context canceled")
        except WireError as error:
            return error
        except Exception:
            log.exception("call_failed", method=procedure.method.value, request_id=entry.number)
            return WireError(Code.INTERNAL, f"internal error, request {entry.number}")
        return reply

    def _caller(self, context: Context, gone: asyncio.Event) -> Caller:
        fields: dict[bytes, bytes] = {}
        for key, value in context.invocation_metadata() or ():
            fields.setdefault(key.encode(), value.encode("utf-8") if isinstance(value, str) else value)
        caller = Caller(fields, now_s=self._now_s, is_gone=gone.is_set)
        left_s = context.time_remaining()
        if left_s is not None:
            caller.deadline_s = self._now_s() + left_s
        return caller


def _credentials(cert: str, key: str) -> grpc.ServerCredentials:
    return grpc.ssl_server_credentials([(Path(key).read_bytes(), Path(cert).read_bytes())])


async def _abort(context: Context, error: WireError) -> NoReturn:
    await context.abort(_STATUS[GRPC_NUMBER[error.code]], error.message)
    raise AssertionError("abort does not return")
