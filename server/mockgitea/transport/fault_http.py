"""One HTTP call through downtime and faults: in front of the application, after its work, and on the answer's way out.

Source: docs/faults.md, "Stages".
"""

from collections.abc import Awaitable, Callable
from typing import Final

from mockgitea.clock import SECOND_US
from mockgitea.core.calls import Outcome
from mockgitea.core.downtime import DownKind
from mockgitea.core.faults import Fault, FaultKind, Hit, Stage
from mockgitea.core.journal import Entry
from mockgitea.transport.asgi import Receive, Scope, Send
from mockgitea.transport.connections import Connections
from mockgitea.transport.fault_answers import RPC_METHODS, Answer, refusal, unavailable, web_error, wire_error
from mockgitea.transport.fault_calls import call_of, method_of, uuid_in
from mockgitea.transport.fault_delivery import Delivery, send_whole
from mockgitea.transport.fault_passage import Inbox, Outbox, Passage
from mockgitea.transport.fault_server import FaultServer
from mockgitea.transport.fault_verdicts import WAITS, Verdicts, note

Serve = Callable[[Scope, Receive, Send, Entry], Awaitable[None]]

_INSIDE: Final = (FaultKind.LOST_WAKEUP, FaultKind.LOST_CLAIM, FaultKind.EXPIRED_TOKEN, FaultKind.DATABASE_BUSY)
"""Kinds that happen to the service's own work; over REST and on pages an error answer stands for them."""


