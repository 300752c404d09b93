"""The rules in force at one server and the calls they act on now: decisions with the server's time, and their waits.

Source: docs/faults.md, "Stages".
"""

import random
from collections.abc import Awaitable
from typing import Any, Final

import structlog

from mockgitea.clock import MovableClock
from mockgitea.core.downtime import Downtimes, Window
from mockgitea.core.faults import Fault, FaultKind, FaultRules, Hit, Stage, Verdict
from mockgitea.core.journal import Entry, Journal
from mockgitea.transport.fault_passage import Passage
from mockgitea.transport.fault_waits import FaultWaits

log = structlog.get_logger(__name__)

WAITS: Final = frozenset({FaultKind.DELAY, FaultKind.HOLD, FaultKind.HANG})


class Verdicts:
    """What calls get, and who waits because of it.

    Args:
        clock: the server's time.
        rng: everything random about rules.
    """

    def __init__(self, clock: MovableClock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._waits = FaultWaits(clock)
        self.rules = FaultRules()
        self.downtimes = Downtimes()
        self.open: dict[Entry, Passage] = {}
        """Calls that are in here now."""

    def now_us(self) -> int:
        """Return the server's time."""
        return self._clock.now_us()

    def decide(self, passage: Passage, stage: Stage) -> Verdict:
        """Return what the call gets at this stage."""
        return self.rules.decide(passage.call, stage, now_us=self._clock.now_us(), rng=self._rng)

    def acts(self, passage: Passage, hit: Hit) -> bool:
        """Tell whether a rule that hit the call acts on it now, and write its name into the call's record if so.

        It does not when it was removed while the call waited for another one.
        """
        if not self.is_in_force(hit.fault):
            return False
        note(passage.entry, hit.fault.name, hit.fault.kind)
        return True

    def is_in_force(self, fault: Fault) -> bool:
        """Tell whether the rule still exists."""
        found = self.rules.find(fault.name)
        return found is not None and found.fault is fault

    async def wait_for(self, passage: Passage, hit: Hit) -> None:
        """Wait as a waiting rule says; afterwards the passage knows whether the caller has gone."""
        found = self.rules.find(hit.fault.name)
        until_us = None if found is None else found.expires_us
        if hit.fault.kind is FaultKind.DELAY:
            until_us = self._clock.now_us() + hit.delay_us
        await self.wait(passage, hit.fault.name, until_us=until_us)

    async def wait(self, passage: Passage, name: str, *others: Awaitable[Any], until_us: int | None = None) -> None:
        """Wait until a time, until the rule or window of this name lets go, or until any of ``others`` ends."""
        if passage.is_gone:
            return
        passage.is_gone = not await self._waits.wait(name, passage.until_gone, *others, until_us=until_us)

    async def black_hole(self, passage: Passage, window: Window) -> None:
        """Wait until the window ends, then cut the call: neither it nor its answer gets through."""
        note(passage.entry, window.downtime.name, window.downtime.kind)
        await self.wait(passage, window_key(window.downtime.name), until_us=window.end_us)
        passage.cut(is_reset=True)

    def wake(self, name: str) -> None:
        """Let those go on who wait because of this rule."""
        self._waits.wake(name)

    def wake_all(self) -> None:
        """Let everybody go on."""
        self._waits.wake_all()


def window_key(name: str) -> str:
    """Return the name under which calls wait for the end of a downtime rule's window; no fault can have it."""
    return f"downtime/{name}"


def note(entry: Entry, name: str, kind: str) -> None:
    """Write into the record of a call which rule acts on it."""
    entry.fault = f"{entry.fault}, {name}" if entry.fault else name
    log.debug("fault_applied", fault=name, kind=str(kind), method=entry.method.value, request_id=entry.number)


def note_cut(journal: Journal, name: str, now_s: float) -> None:
    """Write the rule that resets every connection now into the records of the calls whose answers that may lose.

    A reset also discards what has arrived and was not read yet, so an answer that left just before is in doubt too.
    """
    for entry in journal.in_doubt(now_s):
        if name not in entry.fault.split(", "):
            note(entry, name, "cut")
