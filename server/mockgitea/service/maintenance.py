"""The periodic jobs of a real server, on the server's clock and on demand.

Each job is a loop that waits for its next time and runs once; moving the clock makes it run. Knows no rule: those are
in `core/reaper.py` and `storage/reaping.py`.
Source: docs/protocol.md, "Periodic jobs".
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog

from mockgitea.clock import ADVANCE_S_MAX, SECOND_US, Clock
from mockgitea.core import reaper
from mockgitea.core.errors import InvalidInput, NotFound, Refusal
from mockgitea.core.profiles import Profile
from mockgitea.service.directory import RunnerDirectory
from mockgitea.storage import reaping, tasks
from mockgitea.storage.interface import Store, Tx
from mockgitea.supervise import Supervisor

log = structlog.get_logger(__name__)

TURNS_MAX: Final = 10_000
"""Most intents one job runs in a row; each handles up to `reaping.ROWS_PER_INTENT` rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """When a task or job counts as dead, in seconds."""

    zombie_s: float
    endless_s: float
    abandoned_s: float


class Maintenance:
    """Runs the periodic jobs.

    Args:
        store: where tasks and jobs live.
        clock: the server's clock.
        profile: says which jobs exist.
        directory: runners in memory, flushed before offline ones are looked for.
        timeouts: the three limits that are settings.
    """

    def __init__(
        self, *, store: Store, clock: Clock, profile: Profile, directory: RunnerDirectory, timeouts: Timeouts
    ) -> None:
        self._store = store
        self._clock = clock
        self._profile = profile
        self._directory = directory
        self._timeouts = timeouts
        self._due_us: dict[str, int] = {}
        self._round_over = asyncio.Event()
        self._jobs: dict[str, Callable[[], Awaitable[dict[str, int]]]] = {
            reaper.STOP_ZOMBIES: self._stop_zombies,
            reaper.STOP_ENDLESS: self._stop_endless,
            reaper.CANCEL_ABANDONED: self._cancel_abandoned,
            reaper.CLEAN_UP: self._clean_up,
        }
        if profile.transfers_lingering_logs:
            self._jobs[reaper.TRANSFER_LOGS] = self._transfer_logs
        if profile.has_offline_runner_cleanup:
            self._jobs[reaper.REMOVE_OFFLINE] = self._remove_offline

    @property
    def names(self) -> tuple[str, ...]:
        """The jobs this profile has."""
        return tuple(self._jobs)

    def start(self, supervisor: Supervisor) -> None:
        """Start one loop per job that runs by itself."""
        for name, cadence in reaper.CADENCES.items():
            if name in self._jobs:
                now_us = self._clock.now_us()
                self._due_us[name] = now_us if cadence.at_start else cadence.next_us(now_us)
                supervisor.start(self._run_forever(name, cadence), name=name)

    async def run(self, name: str) -> dict[str, int]:
        """Run one job now.

        Returns:
            What it did, as counts.

        Raises:
            NotFound: this profile has no such job; the text lists those it has.
        """
        found = self._jobs.get(name)
        if found is None:
            known = ", ".join(self._jobs)
            raise NotFound(
                f"maintenance: {self._profile.name} has no job {name!r}; choose one of {known}", field="name"
            )
        counts = await found()
        if any(counts.values()):
            log.info("maintenance_done", job=name, **counts)
        return counts

    async def settle(self) -> None:
        """Wait until every job that is due by now has run."""
        while any(due_us <= self._clock.now_us() for due_us in self._due_us.values()):
            await self._round_over.wait()

    async def age_task(self, task_id: int, seconds: float) -> None:
        """Make one task look older, so that it is reaped while healthy ones are not.

        Raises:
            InvalidInput: seconds are negative or more than ten years.
            NotFound: no such task.
        """
        if not 0 <= seconds <= ADVANCE_S_MAX:
            raise InvalidInput(f"seconds: must be between 0 and {ADVANCE_S_MAX:.0f}, got {seconds!r}", field="seconds")
        if not await self._store.write(partial(tasks.age, task_id=task_id, by_us=round(seconds * SECOND_US))):
            raise NotFound(f"task {task_id} does not exist", field="task_id")

    async def _run_forever(self, name: str, cadence: reaper.Cadence) -> None:
        while True:
            await self._clock.sleep_until(self._due_us[name])
            try:
                await self.run(name)
            except Refusal as refusal:
                log.warning("maintenance_failed", job=name, reason=refusal.message)
            self._due_us[name] = cadence.next_us(self._clock.now_us())
            self._round_over.set()
            self._round_over = asyncio.Event()

    async def _stop_zombies(self) -> dict[str, int]:
        before_us = self._cutoff(self._timeouts.zombie_s)
        return {"stopped": await self._drain(partial(reaping.stop_silent, before_us=before_us, profile=self._profile))}

    async def _stop_endless(self) -> dict[str, int]:
        before_us = self._cutoff(self._timeouts.endless_s)
        return {"stopped": await self._drain(partial(reaping.stop_endless, before_us=before_us, profile=self._profile))}

    async def _cancel_abandoned(self) -> dict[str, int]:
        before_us = self._cutoff(self._timeouts.abandoned_s)
        intent = partial(reaping.cancel_abandoned, before_us=before_us, profile=self._profile)
        return {"cancelled": await self._drain(intent)}

    async def _clean_up(self) -> dict[str, int]:
        before_us = self._cutoff(reaper.LOG_RETENTION_S)
        return {
            "expired_logs": await self._drain(partial(reaping.expire_logs, before_us=before_us)),
            "removed_runners": await self._drain(reaping.remove_used_ephemeral),
        }

    async def _transfer_logs(self) -> dict[str, int]:
        before_us = self._cutoff(reaper.LINGERING_LOG_S)
        return {"sealed": await self._store.write(partial(reaping.seal_lingering, before_us=before_us))}

    async def _remove_offline(self) -> dict[str, int]:
        await self._directory.flush()
        before_us = self._cutoff(reaper.OFFLINE_RUNNER_S)
        return {"removed_runners": await self._drain(partial(reaping.remove_offline, before_us=before_us))}

    def _cutoff(self, timeout_s: float) -> int:
        return reaper.cutoff_us(self._clock.now_us(), timeout_s)

    async def _drain(self, intent: Callable[[Tx], int]) -> int:
        """Repeat an intent until it finds less than it may take; return the sum."""
        total = 0
        for _ in range(TURNS_MAX):
            count = await self._store.write(intent)
            total += count
            if count < reaping.ROWS_PER_INTENT:
                break
        return total
