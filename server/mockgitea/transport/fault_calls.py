"""A call as rules see it, from its path, headers and body, before anybody has served it. Proves nothing about them."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message

from actionswire import headers as names
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method
from mockgitea.core.faults import Call, Transport
from mockgitea.core.journal import Entry
from mockgitea.transport import connect
from mockgitea.transport.dialect import WireError
from mockgitea.transport.fault_server import Caller
from mockgitea.transport.methods import PROCEDURES

RPC_PREFIX: Final = names.MOUNT_PREFIX + "/"
REST_PREFIX: Final = "/api/"
_BODY_BYTES_MAX: Final = 64 * 1024 * 1024
_METHODS: Final = {RPC_PREFIX + procedure.name: procedure.method for procedure in PROCEDURES}
_REPORTS: Final[dict[Method, type[Message]]] = {
    Method.UPDATE_TASK: pb.UpdateTaskRequest,
    Method.UPDATE_LOG: pb.UpdateLogRequest,
}
_UUID: Final = names.RUNNER_UUID.encode()


def method_of(path: str) -> Method:
    """Return what a request for this path asks for, whatever the profile knows."""
    if path.startswith(RPC_PREFIX):
        return _METHODS.get(path, Method.UNKNOWN_RPC)
    return Method.REST if path.startswith(REST_PREFIX) else Method.PAGE


def uuid_in(headers: Sequence[tuple[bytes, bytes]]) -> str:
    """Return the runner that a call claims to come from; empty when it claims none."""
    return next((value.decode("latin-1") for name, value in headers if name == _UUID), "")


def call_of(
    entry: Entry,
    headers: Sequence[tuple[bytes, bytes]],
    caller: Caller | None,
    *,
    body: bytes = b"",
    transport: Transport = Transport.HTTP,
) -> Call:
    """Return the call that this entry records.

    Args:
        entry: with its method.
        headers: lower-case names.
        caller: the runner that the headers claim, where the server knows it.
        body: of the request, only needed when a rule asks for the task.
        transport: how the call came in.
    """
    return Call(
        method=entry.method,
        transport=transport,
        runner_uuid=uuid_in(headers),
        runner_name="" if caller is None else caller.name,
        labels=() if caller is None else caller.labels,
        task_id=_task_id(entry.method, headers, body, transport),
        headers=headers,
    )


def _task_id(method: Method, headers: Sequence[tuple[bytes, bytes]], body: bytes, transport: Transport) -> int:
    message_type = _REPORTS.get(method)
    if message_type is None or not body:
        return 0
    found = dict(headers)
    codec = connect.ProtoCodec() if transport is Transport.GRPC else connect.codec_for(found.get(b"content-type", b""))
    if codec is None:
        return 0
    try:
        if connect.is_gzip(found.get(b"content-encoding", b"")) and transport is Transport.HTTP:
            body = connect.inflate(body, _BODY_BYTES_MAX)
        message = codec.decode(body, message_type)
    except WireError:
        return 0  # the server itself will say what is wrong with it
    return int(message.state.id if isinstance(message, pb.UpdateTaskRequest) else message.task_id)  # type: ignore[attr-defined]  # one of the two
