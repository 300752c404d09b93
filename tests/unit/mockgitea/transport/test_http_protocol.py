import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import respond
from mockgitea.transport.http_protocol import HEAD_BYTES_MAX, IGNORED_BYTES_MAX, LimitedProtocol
from mockgitea.transport.listeners import Listener, bind

WITHIN_S = 20.0
PIECE = b"y" * 65536


async def at_once(scope: Any, receive: Any, send: Any) -> None:
    await respond(send, 200, [(b"content-length", b"2")], b"ok")


def with_listener(body: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> None:
    async def scenario() -> None:
        supervisor = Supervisor()
        listener = Listener(at_once, bind("127.0.0.1", 0, setting="port"))
        await listener.start(supervisor)
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port)
        try:
            async with asyncio.timeout(WITHIN_S):
                await body(reader, writer)
        finally:
            writer.close()
            await listener.close()
            await supervisor.close()

    asyncio.run(scenario())


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, limit: int) -> int:
    """Send pieces until the server closes; returns how many bytes that took."""
    sent = 0
    closed = asyncio.ensure_future(reader.read())
    try:
        while not closed.done() and sent < limit:
            writer.write(PIECE)
            sent += len(PIECE)
            await writer.drain()
            await asyncio.sleep(0)
        await closed
    except ConnectionError:
        closed.cancel()
    return sent


def test_a_head_without_end_is_refused_with_431() -> None:
    async def body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: ")
        for _ in range(HEAD_BYTES_MAX // len(PIECE)):
            writer.write(PIECE)
        assert (await reader.read()).startswith(b"HTTP/1.1 431 ")

    with_listener(body)


class Hasty(LimitedProtocol):
    head_read_s = 0.05


@pytest.mark.parametrize("begun", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: x\r\n", b"\r\n"])
def test_a_head_that_takes_too_long_is_refused_or_closed(begun: bytes) -> None:
    async def scenario() -> None:
        config = uvicorn.Config(at_once, lifespan="off", ws="none", log_config=None, timeout_keep_alive=1)
        config.load()
        state = ServerState()
        server = await asyncio.get_running_loop().create_server(lambda: Hasty(config, state, {}), "127.0.0.1", 0)
        async with server, asyncio.timeout(WITHIN_S):
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(begun)
            answer = await reader.read()
            writer.close()
        assert answer.startswith(b"HTTP/1.1 408 ") if begun else answer == b""

    asyncio.run(scenario())


def test_a_body_that_nobody_wants_is_cut_off() -> None:
    async def body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        assert await reader.readuntil(b"ok")
        assert await pour(reader, writer, 200 * IGNORED_BYTES_MAX) < 200 * IGNORED_BYTES_MAX

    with_listener(body)


def test_many_requests_on_one_connection_pass_however_much_they_send() -> None:
    async def body(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = b"POST / HTTP/1.1\r\nHost: x\r\nX-Fill: " + b"f" * 20_000 + b"\r\nContent-Length: 60000\r\n\r\n"
        for _ in range(2 * HEAD_BYTES_MAX // len(head)):
            writer.write(head[:10_000])
            await writer.drain()
            writer.write(head[10_000:] + b"b" * 60_000)
            assert await reader.readuntil(b"\r\n\r\nok")

    with_listener(body)
