import gzip
import json
import random

import pytest

from actionswire.codes import HTTP_STATUS, Code
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.transport import connect
from mockgitea.transport.dialect import WireError


@pytest.mark.parametrize(
    ("header", "answered"),
    [
        (b"application/proto", "application/proto"),
        (b"Application/Proto", "application/proto"),
        (b"application/json", "application/json"),
        (b"application/json; charset=utf-8", "application/json; charset=utf-8"),
        (b'application/json;charset="UTF-8"', "application/json; charset=utf-8"),
    ],
)
def test_codec_for_known_types_repeats_the_canonical_type(header: bytes, answered: str) -> None:
    codec = connect.codec_for(header)
    assert codec is not None
    assert codec.content_type == answered


@pytest.mark.parametrize(
    "header", [b"", b"text/plain", b"application/grpc", b"application/proto; x=1", b"application/json; charset=latin1"]
)
def test_codec_for_anything_else_is_none(header: bytes) -> None:
    assert connect.codec_for(header) is None


@pytest.mark.parametrize(("encoding", "expected"), [(b"", False), (b"identity", False), (b"gzip", True)])
def test_is_gzip_of_a_known_encoding_tells(encoding: bytes, expected: bool) -> None:
    assert connect.is_gzip(encoding) is expected


def test_is_gzip_of_an_unknown_encoding_is_unimplemented_and_names_what_is_known() -> None:
    with pytest.raises(WireError, match=r'"br".*gzip') as caught:
        connect.is_gzip(b"br")
    assert caught.value.code is Code.UNIMPLEMENTED
    assert caught.value.http_status == 501


@pytest.mark.parametrize(("text", "seconds"), [(b"0", 0.0), (b"5000", 5.0), (b"9999999999", 9999999.999)])
def test_timeout_in_decimal_milliseconds_is_read(text: bytes, seconds: float) -> None:
    assert connect.timeout_s(text) == seconds


@pytest.mark.parametrize("text", [b"12345678901", b"-1", b"+1", b"1.5", b"1s", b" 1", b"\xb2"])
def test_timeout_in_any_other_form_is_invalid(text: bytes) -> None:
    with pytest.raises(WireError) as caught:
        connect.timeout_s(text)
    assert caught.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize(
    ("accept", "accepts"),
    [
        (b"gzip", True), (b"br, gzip", True), (b"GZIP", True), (b"gzip;q=0.5", True), (b"deflate,gzip ; q=1", True),
        (b"gzip;q=0", False), (b"gzip; q=0.000", False), (b"br", False), (b"identity", False), (b"", False),
    ],
)  # fmt: skip
def test_accepts_gzip_reads_names_and_weights(accept: bytes, accepts: bool) -> None:
    assert connect.accepts_gzip(accept) is accepts


def test_inflate_stops_at_the_limit_of_a_bomb() -> None:
    with pytest.raises(WireError, match="body_bytes_max") as caught:
        connect.inflate(gzip.compress(b"\0" * 1_000_000, mtime=0), 1000)
    assert caught.value.code is Code.RESOURCE_EXHAUSTED


def test_inflate_of_exactly_the_limit_passes() -> None:
    assert connect.inflate(gzip.compress(b"x" * 1000, mtime=0), 1000) == b"x" * 1000


def test_inflate_takes_time_for_what_a_body_holds_and_not_for_its_square() -> None:
    empty = gzip.compress(b"", mtime=0)
    with pytest.raises(WireError, match="more than 1000 gzip members"):
        connect.inflate(empty * 1_000_000, 1000)
    rest = gzip.compress(random.Random(1).randbytes(2_000_000), mtime=0)
    assert len(connect.inflate(empty * 900 + rest, 2_000_000)) == 2_000_000


def test_inflate_joins_members() -> None:
    assert connect.inflate(gzip.compress(b"a", mtime=0) + gzip.compress(b"b", mtime=0), 10) == b"ab"


