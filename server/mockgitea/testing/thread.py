"""A server on a thread and an event loop of its own, so that it serves whatever a test's thread or loop does.

Starting returns when both ports answer, or raises what went wrong; closing leaves no thread, socket or task behind.
"""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

import uvloop

from mockgitea.app import App
from mockgitea.core.journal import Journal
from mockgitea.service.container import Services
from mockgitea.settings import Settings

T = TypeVar("T")

CLOSE_S_MAX: Final = 30.0


class ServerClosed(RuntimeError):
    """The server is not running: it was never started, or it was closed."""


class ServerThread:
    """Runs one `App`.

    Args:
        settings: of the server.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._app: App | None = None
        self._stop: asyncio.Event | None = None

    @property
    def app(self) -> App:
        """The running server; raises `ServerClosed`."""
        if self._app is None:
            raise ServerClosed(
                "the server is not running; use MockGitea in a `with` or `async with` block, or start it"
            )
        return self._app

    @property
    def services(self) -> Services:
        """The running server's services; raises `ServerClosed`."""
        return self.app.services

    @property
    def journal(self) -> Journal:
        """The running server's journal; raises `ServerClosed`."""
        return self.app.journal

    def start(self) -> App:
        """Start the server and return it; raises what prevents it."""
        assert self._thread is None, "started once"
        started: concurrent.futures.Future[App] = concurrent.futures.Future()
        # A daemon, so that a test run which forgets to close it ends all the same.
        self._thread = threading.Thread(target=self._run, args=(started,), name="mockgitea", daemon=True)
        self._thread.start()
        try:
            self._app = started.result()
        except BaseException:
            self._thread.join(CLOSE_S_MAX)
            raise
        return self._app

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's loop and return its result; blocks the calling thread meanwhile."""
        return self._result(self._submit(work))

    async def call_async(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's loop without blocking the caller's."""
        future = self._submit(work)
        await asyncio.wait([asyncio.wrap_future(future)])
        return self._result(future)

    def close(self) -> None:
        """Stop the server and wait for its end; safe to call twice.

        Raises:
            RuntimeError: a part of the server had failed while it ran; its exception is the cause.
        """
        thread, self._thread = self._thread, None
        app, self._app = self._app, None
        if thread is None or app is None:
            return
        assert self._loop is not None, "started"
        assert self._stop is not None, "started"
        self._loop.call_soon_threadsafe(self._stop.set)
        thread.join(CLOSE_S_MAX)
        if thread.is_alive():
            raise RuntimeError(f"the server did not end within {CLOSE_S_MAX:.0f} s")
        if app.failure is not None:
            raise RuntimeError("a part of the server failed while the test ran") from app.failure

    def _submit(self, work: Coroutine[Any, Any, T]) -> "concurrent.futures.Future[T]":
        if self._app is None or self._loop is None:
            work.close()
            raise ServerClosed(
                "the server is not running; use MockGitea in a `with` or `async with` block, or start it"
            )
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("called from the server's own thread, which would wait for itself")
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _result(self, future: "concurrent.futures.Future[T]") -> T:
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ServerClosed("the server was closed meanwhile") from None

    def _run(self, started: "concurrent.futures.Future[App]") -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                runner.run(self._serve(started))
            except BaseException as error:
                if started.done():
                    raise
                started.set_exception(error)

    async def _serve(self, started: "concurrent.futures.Future[App]") -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        app = App.build(self._settings)
        await app.start(defers_http_apps=True)
        started.set_result(app)
        try:
            await self._stop.wait()
        finally:
            await app.close()
