"""The parts of the transport that need no socket."""

import asyncio
import gzip
from collections.abc import AsyncIterator

import pytest

from actionsrunner.edge import transport
from actionsrunner.edge.transport import TransportError


async def chunks(*parts: bytes) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


def read(encoding: str, *parts: bytes) -> bytes:
    return asyncio.run(transport._read(chunks(*parts), encoding))


def test_plain_and_gzip_bodies_are_read() -> None:
    packed = gzip.compress(b"hello")
    assert read("", b"he", b"llo") == read("identity", b"hello") == read("gzip", packed[:5], packed[5:]) == b"hello"
    assert read("gzip") == b""


def test_unknown_encoding_is_refused() -> None:
    with pytest.raises(TransportError, match="br"):
        read("br", b"x")


@pytest.mark.parametrize("body", [b"plain", gzip.compress(b"x" * 1000, mtime=0)[:-10]])
def test_broken_gzip_is_refused(body: bytes) -> None:
    with pytest.raises(TransportError, match="gzip"):
        read("gzip", body)


def test_bodies_are_bounded_before_and_after_decompression() -> None:
    half = b"\0" * (transport.RESPONSE_BYTES_MAX // 2 + 1)
    with pytest.raises(TransportError, match="larger"):
        read("", half, half)
    with pytest.raises(TransportError, match="larger"):
        read("gzip", gzip.compress(half + half, compresslevel=1))


@pytest.mark.parametrize(
    ("host", "expected"),
    [("localhost", True), ("127.0.0.2", True), ("::1", True), ("a.localhost", True), ("10.0.0.1", False), ("x", False)],
)
def test_loopback_hosts_are_never_proxied(host: str, expected: bool) -> None:
    assert transport._is_loopback(host) is expected
