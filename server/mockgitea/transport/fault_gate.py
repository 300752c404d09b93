"""Faults and downtime of one server: what the control API edits, and where every call passes while there are any.

A call that passes while nothing is in force pays one attribute check. Decides nothing itself: `core.faults` and
`core.downtime` say what a call gets.
Source: docs/faults.md, "Stages".
"""

import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from actionswire.codes import Code
from mockgitea.clock import MovableClock
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.dispatch import Mishap
from mockgitea.core.downtime import DownKind, Downtime, Downtimes, DowntimeState
from mockgitea.core.errors import InvalidInput, NotRegistered, ServerFault
from mockgitea.core.faults import Fault, FaultKind, FaultState, Stage, Transport
from mockgitea.core.journal import Entry
from mockgitea.transport.asgi import Receive, Scope, Send
from mockgitea.transport.connections import Connections
from mockgitea.transport.dialect import WireError
from mockgitea.transport.fault_answers import wire_error
from mockgitea.transport.fault_calls import call_of, uuid_in
from mockgitea.transport.fault_http import HttpFaults, Serve
from mockgitea.transport.fault_passage import Passage
from mockgitea.transport.fault_server import FaultServer, NoServer
from mockgitea.transport.fault_verdicts import Verdicts, note, window_key

_MISHAPS: Final = {FaultKind.LOST_WAKEUP: Mishap.LOST_WAKEUP, FaultKind.LOST_CLAIM: Mishap.LOST_CLAIM}
_BUSY: Final = {
    Method.FETCH_TASK: "pick task: ",
    Method.FETCH_SINGLE_TASK: "pick task: ",
    Method.UPDATE_TASK: "update task: ",
    Method.UPDATE_LOG: "get task: ",
}


class Keeper(Protocol):
    """Whoever closes and opens the port."""

    def notice(self) -> None:
        """Hear that rules have changed."""

    async def settle(self) -> None:
        """Return once the port is as the rules want it."""


