"""The Connect unary protocol on bytes and headers: content types, encodings, versions, deadlines, error bodies.

Knows no service and no socket; `transport.rpc` feeds it. The order of checks is that of the Go library real servers
use. Source: docs/protocol.md, "Transport".
"""

import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any, Final, NoReturn, Protocol, TypeVar

import orjson
from google.protobuf import json_format
from google.protobuf.message import DecodeError, Message
from google.protobuf.timestamp_pb2 import Timestamp

from actionswire.codes import Code
from actionswire.headers import CONNECT_PROTOCOL_VERSION, CONNECT_TIMEOUT_DIGITS_MAX, CONNECT_TIMEOUT_MS
from mockgitea.transport.dialect import WireError

M = TypeVar("M", bound=Message)

Headers = list[tuple[bytes, bytes]]

PROTO: Final = "application/proto"
JSON: Final = "application/json"
JSON_UTF8: Final = "application/json; charset=utf-8"
ACCEPTED: Final = (JSON, JSON_UTF8, PROTO)
ACCEPT_POST: Final = ", ".join(ACCEPTED).encode()

GZIP_LEVEL: Final = 1
"""Log text compresses as well at level 1 as at level 6, in half the time."""

GZIP_MEMBERS_MAX: Final = 1000
"""Most gzip streams in one body; every client sends one, and each costs time however little it holds."""
_GZIP_PIECE_BYTES: Final = 64 * 1024

VERSION_HEADER: Final = CONNECT_PROTOCOL_VERSION.encode()
TIMEOUT_HEADER: Final = CONNECT_TIMEOUT_MS.encode()
_TIME_S_MIN: Final = -62_135_596_800
_TIME_S_MAX: Final = 253_402_300_799
"""The years 1 to 9999, all that a time in JSON can say."""
_ACCEPTS_GZIP: Final = (b"accept-encoding", b"gzip")
_IS_GZIP: Final = (b"content-encoding", b"gzip")
_ERROR_TYPE: Final = (b"content-type", JSON.encode())
_PLAIN_TYPE: Final = (b"content-type", b"text/plain; charset=utf-8")
_SMALL_LENGTHS: Final = tuple((b"content-length", b"%d" % size) for size in range(256))
_NO_SNIFF: Final = (b"x-content-type-options", b"nosniff")


class Codec(Protocol):
    """How messages of one content type become bytes and back."""

    @property
    def content_type(self) -> str:
        """The canonical type; the answer repeats it."""

    @property
    def header(self) -> tuple[bytes, bytes]:
        """The content-type header of an answer."""

    def decode(self, body: bytes, message_type: type[M]) -> M:
        """Return the message in ``body``; raises `WireError` invalid_argument."""

    def encode(self, message: Message) -> bytes:
        """Return the body for ``message``."""


class ProtoCodec:
    """Binary protobuf; zero bytes are the all-default message."""

    content_type = PROTO
    header = (b"content-type", PROTO.encode())

    def decode(self, body: bytes, message_type: type[M]) -> M:
        """Parse binary protobuf."""
        try:
            return message_type.FromString(body)
        except DecodeError as error:
            raise WireError(Code.INVALID_ARGUMENT, f"unmarshal message: {error}") from error

    def encode(self, message: Message) -> bytes:
        """Return the binary form; the order of map entries is not fixed."""
        return message.SerializeToString()


