"""The pool of idle connections over real sockets: how many survive a burst, and how many have to be opened again."""

import asyncio

import pytest

from actionsrunner.edge.transport import HttpxTransport
from actionsrunner.strategies import pool_limits

BURST = 6


class CountingServer:
    """Answers every POST once a whole burst is waiting, so that each call of it needs its own connection."""

    def __init__(self) -> None:
        self.opened = 0
        self._gate = asyncio.Barrier(BURST)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.opened += 1
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                await self._gate.wait()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def opened_after_bursts(pool: str, bursts: int) -> int:
    counting = CountingServer()
    async with await asyncio.start_server(counting.serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        transport = HttpxTransport(f"http://127.0.0.1:{port}", pool=pool_limits(pool))
        try:
            for _ in range(bursts):
                await asyncio.gather(*(transport.send("POST", "/", {}, b"", 10) for _ in range(BURST)))
        finally:
            await transport.close()
    return counting.opened


@pytest.mark.parametrize(("pool", "opened"), [("tuned", BURST), ("two-idle", BURST + 2 * (BURST - 2))])
def test_bursts_reopen_the_connections_that_were_not_kept(pool: str, opened: int) -> None:
    assert asyncio.run(opened_after_bursts(pool, 3)) == opened
