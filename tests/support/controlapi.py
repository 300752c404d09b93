"""A control API in this process: real services on a database in memory, called without sockets."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI

from mockgitea.core.counters import Counters
from mockgitea.core.journal import Journal
from mockgitea.service.container import Services
from mockgitea.settings import Settings
from mockgitea.transport.control.errors import install_error_handlers
from mockgitea.transport.control.router import build_control
from mockgitea.transport.fault_gate import FaultGate

SEED = 20_261
CONTROL_TOKEN = "control-token-of-the-tests"


@dataclass
class ControlledServer:
    """What the control router needs of `App`, without listeners."""

    services: Services
    journal: Journal
    counters: Counters
    faults: FaultGate
    runner_url: str = "http://runner.test"

    async def reset(self) -> None:
        self.faults.reset()
        await self.services.reset()
        self.counters.reset()
        self.journal.reset()


class _Current:
    """Stands for the server of the running test: an application takes 0.2 s to build, so all tests share one."""

    def __init__(self, *path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        found: Any = _CURRENT[0]
        for step in self._path:
            found = getattr(found, step)
        return getattr(found, name)

    @property
    def services(self) -> Any:
        return self if self._path else _Current("services")


_CURRENT: list[ControlledServer] = []
_APPS: dict[str, FastAPI] = {}


def _app(server: ControlledServer) -> FastAPI:
    """Return an application that serves ``server`` until the next call."""
    _CURRENT[:] = [server]
    token = server.services.settings.control_token
    if token not in _APPS:
        app = _APPS[token] = FastAPI()
        install_error_handlers(app)
        app.include_router(build_control(_Current()))  # type: ignore[arg-type]  # all that the router needs of an App
    return _APPS[token]


@dataclass
class Api:
    """One running server and a client that carries the control token."""

    client: httpx.AsyncClient
    server: ControlledServer
    app: FastAPI

    @property
    def services(self) -> Services:
        return self.server.services

    async def call(self, verb: str, path: str, *, expect: int = 200, **kwargs: Any) -> Any:
        answer = await self.client.request(verb, f"/control/v1{path}", **kwargs)
        assert answer.status_code == expect, f"{verb} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Api]:
    defaults = {"seed": SEED, "api_token": "api-token", "app_url": "http://runner.test", "clock": "manual"}
    services = Services.build(Settings(**{"control_token": CONTROL_TOKEN, **defaults, **settings}))
    counters = Counters()
    journal = Journal(entries_max=100, bytes_max=1_000_000, on_close=counters.count)
    server = ControlledServer(services, journal, counters, FaultGate(services.clock))
    app = _app(server)
    await services.start()
    headers = {"Authorization": f"Bearer {CONTROL_TOKEN}"}
    transport = httpx.ASGITransport(app=app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://control.test", headers=headers) as client:
            yield Api(client, server, app)
    finally:
        await services.close()