class JsonCodec:
    """Canonical proto3 JSON; unknown keys are dropped, an empty body is refused."""

    def __init__(self, content_type: str) -> None:
        self.content_type = content_type
        self.header = (b"content-type", content_type.encode())

    def decode(self, body: bytes, message_type: type[M]) -> M:
        """Parse a JSON object."""
        if not body:
            raise WireError(Code.INVALID_ARGUMENT, "unmarshal message: zero-length payload is not a valid JSON object")
        try:
            content = json.loads(body, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
            return json_format.ParseDict(_object(content), message_type(), ignore_unknown_fields=True)
        except (json_format.ParseError, ValueError, RecursionError) as error:
            raise WireError(Code.INVALID_ARGUMENT, f"unmarshal message: {error}") from error

    def encode(self, message: Message) -> bytes:
        """Return lowerCamelCase JSON on one line."""
        return json_format.MessageToJson(message, indent=None, ensure_ascii=False).encode("utf-8", "replace")


def _object(content: Any) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise json_format.ParseError("unexpected token: a message is a JSON object")
    return content


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    for name in found:
        if not name.isascii():
            name.encode()  # half of a surrogate pair is a ValueError here; protobuf crashes on it as a name
    if len(found) != len(pairs):
        raise ValueError("duplicate field in a JSON object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_CODECS: Final[Mapping[str, Codec]] = {PROTO: ProtoCodec(), JSON: JsonCodec(JSON), JSON_UTF8: JsonCodec(JSON_UTF8)}
_BY_HEADER: Final[dict[bytes, Codec]] = {name.encode(): codec for name, codec in _CODECS.items()}


def codec_for(content_type: bytes) -> Codec | None:
    """Return the codec of a Content-Type header; None calls for 415. Case and spacing do not matter."""
    return _BY_HEADER.get(content_type) or _CODECS.get(_canonical(content_type))


def _canonical(content_type: bytes) -> str:
    base, *parameters = content_type.decode("latin-1").lower().split(";")
    cleaned = [part.strip().replace('"', "").replace(" ", "") for part in parameters]
    return "; ".join([base.strip(), *filter(None, cleaned)])


def is_gzip(encoding: bytes) -> bool:
    """Read a Content-Encoding header; raises `WireError` unimplemented for anything but gzip and identity."""
    if encoding in (b"", b"identity"):
        return False
    if encoding == b"gzip":
        return True
    named = encoding.decode("latin-1")
    raise WireError(Code.UNIMPLEMENTED, f'unknown compression "{named}": supported encodings are gzip')


def check_version(version: bytes) -> None:
    """Refuse any Connect-Protocol-Version but 1."""
    if version not in (b"1", b""):
        got = version.decode("latin-1")
        raise WireError(Code.INVALID_ARGUMENT, f'connect-protocol-version must be "1": got "{got}"')


def timeout_s(text: bytes) -> float | None:
    """Return the seconds of a Connect-Timeout-Ms header, None for an empty one; raises `WireError` invalid_argument."""
    if text == b"":
        return None
    if len(text) > CONNECT_TIMEOUT_DIGITS_MAX:
        got = text.decode("latin-1")
        raise WireError(
            Code.INVALID_ARGUMENT, f'parse timeout: "{got}" has more than {CONNECT_TIMEOUT_DIGITS_MAX} digits'
        )
    if not text.isdigit():
        raise WireError(Code.INVALID_ARGUMENT, f'parse timeout: "{text.decode("latin-1")}" is not decimal milliseconds')
    return int(text) / 1000.0


def accepts_gzip(accept: bytes) -> bool:
    """Read an Accept-Encoding header; ``gzip;q=0`` refuses."""
    if accept == b"gzip":
        return True
    for part in accept.lower().split(b","):
        name, _, weight = part.partition(b";")
        if name.strip() == b"gzip":
            return weight.replace(b" ", b"").rstrip(b"0") not in (b"q=", b"q=0.", b"q=.")
    return False


def inflate(body: bytes, limit: int) -> bytes:
    """Decompress gzip, never producing more than ``limit`` bytes.

    Raises:
        WireError: resource_exhausted over the limit, invalid_argument for anything that is not gzip.
    """
    whole = bytearray()
    rest = memoryview(body)
    members = 0
    while rest:
        stream = zlib.decompressobj(wbits=31)
        members += 1
        if members > GZIP_MEMBERS_MAX:
            raise WireError(Code.INVALID_ARGUMENT, f"decompress message: more than {GZIP_MEMBERS_MAX} gzip members")
        while not stream.eof:
            # In pieces, because what follows a member is copied each time.
            piece = rest[:_GZIP_PIECE_BYTES]
            if not piece:
                raise WireError(Code.INVALID_ARGUMENT, "decompress message: unexpected end of gzip data")
            try:
                whole += stream.decompress(piece, limit - len(whole) + 1)
            except zlib.error as error:
                raise WireError(Code.INVALID_ARGUMENT, f"decompress message: {error}") from error
            if len(whole) > limit:
                raise too_large(limit)
            rest = rest[len(piece) - len(stream.unused_data) :]
    return bytes(whole)


def too_large(limit: int) -> WireError:
    """Return the error for a body over the limit."""
    return WireError(
        Code.RESOURCE_EXHAUSTED,
        f"message is larger than body_bytes_max ({limit} bytes); send it in smaller parts or raise the setting",
    )


def success(
    codec: Codec, body: bytes, *, gzip_from: int | None, extra: tuple[tuple[bytes, bytes], ...] = ()
) -> tuple[Headers, bytes]:
    """Return headers and body of a 200.

    Args:
        codec: that of the request.
        body: the encoded message.
        gzip_from: compress from this size on, in bytes; None when the caller does not accept gzip.
        extra: headers of the method itself.
    """
    size = len(body)
    if gzip_from is None or size < gzip_from:
        return [codec.header, _ACCEPTS_GZIP, _length(size), *extra], body
    # No time stamp in the gzip header: equal answers stay equal on the wire.
    packed = gzip.compress(body, compresslevel=GZIP_LEVEL, mtime=0)
    return [codec.header, _ACCEPTS_GZIP, _IS_GZIP, _length(len(packed)), *extra], packed


def _length(size: int) -> tuple[bytes, bytes]:
    return _SMALL_LENGTHS[size] if size < len(_SMALL_LENGTHS) else (b"content-length", b"%d" % size)


def error_body(error: WireError) -> bytes:
    """Return the JSON error object; characters that cannot travel are replaced, never fatal."""
    text = error.message.encode("utf-8", "replace").decode("utf-8")
    return orjson.dumps({"code": error.code.value, "message": text})


def failure(error: WireError) -> tuple[int, Headers, bytes]:
    """Return status, headers and body of an error."""
    if error.is_plain_text:
        return plain_text(error.http_status, error.message)
    body = error_body(error)
    return error.http_status, [_ERROR_TYPE, _ACCEPTS_GZIP, _length(len(body))], body


def plain_text(status: int, text: str) -> tuple[int, Headers, bytes]:
    """Return an answer that no Connect client reads as an error object."""
    body = text.encode("utf-8", "replace") + b"\n"
    return status, [_PLAIN_TYPE, _NO_SNIFF, _length(len(body))], body


def method_not_allowed() -> tuple[int, Headers, bytes]:
    """Return the 405 for any verb but POST: no body, so no content type either."""
    return 405, [(b"allow", b"POST"), (b"content-length", b"0")], b""


def unsupported_type() -> tuple[int, Headers, bytes]:
    """Return the 415 that lists what is accepted."""
    return 415, [(b"accept-post", ACCEPT_POST), (b"content-length", b"0")], b""


def as_json(message: Message) -> dict[str, Any]:
    """Return a message as JSON-like values, for people who read the journal.

    Times that JSON cannot spell, which the binary form can carry, become the nearest that it can; ``message`` is
    changed then.
    """
    try:
        return json_format.MessageToDict(message)
    except (ValueError, json_format.Error):
        _clamp_times(message)
        return json_format.MessageToDict(message)


def _clamp_times(message: Message) -> None:
    if isinstance(message, Timestamp):
        message.seconds = min(max(message.seconds, _TIME_S_MIN), _TIME_S_MAX)
        message.nanos = min(max(message.nanos, 0), 999_999_999)
        return
    for field, value in message.ListFields():
        if field.message_type is not None and not field.message_type.GetOptions().map_entry:
            for inner in (value,) if isinstance(value, Message) else value:
                _clamp_times(inner)
