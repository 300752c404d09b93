"""Composition root: builds every part in one visible place, owns the order of start and stop.

Knows all parts and no rule. `commands/serve.py` runs it as a process; tests and the laboratory may run it in theirs.
"""

import asyncio
import dataclasses
import socket
import time
from typing import Any

import structlog

from mockgitea.core.counters import Counters
from mockgitea.core.journal import Journal
from mockgitea.observe.metrics import MetricsPage
from mockgitea.randomness import Randomness
from mockgitea.scrape import scrape
from mockgitea.service.container import Services
from mockgitea.settings import Settings
from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import App as Asgi
from mockgitea.transport.asgi import Deferred
from mockgitea.transport.connections import Connections
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.fault_verdicts import note_cut
from mockgitea.transport.listeners import Listener, bind, check_tls, url_host
from mockgitea.transport.methods import RunnerMethods
from mockgitea.transport.port_keeper import PortKeeper
from mockgitea.transport.runner_port import Observers, runner_port
from mockgitea.transport.service_faults import ServiceFaults

log = structlog.get_logger(__name__)


class App:
    """One server: both listeners, the optional gRPC port, and everything behind them.

    Args:
        settings: effective, with every token and the seed filled in.
        runner_socket: bound socket of the runner port.
        control_socket: bound socket of the control port.
    """

    def __init__(self, settings: Settings, runner_socket: socket.socket, control_socket: socket.socket) -> None:
        self.settings = settings
        self.failure: BaseException | None = None
        """What a background task died of; the server stops with it."""
        self.stopping = asyncio.Event()
        self._supervisor = Supervisor(on_failure=self._fail)
        self.services = Services.build(settings, supervisor=self._supervisor)
        self.journal = Journal(entries_max=settings.journal_entries, bytes_max=settings.journal_bytes)
        self.counters = Counters()
        self._connections = Connections()
        self._fault_server = ServiceFaults(self.services, has_grpc=settings.grpc_port is not None, now_s=time.monotonic)
        self.faults = FaultGate(
            self.services.clock,
            rng=self.services.randomness.stream("faults"),
            connections=self._connections,
            server=self._fault_server,
        )
        self._metrics = MetricsPage(self.counters, self.journal)
        self._methods = RunnerMethods(self.services)
        self._web, self._control = Deferred(), Deferred()
        self._admission = runner_port(
            self.services,
            self._methods,
            Observers(journal=self.journal, counters=self.counters, faults=self.faults),
            web=self._web,
            now_s=time.monotonic,
        )
        self._runner_port = self._listener(
            self._admission, runner_socket, tls=_tls(settings), connections=self._connections
        )
        self._control_port = self._listener(self._control, control_socket, tls=None, connections=Connections())
        self._keeper = PortKeeper(
            self.services.clock,
            self.faults.downtimes,
            self._runner_port,
            on_cut=lambda name: note_cut(self.journal, name, time.monotonic()),
        )
        self._fault_server.serve_on(self._keeper, self._runner_port)
        self._grpc: Any = None
        self.grpc_address = ""
        """``host:port`` of the gRPC port; empty when it is off."""
        self.runner_url = settings.app_url
        self.control_url = f"http://{url_host(settings.control_host)}:{self._control_port.port}"
        self._is_started = False

    @classmethod
    def build(cls, settings: Settings) -> "App":
        """Bind the ports and wire the parts; nothing answers before `start`.

        Raises:
            SettingError: an address, a port or the certificate cannot be used; the text names the setting.
        """
        check_tls(settings.tls_cert, settings.tls_key)
        control_host = settings.control_host or settings.host
        runner_socket = bind(settings.host, settings.port, setting="port")
        try:
            control_socket = bind(control_host, settings.control_port, setting="control_port")
        except ValueError:
            runner_socket.close()
            raise
        scheme = "https" if settings.tls_cert else "http"
        own_url = f"{scheme}://{url_host(settings.host)}:{runner_socket.getsockname()[1]}"
        randomness = Randomness(settings.seed)
        filled = dataclasses.replace(
            settings,
            seed=randomness.seed,
            control_host=control_host,
            app_url=(settings.app_url or own_url).rstrip("/"),
            api_token=settings.api_token or f"{randomness.stream('api-token').getrandbits(160):040x}",
        )
        return cls(filled, runner_socket, control_socket)

    async def start(self, *, defers_http_apps: bool = False) -> None:
        """Open the store and every port; returns once everything answers.

        Args:
            defers_http_apps: build the control API, REST v1 and the pages when the first request for one of them
                comes, which then takes some hundred milliseconds longer; for tests that need none of them.

        Raises:
            SettingError: the gRPC port cannot be had.
            ValueError: the database cannot be used; the text names the remedy.
        """
        try:
            await self.services.start()
            await self._runner_port.start(self._supervisor)
            self.faults.follow(self._keeper)
            self._supervisor.start(self._keeper.run_forever(), name="port-keeper")
            await self._control_port.start(self._supervisor)
            if defers_http_apps:
                self._web.on_first_request = self._control.on_first_request = self._begin_http_apps
            else:
                await self._provide_http_apps()
            if self.settings.grpc_port is not None:
                await self._start_grpc(self.settings.grpc_port)
        except BaseException:
            await self.close()
            raise
        self._is_started = True
        log.info("server_started", profile=self.settings.profile, runner_url=self.runner_url, seed=self.settings.seed)

    async def close(self) -> None:
        """Stop accepting, finish calls in progress, write what is in memory; safe to call twice."""
        self._is_started = False
        self.stopping.set()
        self.faults.reset()  # nobody is held any longer
        await asyncio.gather(self._runner_port.close(), self._control_port.close())
        if self._grpc is not None:
            await self._grpc.close(grace_s=self.settings.graceful_stop_s)
        await self.services.close()
        await self._supervisor.close()

    async def reset(self) -> None:
        """Make the server as new: no data, faults, journal or counters. Clock, seed and preset tokens stay."""
        self.faults.reset()
        await self.faults.settle()
        await self.services.reset()
        self.journal.reset()
        self.counters.reset()

    async def is_ready(self) -> bool:
        """Tell whether runners can be served."""
        return self._is_started and not self.stopping.is_set()

    async def metrics(self) -> bytes:
        """Render the metrics page."""
        return self._metrics.render(await scrape(self))

    def _listener(
        self, app: Asgi, bound: socket.socket, *, tls: tuple[str, str] | None, connections: Connections
    ) -> Listener:
        return Listener(
            app,
            bound,
            tls=tls,
            keep_alive_s=self.settings.keep_alive_s,
            graceful_stop_s=self.settings.graceful_stop_s,
            connections=connections,
        )

    def _begin_http_apps(self) -> None:
        self._web.on_first_request = self._control.on_first_request = None
        self._supervisor.start(self._provide_http_apps(), name="http-apps")

    async def _provide_http_apps(self) -> None:
        # FastAPI with its routes takes as long to load as everything else together. It loads in a thread while the
        # RPCs, which do not need it, are already answered; requests for it wait in `Deferred`.
        web, control = await asyncio.to_thread(self._build_http_apps)
        self._web.provide(web)
        self._control.provide(control)

    def _build_http_apps(self) -> tuple[Asgi, Asgi]:
        from mockgitea.http_apps import build_control_app, build_web_app  # noqa: PLC0415 - see the caller

        return build_web_app(self.services), build_control_app(self)

    async def _start_grpc(self, port: int) -> None:
        # Imported here because grpc costs 20 MB and 60 ms, and hardly anybody turns the port on.
        from mockgitea.transport.grpc_port import GrpcPort  # noqa: PLC0415

        self._grpc = GrpcPort(
            methods=self._methods,
            admission=self._admission,
            faults=self.faults,
            dialect=self.services.profile.dialect,
            supervisor=self._supervisor,
            now_s=time.monotonic,
            body_bytes_max=self.settings.body_bytes_max,
        )
        await self._grpc.start(self.settings.host, port, tls=_tls(self.settings))
        self.grpc_address = f"{url_host(self.settings.host)}:{self._grpc.port}"

    def _fail(self, error: BaseException) -> None:
        self.failure = self.failure or error
        self.stopping.set()


def _tls(settings: Settings) -> tuple[str, str] | None:
    return (settings.tls_cert, settings.tls_key) if settings.tls_cert else None
