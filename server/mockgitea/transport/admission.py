"""The gate of the runner port: every call gets a journal entry, passes the faults and is counted exactly once.

Dispatches by path: the RPC prefix goes to the thin handler, everything else to the web application (FastAPI). The
entry is opened before anything may act on the call and closed in a `finally`, refused and dropped calls included.
Source: docs/metrics.md, "Journal".
"""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from mockgitea.clock import MovableClock
from mockgitea.core.calls import Method, Outcome, outcome_of_status
from mockgitea.core.counters import Counters
from mockgitea.core.journal import Entry, Journal
from mockgitea.transport import connect
from mockgitea.transport.asgi import App, Event, Receive, Scope, Send, respond
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.rpc import PREFIX

log = structlog.get_logger(__name__)

Rpc = Callable[[Scope, Receive, Send, Entry], Awaitable[None]]

REST_PREFIX: Final = "/api/"
PATH_LENGTH_MAX: Final = 1024
"""Longer paths are cut in the journal; they are answered as they came."""


class Admission:
    """ASGI application of the runner port.

    Args:
        rpc: handles the RPC prefix.
        web: handles every other path.
        faulty_rpc: handles the RPC prefix while faults or downtime are in force, when ``rpc`` takes short ways that
            know nothing of them; default: ``rpc``.
        clock: stamps the entries.
        now_s: monotonic seconds.
    """

    def __init__(
        self,
        *,
        rpc: Rpc,
        web: App,
        journal: Journal,
        counters: Counters,
        faults: FaultGate,
        clock: MovableClock,
        now_s: Callable[[], float],
        faulty_rpc: Rpc | None = None,
    ) -> None:
        self._rpc = rpc
        self._faulty_rpc = faulty_rpc or rpc
        self._web = web
        self._journal = journal
        self._counters = counters
        self._faults = faults
        self._clock = clock
        self._now_s = now_s

    def open(self, path: str) -> Entry:
        """Open the entry of one call, whatever transport it came by."""
        entry = self._journal.open(self._clock.now_us(), self._now_s())
        entry.path = path if len(path) <= PATH_LENGTH_MAX else path[:PATH_LENGTH_MAX]
        return entry

    def close(self, entry: Entry) -> None:
        """Close the entry and count the call."""
        self._journal.close(entry, self._now_s())
        self._counters.count(entry)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return  # no lifespan and no WebSocket on this port
        path = scope["path"]
        entry = self.open(path)
        entry.verb = scope["method"]
        entry.headers = scope["headers"]
        if peer := scope.get("client"):
            entry.peer = f"{peer[0]}:{peer[1]}"
        try:
            if self._faults.is_active:
                await self._faults.serve(self._serve_faulty, scope, receive, send, entry)
            elif path.startswith(PREFIX):
                await self._rpc(scope, receive, send, entry)
            else:
                await self._serve_web(scope, receive, send, entry)
        finally:
            self.close(entry)

    def _serve_faulty(self, scope: Scope, receive: Receive, send: Send, entry: Entry) -> Awaitable[None]:
        if scope["path"].startswith(PREFIX):
            return self._faulty_rpc(scope, receive, send, entry)
        return self._serve_web(scope, receive, send, entry)

    async def _serve_web(self, scope: Scope, receive: Receive, send: Send, entry: Entry) -> None:
        entry.method = Method.REST if scope["path"].startswith(REST_PREFIX) else Method.PAGE
        watch = _Watch(send, entry)
        try:
            await self._web(scope, receive, watch)
        except Exception:
            log.exception("request_failed", path=entry.path, request_id=entry.number)
            entry.outcome = Outcome.INTERNAL
            if not entry.status:
                entry.status = 500
                await respond(send, *connect.plain_text(500, f"internal error, request {entry.number}"))
        else:
            if watch.is_complete:
                entry.outcome = outcome_of_status(entry.status)


class _Watch:
    """A `send` that notes the status and whether the answer is whole."""

    __slots__ = ("_entry", "_send", "is_complete")

    def __init__(self, send: Send, entry: Entry) -> None:
        self._send = send
        self._entry = entry
        self.is_complete = False

    async def __call__(self, event: Event) -> None:
        if event["type"] == "http.response.start":
            self._entry.status = event["status"]
        await self._send(event)
        if event["type"] == "http.response.body" and not event.get("more_body"):
            self.is_complete = True
