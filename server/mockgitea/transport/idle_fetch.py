"""The short way for the call a server gets most: FetchTask that brings the current version and so learns nothing new.

The same steps as `transport.rpc` in one frame, without the objects that other calls need; whatever is not plainly such
a poll goes the long way, which alone knows how to refuse. A poll this way leaves the same answer, journal entry and
counters behind. Source: docs/protocol.md, "FetchTask".
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from actionswire import headers as names
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.errors import NotRegistered
from mockgitea.core.journal import Entry
from mockgitea.transport import connect
from mockgitea.transport.asgi import Event, Receive, Scope, Send

if TYPE_CHECKING:
    from mockgitea.service.container import Services

Rpc = Callable[[Scope, Receive, Send, Entry], Awaitable[None]]

PATH: Final = f"{names.MOUNT_PREFIX}/{names.RUNNER_SERVICE}/{names.FETCH_TASK}"
BODY_BYTES_MAX: Final = 256
"""Below the least `body_bytes_max`; a FetchTask has a tenth of it."""
_TYPE: Final = connect.PROTO.encode()
_VERSIONS: Final = (b"1", None)
_UUID: Final = names.RUNNER_UUID.encode()
_TOKEN: Final = names.RUNNER_TOKEN.encode()
_REQUEST_KEY: Final = names.REQUEST_KEY.encode()
# Bound once: reading a member off its enum class costs as much as a line here.
_FETCH_TASK: Final = Method.FETCH_TASK
_EMPTY: Final = Outcome.EMPTY


class IdleFetch:
    """Handler of the RPC prefix that answers idle polls itself.

    Args:
        rpc: the long way.
        services: whose directory and dispatch are asked.
        now_s: monotonic seconds, the same source that stamps `Entry.opened_s`.
    """

    def __init__(self, rpc: Rpc, services: "Services", *, now_s: Callable[[], float]) -> None:
        self._rpc = rpc
        self._authenticate = services.directory.authenticate
        self._seen = services.directory.seen
        self._has_nothing_new = services.dispatch.has_nothing_new
        self._heeds_keys = services.profile.request_key
        self._now_s = now_s
        self._version = 0
        """The one that `_answer` answers: between two bumps every poll of a scope gets the same."""
        self._answer: tuple[connect.Headers, bytes] = ([], b"")

    def __call__(self, scope: Scope, receive: Receive, send: Send, entry: Entry) -> Awaitable[None]:
        """Answer one request and leave its outcome in ``entry``; see `RunnerRpc`."""
        if scope["path"] != PATH or scope["method"] != "POST":
            return self._rpc(scope, receive, send, entry)
        fields: dict[bytes, bytes] = dict(scope["headers"])
        is_plain = (
            fields.get(b"content-type") == _TYPE
            and len(fields) == len(scope["headers"])  # repeated ones have rules of their own
            and fields.get(connect.VERSION_HEADER) in _VERSIONS
            and b"content-encoding" not in fields
            and not (self._heeds_keys and _REQUEST_KEY in fields)
        )
        if not is_plain:
            return self._rpc(scope, receive, send, entry)
        return self._fetch(fields, scope, receive, send, entry)

    async def _fetch(  # noqa: PLR0913,RUF100 - ASGI's three, and what was read already
        self, fields: dict[bytes, bytes], scope: Scope, receive: Receive, send: Send, entry: Entry
    ) -> None:
        event = await receive()
        answer = self._idle(fields, event, entry)
        if answer is None:
            await self._rpc(scope, _again(event, receive), send, entry)
            return
        headers, body = answer
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})
        entry.outcome = _EMPTY

    def _idle(self, fields: dict[bytes, bytes], event: Event, entry: Entry) -> tuple[connect.Headers, bytes] | None:
        """Fill in the entry and return the answer; None, and nothing is done, when this is no idle poll."""
        body: bytes = event.get("body", b"")
        if event.get("more_body") or event["type"] != "http.request" or len(body) > BODY_BYTES_MAX:
            return None
        uuid = fields.get(_UUID)
        token = fields.get(_TOKEN)
        if uuid is None or token is None:
            return None
        try:
            version = pb.FetchTaskRequest.FromString(body).tasks_version
            record = self._authenticate(uuid.decode("latin-1"), token.decode("latin-1"))
        except (DecodeError, NotRegistered):
            return None
        if not self._has_nothing_new(record, version) or self._is_late(fields.get(connect.TIMEOUT_HEADER), entry):
            return None
        self._seen(record, active=False, now_us=entry.at_us)
        if version != self._version:
            self._version, self._answer = version, _encoded(version)
        entry.method = _FETCH_TASK
        entry.content_type = connect.PROTO
        entry.runner_uuid = record.uuid
        entry.request = body
        entry.response = self._answer[1]
        entry.status = 200
        return self._answer

    def _is_late(self, timeout: bytes | None, entry: Entry) -> bool:
        """Tell whether the caller's time-out is over, or is none that can be read."""
        if timeout is None:
            return False
        is_number = timeout.isdigit() and len(timeout) <= names.CONNECT_TIMEOUT_DIGITS_MAX
        return not is_number or self._now_s() >= entry.opened_s + int(timeout) / 1000.0


def _encoded(version: int) -> tuple[connect.Headers, bytes]:
    raw = pb.FetchTaskResponse(tasks_version=version).SerializeToString()
    # Far below the size from which answers are compressed.
    return connect.success(connect.ProtoCodec(), raw, gzip_from=None)


def _again(event: Event, receive: Receive) -> Receive:
    """Return a `receive` that gives ``event`` once more before what follows it."""
    first: list[Event] = [event]

    async def receive_again() -> Event:
        return first.pop() if first else await receive()

    return receive_again
