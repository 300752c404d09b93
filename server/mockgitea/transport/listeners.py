"""Listening sockets and the HTTP servers on them, all in one event loop.

Binds first and says clearly which setting cannot be met; reads the real port back when 0 was asked for. Signals are
the command's business, so the server library's own handling of them is switched off.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Generator
from typing import Any, Final, cast

import uvicorn

from mockgitea.settings import SettingError
from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import App
from mockgitea.transport.connections import Connections

BACKLOG: Final = 2048
CLOSING_TURNS: Final = 3
RESERVE_TURNS_MAX: Final = 100
RESERVE_PAUSE_S: Final = 0.01


class _Server(uvicorn.Server):
    """A server that leaves the process's signal handlers alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop accepting, close idle connections, let the others finish within the time allowed, then cut them.

        The library's own version sleeps 0.1 s whatever there is to wait for, which every test would pay.
        """
        for server in self.servers:
            server.close()
        for bound in sockets or ():
            bound.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for _ in range(CLOSING_TURNS):
            await asyncio.sleep(0)  # a closed transport reports its end in one of the loop's next turns
        limit_s = self.config.timeout_graceful_shutdown
        try:
            await asyncio.wait_for(self._wait_tasks_to_complete(), timeout=limit_s)
        except TimeoutError:
            for task in self.server_state.tasks:
                task.cancel(msg=f"the server stops and waited {limit_s} s")


def bind(host: str, port: int, *, setting: str) -> socket.socket:
    """Return a bound TCP socket.

    Args:
        host: name or address; an IPv6 address without brackets.
        port: 0 takes a free one.
        setting: named in the error.

    Raises:
        SettingError: the address cannot be had.
    """
    host_setting = setting.replace("port", "host") if setting != "grpc_port" else "host"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except OSError as error:
        raise SettingError(f"{host_setting}: cannot resolve {host!r} ({error.strerror}); give an address") from error
    bound = socket.socket(family, kind, protocol)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        bound.close()
        fix = "choose another port, or 0 for a free one" if port else f"check {host_setting}"
        raise SettingError(f"{setting}: cannot listen on {host}:{port} ({error.strerror}); {fix}") from error
    bound.setblocking(False)
    return bound


def url_host(host: str) -> str:
    """Return a host as it stands in a URL: IPv6 in brackets, a wildcard as the loopback address."""
    if host in ("", "0.0.0.0"):  # noqa: S104 - compared, not bound
        return "127.0.0.1"
    if host == "::":
        return "[::1]"
    return f"[{host}]" if ":" in host else host


def check_tls(cert: str, key: str) -> None:
    """Load the certificate once so that a wrong file is an error of its setting; raises `SettingError`."""
    if not cert:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key)
    except (OSError, ssl.SSLError) as error:
        raise SettingError(f"tls_cert: cannot use {cert!r} with tls_key {key!r} ({error}); give PEM files") from error


class Listener:
    """One HTTP server on one bound socket.

    Args:
        app: the ASGI application.
        bound: from `bind`.
        tls: certificate and key file, or None for plain HTTP.
        keep_alive_s: how long an idle connection stays open.
        graceful_stop_s: how long `close` waits for calls in progress before it cancels them.
        connections: registry of its open connections, for faults.
    """

    def __init__(
        self,
        app: App,
        bound: socket.socket,
        *,
        tls: tuple[str, str] | None = None,
        keep_alive_s: float = 120.0,
        graceful_stop_s: float = 5.0,
        connections: Connections | None = None,
    ) -> None:
        self._socket = bound
        self._graceful_stop_s = graceful_stop_s
        self._connections = Connections() if connections is None else connections
        self._is_paused = False
        self._is_closing = False
        self.port: int = bound.getsockname()[1]
        cert, key = tls or (None, None)
        config = uvicorn.Config(
            app,
            loop="none",
            http=cast("type[asyncio.Protocol]", self._connections.protocol),
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=max(1, round(keep_alive_s)),
            timeout_graceful_shutdown=max(0, round(graceful_stop_s)),
            ssl_certfile=cert,
            ssl_keyfile=key,
        )
        self._server = _Server(config)
        self._loop_task: asyncio.Task[None] | None = None

    async def start(self, supervisor: Supervisor) -> None:
        """Accept connections; returns once the socket listens."""
        config = self._server.config
        config.load()
        self._server.lifespan = config.lifespan_class(config)
        await self._server.on_tick(0)  # the date header of the very first answer
        await self._server.startup(sockets=[self._socket])
        self._loop_task = supervisor.start(self._server.main_loop(), name=f"listener:{self.port}")

    async def pause(self) -> None:
        """Refuse new connections and keep the port; open connections stay. Safe to call twice."""
        if self._is_paused or self._is_closing:
            return
        self._is_paused = True
        family, address = self._socket.family, self._socket.getsockname()
        for server in self._server.servers:
            server.close()
        self._server.servers.clear()
        self._socket.close()
        reserved = await _reserve(family, address)
        if self._is_closing:
            reserved.close()
        self._socket = reserved

    async def resume(self) -> None:
        """Accept connections again on the same port; safe to call twice."""
        if not self._is_paused or self._is_closing:
            return
        config = self._server.config
        loop = asyncio.get_running_loop()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # old connections must not be in the way
        server = await loop.create_server(self._protocol, sock=self._socket, ssl=config.ssl, backlog=config.backlog)
        self._server.servers.append(server)
        self._is_paused = False

    def cut(self) -> int:
        """Reset every open connection and return how many there were."""
        return self._connections.reset_all()

    async def drain(self) -> None:
        """Close idle connections, and the others after their answers; those that take too long are reset."""
        self._connections.drain()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._graceful_stop_s):
                await self._connections.empty()
        self._connections.reset_all()

    def _protocol(self) -> asyncio.Protocol:
        server = self._server
        return self._connections.protocol(server.config, server.server_state, server.lifespan.state)

    async def close(self) -> None:
        """Stop accepting, let calls in progress finish for a while, close; safe to call twice."""
        self._is_closing = True
        if self._loop_task is None:
            self._socket.close()
            return
        task, self._loop_task = self._loop_task, None
        self._server.should_exit = True
        task.cancel()  # it only ticks; the shutdown below waits for what is in progress
        await asyncio.gather(task, return_exceptions=True)
        await self._server.shutdown(sockets=[self._socket])


async def _reserve(family: int, address: Any) -> socket.socket:
    """Return a socket that is bound and does not listen, so that connections are refused and nobody takes the port.

    The event loop closes a listening socket some turns after it was told to; until then the address is not free.
    """
    for attempt in range(RESERVE_TURNS_MAX):
        reserved = socket.socket(family, socket.SOCK_STREAM)
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            reserved.bind(address)
        except OSError:
            reserved.close()
            if attempt + 1 == RESERVE_TURNS_MAX:
                raise
            await asyncio.sleep(0 if attempt < CLOSING_TURNS else RESERVE_PAUSE_S)
        else:
            # Two sockets that both allow it may share an address while neither listens.
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
            reserved.setblocking(False)
            return reserved
    raise AssertionError("returned or raised")
