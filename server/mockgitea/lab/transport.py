"""The runner's `Transport` as a direct call into the server's ASGI application, behind the network model.

Every request passes admission, codec and service exactly as over a socket; only the bytes between them are not
written. A caller that gives up cancels the call on the server at its next wait, as a closed connection would.
"""

import asyncio
import functools
import zlib
from collections.abc import Coroutine, Generator, Mapping
from types import MappingProxyType
from typing import Any, Final

from actionsrunner.embedding import DeadlinePassed, RawAnswer, TransportError
from actionswire import headers as names
from mockgitea.lab.network import ConnectionEnded, ConnectionRefused, ConnectionReset, Network, Pool
from mockgitea.lab.port import LabPort
from mockgitea.transport.asgi import App, Event
from mockgitea.transport.connections import PEER_KEY

_GZIP_WBITS: Final = 31
_FIELDS_MAX: Final = 20_000
"""Header fields whose bytes are remembered; a fleet sends the same ones again and again."""
_SCOPE: Final[Mapping[str, Any]] = {
    "type": "http",
    "asgi": {"version": "3.0"},
    "http_version": "1.1",
    "scheme": "http",
    "query_string": b"",
    "client": None,
    "server": None,
}


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

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        """Send ``body`` and return the whole answer; see the runner's `Transport.send`."""
        self._network.attempted(path)
        try:
            return await _within(deadline_s, self._exchange(verb, path, headers, body), self._network.port)
        except TimeoutError as error:
            raise DeadlinePassed(f"no answer within {deadline_s:g} s") from error
        except ConnectionRefused as error:
            raise TransportError("connection refused") from error
        except ConnectionReset as error:
            self._network.counts.reset += 1
            raise TransportError("connection reset by peer") from error
        except ConnectionEnded as error:
            self._network.counts.reset += 1
            raise TransportError("connection closed before the answer was whole") from error
        except zlib.error as error:
            raise TransportError("the answer's gzip body is broken") from error

    async def close(self) -> None:
        """Do nothing: a connection of the model ends with the simulation."""

    async def _exchange(self, verb: str, path: str, headers: Mapping[str, str], body: bytes) -> RawAnswer:
        network = self._network
        connection = self._pool.reuse() or await network.connect()
        if not network.is_instant:
            await network.pass_half()
        one = _Call(body)
        await self._app(_scope(one, path, headers, verb), one.receive, one.send)
        answer = one.answer()
        if not network.is_instant:
            await network.pass_half()
        if not one.has_extra:  # a client throws a connection away that brings what it did not ask for
            self._pool.give_back(connection)
        return answer


async def _within(deadline_s: float, work: Coroutine[Any, Any, RawAnswer], port: LabPort) -> RawAnswer:
    """Await ``work`` for at most so long; work that never has to wait costs no timer, and cannot be cut."""
    try:
        first = work.send(None)
        while first is None:  # it gives way for a turn of the loop and waits for nothing
            try:
                await asyncio.sleep(0)
            except BaseException as error:
                first = work.throw(error)  # who gives up the caller gives up the call
            else:
                first = work.send(None)
    except StopIteration as done:
        answer: RawAnswer = done.value
        return answer
    with port.flight() as flight:
        try:
            async with asyncio.timeout(deadline_s) as flight.limit:
                return await _Begun(work, first)
        except TimeoutError as error:
            if flight.is_cut:
                raise ConnectionReset from error
            raise


class _Begun:
    """The rest of a coroutine that has been driven to its first wait by hand."""

    def __init__(self, work: Coroutine[Any, Any, RawAnswer], first: Any) -> None:
        self._work = work
        self._first = first

    def __await__(self) -> Generator[Any, Any, RawAnswer]:
        waited = self._first
        try:
            while True:
                try:
                    sent = yield waited
                except BaseException as error:
                    waited = self._work.throw(error)
                else:
                    waited = self._work.send(sent)
        except StopIteration as done:
            answer: RawAnswer = done.value
            return answer


async def call(app: App, path: str, headers: Mapping[str, str], body: bytes, *, verb: str = "POST") -> RawAnswer:
    """Serve one request and return what the application sent, decompressed.

    Raises:
        ConnectionReset: a fault reset the connection before the answer was whole.
        ConnectionEnded: a fault closed it in an orderly way.
        zlib.error: a fault broke a compressed answer.
    """
    one = _Call(body)
    await app(_scope(one, path, headers, verb), one.receive, one.send)
    return one.answer()


def _scope(one: "_Call", path: str, headers: Mapping[str, str], verb: str) -> dict[str, Any]:
    return {
        **_SCOPE,
        "method": verb,
        "path": path,
        "raw_path": path.encode("latin-1"),
        "headers": list(map(_sent_field, headers.items())),
        PEER_KEY: one,
    }


class _SentFields(dict[tuple[str, str], tuple[bytes, bytes]]):
    """Header fields as bytes, each pair encoded once."""

    def __missing__(self, field: tuple[str, str]) -> tuple[bytes, bytes]:
        name, value = field
        encoded = name.encode("latin-1"), value.encode("latin-1")
        if name != names.CONNECT_TIMEOUT_MS:  # each call has its own
            if len(self) >= _FIELDS_MAX:
                self.clear()
            self[field] = encoded
        return encoded


_sent_field: Final = _SentFields().__getitem__


@functools.lru_cache(maxsize=_FIELDS_MAX)
def _read_fields(fields: tuple[tuple[bytes, bytes], ...]) -> Mapping[str, str]:
    return MappingProxyType({name.decode("latin-1"): value.decode("latin-1") for name, value in fields})


class _Call:
    """Both directions of one ASGI call, and its connection as faults see it (`Peer`)."""

    __slots__ = ("_request", "body", "end", "has_extra", "headers", "more", "status")

    def __init__(self, request: bytes) -> None:
        self._request: bytes | None = request
        self.status = 0
        self.headers: list[tuple[bytes, bytes]] = []
        self.body = b""
        self.more: list[bytes] | None = None
        self.end: type[Exception] | None = None
        """What the caller sees when the connection ended before the answer was whole."""
        self.has_extra = False

    def close(self) -> None:
        self.end = ConnectionEnded

    def reset(self) -> None:
        self.end = ConnectionReset

    def write(self, data: bytes) -> None:
        """Note bytes that belong to no response; a client reads them no more than the model does."""
        self.has_extra = self.has_extra or bool(data)

    def forget_date(self) -> None:
        """Do nothing: the model adds no Date."""

    def answer(self) -> RawAnswer:
        """Return what was sent, decompressed; see `call` for what it raises."""
        if self.end is not None:
            raise self.end
        found = _read_fields(tuple(self.headers))
        body = self.body if self.more is None else b"".join([self.body, *self.more])
        if found.get("content-encoding") == "gzip":
            body = zlib.decompress(body, wbits=_GZIP_WBITS)
        return RawAnswer(self.status, found, body)

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
