"""Faults in action: the waits and refusals that `core.faults` decides on, for one server.

Waits go through the injected clock or an event of this gate; removing, releasing and resetting wake whoever is held.
"""

import asyncio

import structlog

from mockgitea.clock import MovableClock
from mockgitea.core.calls import Outcome
from mockgitea.core.faults import Fault, FaultKind, FaultRules, FaultState, Stage
from mockgitea.core.journal import Entry
from mockgitea.transport.dialect import WireError

log = structlog.get_logger(__name__)


class FaultGate:
    """The active faults, as the control API edits them and as calls pass them.

    Args:
        clock: the time of delays, so that a manual clock moves them.
    """

    def __init__(self, clock: MovableClock) -> None:
        self._clock = clock
        self._rules = FaultRules()
        self._held: dict[str, asyncio.Event] = {}
        self.is_active = False
        """False exactly when there is no fault: the one check that every call pays."""

    def add(self, fault: Fault) -> None:
        """Add a fault; raises `Conflict` for a taken name and `LimitExceeded` for too many."""
        self._rules.add(fault)
        self.is_active = True

    def list(self) -> tuple[FaultState, ...]:
        """Return every fault with its hits."""
        return self._rules.states()

    def remove(self, name: str) -> None:
        """Remove a fault and let the calls it holds go on; raises `NotFound`."""
        self._rules.remove(name)
        self.is_active = self._rules.is_active
        self._wake(name)

    def release(self, name: str) -> None:
        """Let the calls go on that this fault holds; it stays and holds later ones. Raises `NotFound`."""
        self._rules.get(name)
        self._wake(name)

    def reset(self) -> None:
        """Remove every fault and let every held call go on."""
        self._rules.reset()
        self.is_active = False
        for name in list(self._held):
            self._wake(name)

    async def pass_through(self, entry: Entry, stage: Stage) -> None:
        """Do to this call what the faults say, then return; raises `WireError` for a refusal."""
        fault = self._rules.decide(entry.method, stage)
        if fault is None:
            return
        entry.fault = fault.name
        log.debug("fault_applied", fault=fault.name, kind=fault.kind.value, method=entry.method.value)
        if fault.kind is FaultKind.DELAY:
            await self._clock.sleep(fault.delay_s)
        elif fault.kind is FaultKind.HOLD:
            await self._held.setdefault(fault.name, asyncio.Event()).wait()
        else:
            raise WireError(fault.code, f"refused by fault {fault.name!r}", outcome=Outcome.REFUSED)

    def _wake(self, name: str) -> None:
        event = self._held.pop(name, None)
        if event is not None:
            event.set()
