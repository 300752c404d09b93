"""The runner's `Transport` as a direct call into the server's ASGI application, behind the network model.

Every request passes admission, codec and service exactly as over a socket; only the bytes between them are not
written. A caller that gives up cancels the call on the server at its next wait, as a closed connection would.
"""

import asyncio
import zlib
from collections.abc import Mapping
from typing import Final

from actionsrunner.embedding import DeadlinePassed, RawAnswer, TransportError
from mockgitea.lab.network import ConnectionRefused, ConnectionReset, Network, Pool
from mockgitea.transport.asgi import App, Event

_GZIP_WBITS: Final = 31
_DOWN: Final = RawAnswer(503, {"content-type": "text/plain; charset=utf-8"}, b"service unavailable\n")


class AsgiTransport:
    """One runner's way to the server.

    Args:
        app: the runner port's application, admission included.
        network: the model between the two.
        pool: this runner's connections.
    """

    def __init__(self, app: App, network: Network, pool: Pool) -> None:
        self._app = app
        self._network = network
        self._pool = pool

    async def post(self, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        """Send ``body`` and return the whole answer; see the runner's `Transport.post`."""
        self._network.attempted(path)
        try:
            async with asyncio.timeout(deadline_s):
                return await self._exchange(path, headers, body)
        except TimeoutError as error:
            raise DeadlinePassed(f"no answer within {deadline_s:g} s") from error
        except ConnectionRefused as error:
            raise TransportError("connection refused") from error
        except ConnectionReset as error:
            raise TransportError("connection reset by peer") from error

    async def close(self) -> None:
        """Do nothing: a connection of the model ends with the simulation."""

    async def _exchange(self, path: str, headers: Mapping[str, str], body: bytes) -> RawAnswer:
        network = self._network
        connection = await self._pool.take()
        if await network.pass_half(connection):
            answer = await call(self._app, path, headers, body)
        else:
            answer = _DOWN
        await network.pass_half(connection)
        self._pool.give_back(connection)
        return answer


async def call(app: App, path: str, headers: Mapping[str, str], body: bytes, *, verb: str = "POST") -> RawAnswer:
    """Serve one request and return what the application sent, decompressed."""
    one = _Call(body)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": verb,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode("latin-1"),
        "query_string": b"",
        "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()],
        "client": None,
        "server": None,
    }
    await app(scope, one.receive, one.send)
    found = {name.decode("latin-1"): value.decode("latin-1") for name, value in one.headers}
    answer = one.body if one.more is None else b"".join([one.body, *one.more])
    if found.get("content-encoding") == "gzip":
        answer = zlib.decompress(answer, wbits=_GZIP_WBITS)
    return RawAnswer(one.status, found, answer)


class _Call:
    """Both directions of one ASGI call."""

    __slots__ = ("_request", "body", "headers", "more", "status")

    def __init__(self, request: bytes) -> None:
        self._request: bytes | None = request
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.more: list[bytes] | None = None

    async def receive(self) -> Event:
        request, self._request = self._request, None
        if request is None:
            # The caller stays until it has its answer; when it gives up, this wait is cancelled with the call.
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": request, "more_body": False}

    async def send(self, event: Event) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = event["headers"]
        elif self.more is None and not self.body:
            self.body = event.get("body", b"")
        else:
            self.more = self.more or []
            self.more.append(event.get("body", b""))