class FaultGate:
    """The faults of one server.

    Args:
        clock: the time of windows and waits, so that moving it moves them.
        rng: what is random about rules; a fixed one when absent.
        connections: the runner port's, for faults of the connection.
        server: what rules may ask of the server around the gate.
    """

    def __init__(
        self,
        clock: MovableClock,
        *,
        rng: random.Random | None = None,
        connections: Connections | None = None,
        server: FaultServer | None = None,
    ) -> None:
        self._rng = rng or random.Random(0)  # noqa: S311 - seeded on purpose
        self._verdicts = Verdicts(clock, self._rng)
        self._server = server or NoServer()
        self._http = HttpFaults(self._verdicts, Connections() if connections is None else connections, self._server)
        self._keeper: Keeper | None = None
        self.is_active = False
        """False exactly when nothing is in force: the one check that every call pays."""

    @property
    def downtimes(self) -> Downtimes:
        """The windows in force, for listeners and for models of connections."""
        return self._verdicts.downtimes

    def follow(self, keeper: "Keeper") -> None:
        """Tell ``keeper`` from now on when downtime rules change."""
        self._keeper = keeper

    async def settle(self) -> None:
        """Wait until the port is open or closed as the rules say now."""
        await self._server.settle()
        if self._keeper is not None:
            await self._keeper.settle()

    def add(self, fault: Fault) -> None:
        """Add a fault.

        Raises:
            InvalidInput: this server cannot do it; the message says why.
            Conflict: the name is taken.
            LimitExceeded: too many rules.
        """
        self._server.check(fault)
        self._verdicts.rules.add(fault, now_us=self._verdicts.now_us())
        self._changed()

    def list(self) -> tuple[FaultState, ...]:
        """Return every fault with its hits."""
        states = self._verdicts.rules.states(now_us=self._verdicts.now_us())
        self._changed()
        return states

    def remove(self, name: str) -> None:
        """Remove a fault and let the calls it holds go on; raises `NotFound`."""
        self._verdicts.rules.remove(name)
        self._changed()
        self._verdicts.wake(name)

    def release(self, name: str) -> None:
        """Let the calls go on that this fault keeps waiting; it stays and acts on later ones.

        Raises:
            NotFound: no such fault.
            InvalidInput: it is a hang, which only ends with the rule.
        """
        if self._verdicts.rules.get(name).kind is FaultKind.HANG:
            raise InvalidInput(f"name: fault {name!r} hangs for good; remove it, or use a hold", field="name")
        self._verdicts.wake(name)

    def add_downtime(self, downtime: Downtime) -> None:
        """Add a downtime rule; raises `Conflict` or `LimitExceeded`."""
        # A generator of its own, so that the rounds of one rule do not depend on what else is drawn meanwhile.
        jitter = random.Random(f"{self._rng.getrandbits(64)}:{downtime.name}")  # noqa: S311 - seeded on purpose
        self.downtimes.add(downtime, now_us=self._verdicts.now_us(), rng=jitter)
        self._downtime_changed()

    def list_downtimes(self) -> tuple[DowntimeState, ...]:
        """Return every downtime rule with its present or next round."""
        return self.downtimes.states(self._verdicts.now_us())

    def remove_downtime(self, name: str) -> None:
        """Remove a downtime rule; an open window ends at once. Raises `NotFound`."""
        self.downtimes.remove(name)
        self._verdicts.wake(window_key(name))
        self._downtime_changed()

    def reset(self) -> None:
        """Remove every fault and downtime rule, and let every call go on that waits for one."""
        self._verdicts.rules.reset()
        self.downtimes.reset()
        self._http.clear()
        self._verdicts.wake_all()
        self._server.end_restarts()
        self._downtime_changed()

    async def serve(self, serve: Serve, scope: Scope, receive: Receive, send: Send, entry: Entry) -> None:
        """Serve one call over HTTP through the faults; ``serve`` is the application behind the gate."""
        await self._http.serve(serve, scope, receive, send, entry)
        self._changed()

    async def swallows(self, scope: Scope, receive: Receive, entry: Entry) -> bool:
        """Keep back the answer of an HTTP call that came in before anything was in force, while a black hole is open.

        A fetch that waits for work may be older than every rule. Returns once the window ends or the caller leaves.

        Returns:
            True when the answer is lost; the entry then says how the call ended. False when it may leave.
        """
        return entry not in self._verdicts.open and await self._http.swallows(scope, receive, entry)

    async def enter(
        self,
        entry: Entry,
        headers: Sequence[tuple[bytes, bytes]],
        body: bytes,
        until_gone: Callable[[], Awaitable[object]],
    ) -> None:
        """Let one gRPC call in, later perhaps; ends with `leave`.

        Raises:
            WireError: a rule or a downtime window refuses the call.
        """
        caller = self._server.runner(uuid_in(headers))
        call = call_of(entry, headers, caller, body=body, transport=Transport.GRPC)
        passage = self._verdicts.open[entry] = Passage(entry, call, until_gone, None)
        await self._pass_downtime(passage)
        for hit in self._verdicts.decide(passage, Stage.BEFORE):
            if not self._verdicts.acts(passage, hit):
                continue
            if hit.fault.kind is FaultKind.REFUSE:
                raise wire_error(hit.fault)
            await self._http.suffer(passage, hit)
        self._changed()

    async def exit(
        self, entry: Entry, headers: Sequence[tuple[bytes, bytes]], until_gone: Callable[[], Awaitable[object]]
    ) -> None:
        """Let the answer of one gRPC call out, unless a black hole is open, whenever the call came in.

        Raises:
            WireError: the window has ended; the answer is lost.
        """
        window = self.downtimes.current(self._verdicts.now_us())
        if window is None or window.downtime.kind is not DownKind.BLACK_HOLE:
            return
        passage = self._verdicts.open.get(entry)
        if passage is None:
            call = call_of(entry, headers, self._server.runner(uuid_in(headers)), body=b"", transport=Transport.GRPC)
            passage = Passage(entry, call, until_gone, None)
        await self._verdicts.black_hole(passage, window)
        raise WireError(Code.UNAVAILABLE, "the server is down", outcome=Outcome.DROPPED)

    def leave(self, entry: Entry) -> None:
        """Forget one gRPC call."""
        self._verdicts.open.pop(entry, None)

    def begin_work(self, entry: Entry) -> Mishap | None:
        """Return the bad luck that the service is to have with this call.

        Raises:
            NotRegistered: the caller's token counts as expired.
            ServerFault: the database counts as busy.
        """
        passage = self._verdicts.open.get(entry)
        kind = None if passage is None else passage.inside
        if kind is FaultKind.EXPIRED_TOKEN:
            raise NotRegistered
        if kind is FaultKind.DATABASE_BUSY:
            raise ServerFault(f"{_BUSY.get(entry.method, '')}database is locked")
        return _MISHAPS.get(kind) if kind is not None else None

    async def after_work(self, entry: Entry) -> None:
        """Wait as long as rules want after the work; the rest they do when the answer leaves.

        Raises:
            WireError: over gRPC, when a rule refuses the call now.
        """
        passage = self._verdicts.open.get(entry)
        if passage is None:
            return
        await self._http.after_work(passage)
        for hit in passage.after:
            is_refused = hit.fault.kind is FaultKind.REFUSE and passage.call.transport is Transport.GRPC
            if is_refused and self._verdicts.acts(passage, hit):
                raise wire_error(hit.fault)

    def is_of_a_killed_server(self, entry: Entry) -> bool:
        """Tell whether the server was killed since this call came in: what it has begun, nobody finishes."""
        return entry.opened_s < self._server.killed_s

    async def _pass_downtime(self, passage: Passage) -> None:
        window = self.downtimes.current(self._verdicts.now_us())
        if window is None:
            return
        if window.downtime.kind is DownKind.BLACK_HOLE:
            await self._verdicts.black_hole(passage, window)
        else:
            # A gRPC client reports a closed port with the same code, so a refused window looks alike here.
            note(passage.entry, window.downtime.name, window.downtime.kind)
        raise WireError(Code.UNAVAILABLE, "the server is down", outcome=Outcome.REFUSED)

    def _downtime_changed(self) -> None:
        self._changed()
        if self._keeper is not None:
            self._keeper.notice()

    def _changed(self) -> None:
        self.is_active = self._verdicts.rules.is_active or self.downtimes.is_active
