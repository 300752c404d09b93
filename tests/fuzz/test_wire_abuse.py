"""Clients that break the rules below HTTP: half requests, bombs, slow bodies, lost peers, thousands of idle sockets."""

import contextlib
import gzip
import resource
import socket
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzzserver import FuzzServer, fuzz_server
from rawhttp import Connection, Reply
from serverproc import BASE, PING_SERVICE, PROTO, RUNNER_SERVICE

PING = f"{BASE}/{PING_SERVICE}/Ping"
UPDATE_LOG = f"{BASE}/{RUNNER_SERVICE}/UpdateLog"
MIB = 1024 * 1024
BODY_READ_S = "1"


@pytest.fixture(scope="module")
def server() -> Iterator[FuzzServer]:
    """A server that waits for a body for one second only."""
    with fuzz_server("gitea-1.27", "--body-read-s", BODY_READ_S) as started:
        yield started
        started.check()


def dial(server: FuzzServer) -> socket.socket:
    """Open a socket to the runner port."""
    return socket.create_connection((server.process.host, server.process.port), timeout=20)


def head(path: str, *lines: str) -> bytes:
    """The head of a POST."""
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: mock", *lines, "", ""]).encode("latin-1")


@given(noise=st.binary(max_size=300), prefix=st.sampled_from([b"", b"POST ", b"GET / HTTP/1.1\r\n", b"\x16\x03\x01"]))
def test_noise_on_a_socket_leaves_the_server_well(server: FuzzServer, noise: bytes, prefix: bytes) -> None:
    with dial(server) as link, contextlib.suppress(ConnectionError):
        link.sendall(prefix + noise)
        link.shutdown(socket.SHUT_WR)
        while link.recv(65536):
            pass


@given(cut=st.integers(0, 260), port=st.sampled_from(["runner", "control"]))
def test_a_request_cut_anywhere_leaves_the_server_well(server: FuzzServer, cut: int, port: str) -> None:
    host, number = server.process.host, server.process.port
    if port == "control":
        host, number = server.process.control_host, server.process.control_port
    whole = head(UPDATE_LOG, "Content-Type: application/proto", "Content-Length: 4096") + b"\x08\x01" * 100
    with socket.create_connection((host, number), timeout=20) as link:
        link.sendall(whole[:cut])


@pytest.mark.parametrize("layers", [1, 2])
def test_a_gzip_bomb_is_refused_without_being_unpacked(server: FuzzServer, layers: int) -> None:
    bomb = gzip.compress(bytes(200 * MIB), compresslevel=9)
    for _ in range(layers - 1):
        bomb = gzip.compress(bomb)
    reply = server.mock.http("POST", UPDATE_LOG, [PROTO, ("Content-Encoding", "gzip"), *server.runner.headers], bomb)
    assert reply.status in {400, 429}
    assert b"internal error" not in reply.body


def test_many_gzip_members_of_nothing_are_refused_or_read_quickly(server: FuzzServer) -> None:
    members = gzip.compress(b"") * 80_000
    began = time.monotonic()
    reply = server.mock.http("POST", PING, [PROTO, ("Content-Encoding", "gzip")], members)
    assert reply.status in {200, 400, 429}
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("chunked", [False, True])
def test_an_oversized_body_is_refused(server: FuzzServer, chunked: bool) -> None:
    body = b"x" * (3 * MIB)
    with server.mock.connect() as connection, contextlib.suppress(ConnectionError):
        connection.send(
            "POST", PING, [PROTO], [body[at : at + 65536] for at in range(0, len(body), 65536)] if chunked else body
        )
        assert connection.receive().status == 429


def test_a_body_that_never_comes_is_answered_after_the_limit(server: FuzzServer) -> None:
    with dial(server) as link:
        link.sendall(head(PING, "Content-Type: application/proto", "Content-Length: 100") + b"\n")
        answer = link.recv(65536)
    assert b"body_read_s" in answer or b"504" in answer.split(b"\r\n")[0], answer


def test_a_trickled_body_is_answered_after_the_limit(server: FuzzServer) -> None:
    with dial(server) as link:
        link.sendall(head(PING, "Content-Type: application/proto", "Content-Length: 1000"))
        link.settimeout(0.1)
        answer = b""
        for _ in range(100):
            with contextlib.suppress(TimeoutError, ConnectionError):
                link.sendall(b"\n")
                answer = link.recv(65536)
                break
    assert b"504" in answer.split(b"\r\n")[0], answer


def test_an_endless_header_is_cut_off(server: FuzzServer) -> None:
    sent = 0
    with dial(server) as link, contextlib.suppress(ConnectionError, TimeoutError):
        link.sendall(b"GET /version HTTP/1.1\r\nHost: mock\r\nX-Long: ")
        link.settimeout(5)
        while sent < 64 * MIB:
            link.sendall(b"y" * 65536)
            sent += 65536
    assert sent < 16 * MIB, f"the server read a head of {sent} bytes"


def test_peers_that_vanish_in_the_middle_are_counted_and_forgotten(server: FuzzServer) -> None:
    for number in range(300):
        link = dial(server)
        link.sendall(head(UPDATE_LOG, "Content-Type: application/proto", "Content-Length: 4096") + b"\x08\x01")
        if number % 2:
            link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        link.close()


def test_half_closed_peers_still_get_their_answer(server: FuzzServer) -> None:
    with dial(server) as link:
        link.sendall(head(PING, "Content-Type: application/proto", "Content-Length: 0", "Connection: close"))
        link.shutdown(socket.SHUT_WR)
        answer = b""
        while part := link.recv(65536):
            answer += part
    assert answer.startswith(b"HTTP/1.1 200") or answer == b"", answer


def test_idle_connections_by_the_thousand_do_not_keep_others_out(server: FuzzServer) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 1500
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 200)), hard))
    try:
        idle = [dial(server) for _ in range(min(wanted, min(hard, max(soft, wanted + 200)) - 200))]
        for link in idle[::3]:
            link.sendall(b"POST " + PING.encode() + b" HTTP/1.1\r\nHost: m")  # a third of them says something, slowly
        began = time.monotonic()
        assert server.mock.ping("me") == "Hello, me!"
        assert time.monotonic() - began < 5
        for link in idle:
            link.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_pipelined_requests_are_answered_in_order(server: FuzzServer) -> None:
    with server.mock.connect() as connection:
        for text in (b"a", b"b", b"c"):
            connection.send("POST", PING, [PROTO], b"\n\x01" + text)
        replies: list[Reply] = [connection.receive() for _ in range(3)]
    assert [reply.body for reply in replies] == [b"\n\x09Hello, %b!" % text for text in (b"a", b"b", b"c")]


@pytest.mark.parametrize(
    "lines",
    [
        ["Content-Length: 5", "Content-Length: 6"],
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Content-Length: -1"],
        ["Content-Length: 99999999999999999999999"],
        ["Content-Length: 0x10"],
        ["Transfer-Encoding: chunked, identity"],
        ["X-Bad\0Name: 1", "Content-Length: 0"],
        ["Content-Type: application/proto\rX-Injected: 1", "Content-Length: 0"],
    ],
)
def test_contradicting_heads_are_refused(server: FuzzServer, lines: list[str]) -> None:
    with Connection(server.process.host, server.process.port) as connection:
        connection.socket.sendall(head(PING, "Content-Type: application/proto", *lines) + b"0\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            reply = connection.receive()
            assert 200 <= reply.status < 500, reply
            assert reply.header("x-injected") is None
