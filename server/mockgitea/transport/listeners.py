"""Listening sockets and the HTTP servers on them, all in one event loop.

Binds first and says clearly which setting cannot be met; reads the real port back when 0 was asked for. Signals are
the command's business, so the server library's own handling of them is switched off.
"""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Generator
from typing import Final

import uvicorn

from mockgitea.settings import SettingError
from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import App

BACKLOG: Final = 2048


class _Server(uvicorn.Server):
    """A server that leaves the process's signal handlers alone."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


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
    """

    def __init__(
        self,
        app: App,
        bound: socket.socket,
        *,
        tls: tuple[str, str] | None = None,
        keep_alive_s: float = 120.0,
        graceful_stop_s: float = 5.0,
    ) -> None:
        self._socket = bound
        self.port: int = bound.getsockname()[1]
        cert, key = tls or (None, None)
        config = uvicorn.Config(
            app,
            loop="none",
            http="httptools",
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

    async def close(self) -> None:
        """Stop accepting, let calls in progress finish for a while, close; safe to call twice."""
        if self._loop_task is None:
            self._socket.close()
            return
        task, self._loop_task = self._loop_task, None
        self._server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        await self._server.shutdown(sockets=[self._socket])
