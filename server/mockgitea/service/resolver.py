"""The resolver: one loop that lets blocked jobs go on, run by run.

A run is noted at most once, so any number of notices costs one pass. When more runs are noted than the loop may
remember, it forgets them all and reads the runs with blocked jobs from the store instead; nothing is ever lost.
Source: docs/protocol.md, "Needs".
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

import structlog

from mockgitea.core.errors import LimitExceeded
from mockgitea.core.profiles import Profile
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Store
from mockgitea.storage.resolution import resolve_run, runs_with_blocked_jobs
from mockgitea.storage.runs import RunPlaces
from mockgitea.supervise import Supervisor

log = structlog.get_logger(__name__)

NOTED_RUNS_MAX: Final = 10_000
SWEEP_PAGE: Final = 500


class Resolver:
    """Notes runs and resolves them one after the other.

    Args:
        store: where runs live; its intents announce runs that need resolving.
        profile: the imitated server.
        supervisor: owns the loop.
        places: returns what rows need to know of the server around them.
        noted_max: most runs remembered at once.
    """

    def __init__(
        self,
        *,
        store: Store,
        profile: Profile,
        supervisor: Supervisor,
        places: Callable[[], RunPlaces],
        noted_max: int = NOTED_RUNS_MAX,
    ) -> None:
        self._store = store
        self._profile = profile
        self._supervisor = supervisor
        self._places = places
        self._noted_max = noted_max
        self._noted: dict[int, bool] = {}
        self._must_sweep = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        store.subscribe(RunNeedsResolving, self._follow)

    def start(self) -> None:
        """Start the loop; it begins with every run that was left with blocked jobs, e.g. by a server that stopped."""
        self._must_sweep = True
        self._stir()
        self._supervisor.start(self._forever(), name="resolver")

    def notify(self, run_id: int) -> None:
        """Note that something of a run ended; cheap, never waits, any number of times."""
        self._note(run_id, is_woken=False)

    async def settle(self) -> None:
        """Wait until everything noted is resolved."""
        await self._idle.wait()

    def _follow(self, fact: RunNeedsResolving) -> None:
        self._note(fact.run_id, is_woken=fact.is_woken)

    def _note(self, run_id: int, *, is_woken: bool) -> None:
        if run_id not in self._noted and len(self._noted) >= self._noted_max:
            log.warning("resolver_sweeps", noted=len(self._noted))
            self._noted.clear()
            self._must_sweep = True
        else:
            self._noted[run_id] = is_woken and self._noted.get(run_id, True)
        self._stir()

    def _stir(self) -> None:
        self._idle.clear()
        self._wake.set()

    async def _forever(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._drain()
            if not self._wake.is_set():
                self._idle.set()

    async def _drain(self) -> None:
        while self._noted or self._must_sweep:
            if self._must_sweep:
                self._must_sweep = False
                await self._sweep()
                continue
            run_id = next(iter(self._noted))
            await self._resolve(run_id, is_woken=self._noted.pop(run_id))

    async def _sweep(self) -> None:
        """Resolve every run with blocked jobs, page by page."""
        after = 0
        while page := await self._store.read(partial(runs_with_blocked_jobs, after=after, limit=SWEEP_PAGE)):
            for run_id in page:
                await self._resolve(run_id, is_woken=False)
            after = page[-1]

    async def _resolve(self, run_id: int, *, is_woken: bool) -> None:
        try:
            changed = await self._store.write(
                lambda tx: resolve_run(tx, run_id, places=self._places(), profile=self._profile, is_woken=is_woken)
            )
        except LimitExceeded:
            # The store has waited for its time budget already, so trying again is no busy loop.
            log.warning("resolver_waits_for_store", run_id=run_id)
            self._note(run_id, is_woken=is_woken)
        except Exception:
            # One run that cannot be resolved must not keep all others from going on.
            log.exception("run_not_resolved", run_id=run_id)
        else:
            log.debug("run_resolved", run_id=run_id, jobs=changed)
