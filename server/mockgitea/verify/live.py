"""The journal of a running server as recorded calls: expectations, waits, audits and exports over it.

Everything runs on the server's event loop. Entries are decoded once; closed ones never change.
"""

import asyncio
import contextlib
from typing import Any, Final, Protocol

from mockgitea.core.audit import AuditFacts, AuditReport, audit
from mockgitea.core.call_checks import CallChecks, UnexpectedCalls
from mockgitea.core.call_match import CallMatcher
from mockgitea.core.call_record import CallRecord, introduced
from mockgitea.core.journal import Entry, Journal
from mockgitea.service.container import Services
from mockgitea.transport.journal_view import view
from mockgitea.verify.session import KnownRunner, Session

WAIT_S_MAX: Final = 600.0
OPEN_LOOK_S: Final = 0.05
"""How often a wait looks again though no call has ended: it may be about calls that are still open."""


class Server(Protocol):
    """What is needed of a server."""

    @property
    def services(self) -> Services:
        """The services."""

    @property
    def journal(self) -> Journal:
        """The journal."""


class LiveJournal:
    """Recorded calls of one running server.

    Args:
        server: whose journal it is.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._decoded: dict[int, tuple[Entry, CallRecord]] = {}

    def mark(self) -> int:
        """Return the number of the newest call; what comes later has a higher one."""
        return self._server.journal.opened_total

    def records(self) -> list[CallRecord]:
        """Return every kept call, oldest first."""
        kept: dict[int, tuple[Entry, CallRecord]] = {}
        found = []
        names = self._names()
        for entry in self._server.journal:
            known = self._decoded.get(entry.number)
            if known is not None and known[0] is entry:
                kept[entry.number] = known
                found.append(known[1])
                continue
            record = CallRecord.from_view(view(entry), names)
            uuid, name = introduced(record)
            if uuid:
                names.setdefault(uuid, name)
            if entry.duration_s:  # closed: it never changes again
                kept[entry.number] = (entry, record)
            found.append(record)
        self._decoded = kept
        return found

    def checks(self) -> CallChecks:
        """Return the expectations over the calls there are now."""
        return CallChecks(self.records(), evicted=self._server.journal.evicted_total)

    async def wait_for(self, matcher: CallMatcher, *, count: int = 1, within_s: float = 5.0) -> list[CallRecord]:
        """Wait until so many calls match, those that came before included.

        Args:
            matcher: which calls count.
            count: how many there must be.
            within_s: longest wait in real seconds, at most `WAIT_S_MAX`.

        Raises:
            UnexpectedCalls: they did not come; the text shows the nearest misses and what came instead.
            ValueError: a limit is out of bounds.
        """
        if not 0 <= within_s <= WAIT_S_MAX:
            raise ValueError(f"within: must be between 0 and {WAIT_S_MAX:.0f} seconds, got {within_s!r}")
        if count < 1:
            raise ValueError(f"n: must be at least 1, got {count!r}")
        heard = asyncio.Event()
        journal = self._server.journal  # the server may be gone when the wait ends
        journal.watch(heard.set)
        loop = asyncio.get_running_loop()
        deadline_s = loop.time() + within_s
        try:
            while True:
                heard.clear()
                found = self.checks().matching(matcher)
                if len(found) >= count:
                    return found
                left_s = deadline_s - loop.time()
                if left_s <= 0:
                    break
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(min(left_s, OPEN_LOOK_S) if matcher.outcome == "open" else left_s):
                        await heard.wait()
        finally:
            journal.unwatch(heard.set)
        calls = "call" if count == 1 else "calls"
        headline = (
            f"expected {count} {calls} within {within_s:g} s of: {matcher.describe()}\nbut there were {len(found)}"
        )
        raise UnexpectedCalls(self.checks().explain(headline, matcher))

    def session(self) -> Session:
        """Return what is recorded now, in a form that outlives the server."""
        services, journal = self._server.services, self._server.journal
        runners = services.directory.all()
        return Session(
            views=[view(entry) for entry in journal],
            runners={
                record.uuid: KnownRunner(record.name, record.labels, is_ephemeral=record.is_ephemeral)
                for record in runners
            },
            evicted=journal.evicted_total,
            profile=services.profile.name,
            seed=services.randomness.seed,
        )

    def audit(self, **told: Any) -> AuditReport:
        """Check every rule over the calls there are now.

        Args:
            told: what only the auditor knows, as fields of `AuditFacts`.
        """
        ephemeral = frozenset(each.uuid for each in self._server.services.directory.all() if each.is_ephemeral)
        facts = AuditFacts(evicted=self._server.journal.evicted_total, ephemeral=ephemeral, **told)
        return audit(self.records(), facts)

    def _names(self) -> dict[str, str]:
        names = dict(introduced(record) for _, record in self._decoded.values())
        return names | {record.uuid: record.name for record in self._server.services.directory.all()}
