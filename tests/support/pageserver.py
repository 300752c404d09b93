"""A real HTTP server with nothing but the pages, over rows that a test can change while a browser looks."""

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn
from fastapi import FastAPI

from mockgitea.storage.interface import Tx
from mockgitea.transport.web import build_web
from mockgitea.ui.pages import build_pages
from pagedata import Seed, page_services

START_S = 20.0


class PageServer:
    """Both ports' pages on one free port, in a thread; ``change`` runs an intent against its store."""

    def __init__(self, profile: str, fill: Callable[[Seed], Any]) -> None:
        self.services = page_services(profile)
        self._fill = fill
        self.ids: Any = None
        self.polls: list[tuple[float, bytes]] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._server: uvicorn.Server | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "PageServer":
        self._thread.start()
        assert self._ready.wait(START_S), "the page server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._thread.join(START_S)
        self._loop.close()

    def change(self, intent: Callable[[Tx], Any]) -> Any:
        """Run an intent on the server's loop and return its result."""
        future = asyncio.run_coroutine_threadsafe(self.services.store.write(intent), self._loop)
        return future.result(START_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        await self.services.store.start()
        self.ids = await self.services.store.write(lambda tx: self._fill(Seed(tx.conn)))
        app = FastAPI()
        app.include_router(build_pages(self.services))
        app.include_router(build_web(self.services))
        config = uvicorn.Config(self._recorded(app), log_level="warning", lifespan="off")
        self._server = uvicorn.Server(config)
        self._ready.set()
        await self._server.serve(sockets=[self._socket])
        await self.services.store.close()

    def _recorded(self, app: Any) -> Any:
        async def recording(scope: Any, receive: Any, send: Any) -> None:
            if scope.get("method") != "POST":
                await app(scope, receive, send)
                return

            async def note() -> Any:
                message = await receive()
                self.polls.append((self._loop.time(), message.get("body", b"")))
                return message

            await app(scope, note, send)

        return recording