@pytest.mark.parametrize("body", [b"x", gzip.compress(b"abc", mtime=0)[:-1], gzip.compress(b"abc", mtime=0) + b"tail"])
def test_inflate_of_broken_gzip_is_invalid(body: bytes) -> None:
    with pytest.raises(WireError) as caught:
        connect.inflate(body, 1000)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_proto_codec_reads_zero_bytes_as_the_default_message() -> None:
    codec = connect.codec_for(b"application/proto")
    assert codec is not None
    request = codec.decode(b"", pb.FetchTaskRequest)
    assert request == pb.FetchTaskRequest()


@pytest.mark.parametrize("body", [b"\xff", b"\x0a\x05ab", b"\x0a\x02\xff\xfe"])
def test_proto_codec_of_a_broken_body_is_invalid(body: bytes) -> None:
    codec = connect.codec_for(b"application/proto")
    assert codec is not None
    with pytest.raises(WireError) as caught:
        codec.decode(body, pb.RegisterRequest)
    assert caught.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("body", [b'{"tasksVersion":"5"}', b'{"tasks_version":5}', b'{"tasksVersion":"5","new":[1]}'])
def test_json_codec_reads_both_spellings_and_drops_unknown_keys(body: bytes) -> None:
    codec = connect.codec_for(b"application/json")
    assert codec is not None
    request = codec.decode(body, pb.FetchTaskRequest)
    assert request.tasks_version == 5


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"tasksVersion":"x"}', b"\xff\xfe", b"[" * 100_000])
def test_json_codec_of_a_broken_body_is_invalid(body: bytes) -> None:
    codec = connect.codec_for(b"application/json")
    assert codec is not None
    with pytest.raises(WireError) as caught:
        codec.decode(body, pb.FetchTaskRequest)
    assert caught.value.code is Code.INVALID_ARGUMENT


@pytest.mark.parametrize("body", [rb'{"\ud800": 1}', rb'{"state": {"\udfff": 1}}', rb'{"outputs": {"\ud800": "x"}}'])
def test_json_codec_refuses_names_that_are_no_unicode(body: bytes) -> None:
    codec = connect.codec_for(b"application/json")
    assert codec is not None
    with pytest.raises(WireError) as caught:
        codec.decode(body, pb.UpdateTaskRequest)
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_json_codec_writes_canonical_names_and_int64_as_text() -> None:
    codec = connect.codec_for(b"application/json")
    assert codec is not None
    assert json.loads(codec.encode(pb.FetchTaskResponse(tasks_version=1))) == {"tasksVersion": "1"}


def test_success_compresses_from_the_given_size_on_only() -> None:
    codec = connect.codec_for(b"application/proto")
    assert codec is not None
    small = connect.success(codec, b"x" * 1023, gzip_from=1024)
    large = connect.success(codec, b"x" * 1024, gzip_from=1024)
    never = connect.success(codec, b"x" * 1024, gzip_from=None)
    assert (b"content-encoding", b"gzip") not in small[0]
    assert (b"content-encoding", b"gzip") in large[0]
    assert gzip.decompress(large[1]) == b"x" * 1024
    assert never[1] == b"x" * 1024
    for headers, body in (small, large, never):
        assert dict(headers)[b"content-length"] == str(len(body)).encode()
        assert dict(headers)[b"accept-encoding"] == b"gzip"


@pytest.mark.parametrize("code", list(Code))
def test_failure_has_the_status_of_its_code_and_a_json_body(code: Code) -> None:
    status, headers, body = connect.failure(WireError(code, 'a "quoted" \udcff text'))
    assert status == HTTP_STATUS[code]
    assert dict(headers)[b"content-type"] == b"application/json"
    assert json.loads(body) == {"code": code.value, "message": 'a "quoted" ? text'}


def test_answers_without_body_carry_no_content_type() -> None:
    for status, headers, body in (connect.method_not_allowed(), connect.unsupported_type()):
        assert status in (405, 415)
        assert body == b""
        assert b"content-type" not in dict(headers)
    assert dict(connect.method_not_allowed()[1])[b"allow"] == b"POST"
    accepted = dict(connect.unsupported_type()[1])[b"accept-post"]
    assert accepted == b"application/json, application/json; charset=utf-8, application/proto"