class HttpFaults:
    """The way of HTTP calls.

    Args:
        verdicts: what calls get.
        connections: of the runner port.
        server: around the gate.
    """

    def __init__(self, verdicts: Verdicts, connections: Connections, server: FaultServer) -> None:
        self._verdicts = verdicts
        self._connections = connections
        self._server = server
        self._delivery = Delivery(verdicts)

    def clear(self) -> None:
        """Forget earlier answers."""
        self._delivery.clear()

    async def serve(self, serve: Serve, scope: Scope, receive: Receive, send: Send, entry: Entry) -> None:
        """Serve one call; ``entry`` gets the names of the rules that hit it, and its outcome where they decide it."""
        entry.method = method_of(scope["path"])
        inbox = Inbox(receive)
        body = await inbox.body() if self._verdicts.rules.asks_for_task else b""
        caller = self._server.runner(uuid_in(scope["headers"]))
        call = call_of(entry, scope["headers"], caller, body=body)
        passage = Passage(entry, call, inbox.until_gone, self._connections.find(scope))
        self._verdicts.open[entry] = passage
        try:
            refused = await self._before(passage)
            if refused is not None:
                entry.status = refused.status
                await send_whole(send, refused)
                entry.outcome = Outcome.REFUSED
            elif not (passage.is_cut or passage.is_gone):
                outbox = Outbox(
                    send,
                    begin=lambda: self._answer_begins(passage),
                    finish=lambda answer: self._answer_leaves(passage, answer, send),
                )
                await serve(scope, inbox.receive, outbox.send, entry)
        finally:
            del self._verdicts.open[entry]
        _note_end(passage)

    async def swallows(self, scope: Scope, receive: Receive, entry: Entry) -> bool:
        """Keep back the answer of a call that did not come through here; see `FaultGate.swallows`."""
        window = self._verdicts.downtimes.current(self._verdicts.now_us())
        if window is None or window.downtime.kind is not DownKind.BLACK_HOLE:
            return False
        call = call_of(entry, scope["headers"], self._server.runner(uuid_in(scope["headers"])), body=b"")
        passage = Passage(entry, call, Inbox(receive).until_gone, self._connections.find(scope))
        await self._verdicts.black_hole(passage, window)
        _note_end(passage)
        return True

    async def after_work(self, passage: Passage) -> None:
        """Decide what happens after the work, and wait as long as it says."""
        if passage.after_is_decided:
            return
        passage.after_is_decided = True
        hits = self._verdicts.decide(passage, Stage.AFTER)
        passage.after = tuple(hit for hit in hits if hit.fault.kind not in WAITS)
        for hit in hits:
            if hit.fault.kind in WAITS and self._verdicts.acts(passage, hit):
                await self._verdicts.wait_for(passage, hit)

    async def suffer(self, passage: Passage, hit: Hit) -> None:
        """Do what needs no answer: wait, delete the caller, begin a restart, or note what the service will suffer."""
        fault = hit.fault
        if fault.kind in WAITS:
            await self._verdicts.wait_for(passage, hit)
        elif fault.kind is FaultKind.RUNNER_DELETED:
            await self._server.delete_runner(passage.call.runner_uuid)
        elif fault.kind is FaultKind.RESTART:
            await self._restart(passage, fault)
        elif fault.kind in _INSIDE:
            passage.inside = fault.kind
            if fault.busy_s:
                until_us = self._verdicts.now_us() + round(fault.busy_s * SECOND_US)
                await self._verdicts.wait(passage, fault.name, until_us=until_us)

    async def _before(self, passage: Passage) -> Answer | None:
        """Do what happens before the work; returns the answer that takes its place, if any."""
        window = self._verdicts.downtimes.current(self._verdicts.now_us())
        if window is not None and window.downtime.kind is DownKind.BLACK_HOLE:
            await self._verdicts.black_hole(passage, window)
            return None
        if window is not None:
            note(passage.entry, window.downtime.name, window.downtime.kind)
            if window.downtime.kind is DownKind.PLANNED:
                return unavailable(window.downtime.retry_after_s)
            passage.cut(is_reset=True)
            return None
        for hit in self._verdicts.decide(passage, Stage.BEFORE):
            if not self._verdicts.acts(passage, hit):
                continue
            await self.suffer(passage, hit)
            if passage.is_gone or passage.is_cut:
                return None
            if (answer := self._in_place(passage, hit.fault)) is not None:
                return answer
        return None

    def _in_place(self, passage: Passage, fault: Fault) -> Answer | None:
        method = passage.entry.method
        if fault.kind is FaultKind.REFUSE:
            passage.entry.code = wire_error(fault).code if fault.status is None else ""
            return refusal(fault, method)
        if fault.kind in (FaultKind.CLOSE, FaultKind.RESET):
            passage.cut(is_reset=fault.kind is FaultKind.RESET)
        elif method in RPC_METHODS:
            return None
        elif fault.kind is FaultKind.EXPIRED_TOKEN:
            return web_error(401, "token is expired")
        elif fault.kind is FaultKind.DATABASE_BUSY:
            return web_error(500, "database is locked")
        return None

    async def _answer_begins(self, passage: Passage) -> bool:
        """Tell whether the answer is to be kept until it is whole."""
        await self.after_work(passage)
        return bool(passage.after) or self._verdicts.rules.repeats > 0 or self._verdicts.downtimes.is_active

    async def _answer_leaves(self, passage: Passage, answer: Answer, send: Send) -> None:
        window = self._verdicts.downtimes.current(self._verdicts.now_us())
        if window is not None and window.downtime.kind is DownKind.BLACK_HOLE:
            await self._verdicts.black_hole(passage, window)
            return
        passage.after = tuple(hit for hit in passage.after if self._verdicts.acts(passage, hit))
        for hit in passage.after:
            if hit.fault.kind is FaultKind.RESTART:
                await self._restart(passage, hit.fault)
        if not passage.is_cut:
            await self._delivery.finish(passage, answer, send)

    async def _restart(self, passage: Passage, fault: Fault) -> None:
        mode = fault.mode or "graceful"
        await self._server.restart(name=fault.name, mode=mode, down_s=fault.down_s or 0.0)
        if mode == "kill":
            passage.cut(is_reset=True)


def _note_end(passage: Passage) -> None:
    """Write into the call's record how it ended, where that is not the application's to say."""
    entry = passage.entry
    if passage.is_cut:
        entry.outcome = Outcome.DROPPED
    elif passage.is_gone:
        entry.outcome = Outcome.ABANDONED
    else:
        for hit in passage.after:
            if hit.fault.kind is FaultKind.REFUSE:
                entry.outcome = Outcome.REFUSED
                entry.status = hit.fault.status or wire_error(hit.fault).http_status
                entry.code = "" if hit.fault.status is not None else wire_error(hit.fault).code
