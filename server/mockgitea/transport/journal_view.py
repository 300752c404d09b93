"""Journal entries for people and programs: bodies decoded on reading, tokens and secrets masked.

Masking works on decoded messages, so a body that cannot be decoded is described by its size only.
Source: docs/metrics.md, "Journal".
"""

from collections.abc import Callable
from typing import Any, Final

from google.protobuf.message import Message

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry
from mockgitea.transport import connect
from mockgitea.transport.dialect import WireError
from mockgitea.transport.methods import PROCEDURES, Procedure
from mockgitea.transport.times import precise

MASK: Final = "***"
_ANSWERED: Final = (Outcome.OK, Outcome.EMPTY, Outcome.TASK)
_BY_METHOD: Final = {procedure.method: procedure for procedure in PROCEDURES}
_SECRET_CONTEXT: Final = ("token", "secret", "password")
_SECRET_HEADERS: Final = (*_SECRET_CONTEXT, "authorization", "cookie")


def view(entry: Entry) -> dict[str, Any]:
    """Return one entry as JSON-like values.

    Returns:
        ``request`` and ``response`` are the decoded messages in canonical JSON, or None where there is nothing to
        decode (refused before the body was read, never answered, cut, or no RPC); ``duration_s`` is None while the
        call is open. ``opened_s`` is monotonic, for differences only. ``closed_after`` is the number of the newest
        call that had begun when this one closed, 0 while it is open.
    """
    return {
        "number": entry.number,
        "at": precise(entry.at_us),
        "transport": entry.transport,
        "verb": entry.verb,
        "path": entry.path,
        "method": entry.method.value,
        "runner_uuid": entry.runner_uuid,
        "outcome": entry.outcome.value,
        "status": entry.status,
        "code": str(entry.code),
        "fault": entry.fault,
        "duration_s": None if entry.outcome is Outcome.OPEN else round(entry.duration_s, 6),
        "content_type": entry.content_type,
        "request_bytes": entry.request_bytes or len(entry.request),
        "response_bytes": entry.response_bytes or len(entry.response),
        "is_cut": entry.is_cut,
        "peer": entry.peer,
        "headers": dict(map(_header, entry.headers)),
        "opened_s": round(entry.opened_s, 6),
        "closed_after": entry.closed_after,
        "request": _decoded(entry, entry.request, lambda procedure: procedure.request_type),
        "response": _response(entry),
    }


def _response(entry: Entry) -> dict[str, Any] | None:
    if entry.status not in (0, 200):
        return _error(entry)
    if not entry.response and entry.outcome not in _ANSWERED:
        return None  # no bytes would read as a message of zeros, such as an ack of no row
    return _decoded(entry, entry.response, lambda procedure: procedure.response_type)


def _header(field: tuple[bytes, bytes]) -> tuple[str, str]:
    name = field[0].decode("latin-1").lower()
    is_secret = any(word in name for word in _SECRET_HEADERS)
    return name, MASK if is_secret else field[1].decode("latin-1")


def _decoded(entry: Entry, body: bytes, type_of: Callable[[Procedure], type[Message]]) -> dict[str, Any] | None:
    procedure = _BY_METHOD.get(entry.method)
    codec = connect.codec_for(entry.content_type.encode("latin-1")) if entry.content_type else None
    if procedure is None or codec is None or entry.is_cut or entry.outcome is Outcome.OPEN:
        return None
    try:
        message = codec.decode(body, type_of(procedure))
    except WireError:
        return None
    _mask(message)
    return connect.as_json(message)


def _error(entry: Entry) -> dict[str, Any] | None:
    if entry.method is Method.UNKNOWN_RPC or not entry.code:
        return None
    return {"code": str(entry.code), "status": entry.status}


def _mask(message: Message) -> None:
    if isinstance(message, pb.RegisterRequest):
        message.token = MASK if message.token else ""
    elif isinstance(message, pb.RegisterResponse):
        message.runner.token = MASK if message.runner.token else ""
    elif isinstance(message, pb.FetchTaskResponse):
        for task in (message.task, *message.additional_tasks):
            _mask_task(task)
    elif isinstance(message, pb.FetchSingleTaskResponse):
        _mask_task(message.task)


def _mask_task(task: pb.Task) -> None:
    for name in list(task.secrets):
        task.secrets[name] = MASK
    for key in list(task.context):
        if any(word in key.lower() for word in _SECRET_CONTEXT):
            task.context[key] = MASK
