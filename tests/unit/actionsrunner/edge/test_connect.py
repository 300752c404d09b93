"""The Connect codec over a transport that answers from a list."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from actionsrunner.core.failures import Failure
from actionsrunner.edge.connect import CONTENT_TYPE, RpcError, call, request_headers
from actionsrunner.edge.transport import DeadlinePassed, RawAnswer, TransportError
from actionswire.codes import Code
from actionswire.gen.ping.v1 import ping_pb2

OK = {"content-type": CONTENT_TYPE}
JSON = {"content-type": "application/json"}


class Canned:
    """A transport with one answer."""

    def __init__(self, answer: RawAnswer | Exception) -> None:
        self.answer = answer

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def close(self) -> None:
        pass


def ping(answer: RawAnswer | Exception) -> str:
    request = ping_pb2.PingRequest(data="r1")
    coroutine = call(Canned(answer), "/a/Ping", request, ping_pb2.PingResponse(), headers={}, limit_s=1)
    return asyncio.run(coroutine)[0].data


def refused(answer: RawAnswer | Exception) -> RpcError:
    with pytest.raises(RpcError) as caught:
        ping(answer)
    return caught.value


def test_answer_is_decoded() -> None:
    assert ping(RawAnswer(200, OK, bytes.fromhex("0a0a48656c6c6f2c20723121"))) == "Hello, r1!"
    assert ping(RawAnswer(200, OK, b"")) == ""


@pytest.mark.parametrize(
    ("content_type", "code"),
    [
        ("application/proto; charset=utf-8", Code.INTERNAL),
        ("Application/Proto", Code.UNKNOWN),
        ("application/json", Code.INTERNAL),
        ("text/html", Code.UNKNOWN),
        ("", Code.UNKNOWN),
    ],
)
def test_any_other_content_type_is_an_error(content_type: str, code: Code) -> None:
    assert refused(RawAnswer(200, {"content-type": content_type}, b"")).code is code


@pytest.mark.parametrize("status", [201, 204, 301, 302, 404, 500])
def test_any_other_status_is_an_error(status: int) -> None:
    assert refused(RawAnswer(status, OK, b"")).method == "Ping"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, Code.INTERNAL),
        (401, Code.UNAUTHENTICATED),
        (403, Code.PERMISSION_DENIED),
        (404, Code.UNIMPLEMENTED),
        (429, Code.UNAVAILABLE),
        (502, Code.UNAVAILABLE),
        (503, Code.UNAVAILABLE),
        (504, Code.UNAVAILABLE),
        (500, Code.UNKNOWN),
        (418, Code.UNKNOWN),
    ],
)
@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"code": "no_such_code"}', b'{"code": 5}'])
def test_status_tells_the_code_when_the_body_does_not(status: int, code: Code, body: bytes) -> None:
    assert refused(RawAnswer(status, JSON, body)).code is code
    assert refused(RawAnswer(status, {"content-type": "text/plain"}, body)).code is code


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8"])
def test_code_in_the_body_wins_over_the_status(content_type: str) -> None:
    body = json.dumps({"code": "unauthenticated", "message": "unregistered runner"}).encode()
    error = refused(RawAnswer(500, {"content-type": content_type}, body))
    assert (error.code, error.message, error.failure) == (
        Code.UNAUTHENTICATED, "unregistered runner", Failure.UNREGISTERED,
    )  # fmt: skip


def test_undecodable_answer_is_invalid_argument_and_worth_a_retry() -> None:
    error = refused(RawAnswer(200, OK, b"\xff\xff"))
    assert (error.code, error.failure) == (Code.INVALID_ARGUMENT, Failure.RETRY)


def test_own_deadline_is_not_the_servers() -> None:
    assert refused(DeadlinePassed("5 s")).failure is Failure.DEADLINE
    body = json.dumps({"code": "deadline_exceeded"}).encode()
    assert refused(RawAnswer(504, JSON, body)).failure is Failure.RETRY


def test_missing_answer_is_unavailable() -> None:
    error = refused(TransportError("refused"))
    assert (error.code, error.failure) == (Code.UNAVAILABLE, Failure.RETRY)


@pytest.mark.parametrize(("seconds", "text"), [(5.0, "5000"), (0.0001, "1"), (9_999_999.999, "9999999999")])
def test_deadline_is_announced_in_milliseconds(seconds: float, text: str) -> None:
    assert request_headers({}, announce_s=seconds)["connect-timeout-ms"] == text


@pytest.mark.parametrize("seconds", [None, 10_000_000.0])
def test_deadline_that_has_no_form_is_not_announced(seconds: float | None) -> None:
    assert "connect-timeout-ms" not in request_headers({}, announce_s=seconds)
