"""Plays a schedule: bad days first, then everything is healed and must come to its end, then quiet is measured.

Only acts and observes; whether what it saw is right is the checkers' business.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from draw_work import SECRETS, Work
from history import Deed, Ending, History, Quiet, Sight, StoredLog
from schedule import (
    FAULTY_S,
    Act,
    Cancel,
    DeleteRunner,
    Enqueue,
    Event,
    Heal,
    KillRunner,
    ReplaceServer,
    Rerun,
    Schedule,
    StopRunner,
)

from actionsrunner.exits import Exit
from mockgitea.core.calls import Method
from mockgitea.core.downtime import Downtime
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import Fault
from mockgitea.core.profiles import profile_named
from mockgitea.lab.network import ConnectionEnded, ConnectionReset
from virtualfleet import DONE, LABEL, FleetPlan, VirtualFleet, play
from virtualrunner import VirtualRunner

T = TypeVar("T")

WARM_UP_S: Final = 30.0
CALM_S: Final = 60.0
"""How long the finished system is watched."""
HEALING_S: Final = 3600.0
"""Most time that everything may take to end after the last fault: reaping takes up to seven minutes, work the rest."""
PATIENCE_S: Final = 480.0
"""A person looks so long at a run that does not go on."""
LOOK_S: Final = 6.0
"""Between two looks at the pages."""
VISIT_S: Final = 13.0
RESTART_S: Final = 10.0
"""A supervisor starts a daemon again after so long."""
ZOMBIE_S: Final = 120.0
AFTERWARDS: Final = Work(
    "after.yml", f"on: push\njobs:\n  j0:\n    runs-on: {LABEL}\n    steps:\n      - run: rows 3 over 3\n"
)


class World:
    """One simulation under way."""

    def __init__(self, schedule: Schedule, fleet: VirtualFleet) -> None:
        self._schedule = schedule
        self._fleet = fleet
        self._runs: list[int] = []
        self._done: set[int] = set()
        self._deeds: list[Deed] = []
        self._endings: list[Ending] = []
        self._sights: list[Sight] = []
        self._seen: dict[tuple[int, str], str] = {}
        self._pages: set[str] = set()
        self._rules: dict[str, str] = {}
        self._gone: set[str] = set()

    async def play(self) -> History:
        """Live through the schedule and return what was seen."""
        fleet = self._fleet
        await fleet.at(WARM_UP_S)
        tasks_before = await self._least_tasks()
        async with asyncio.TaskGroup() as group:
            helpers = [group.create_task(one) for one in (self._look(), self._supervise(), self._visit())]
            for act in self._schedule.acts:
                await fleet.at(WARM_UP_S + act.at_s)
                await self._do(act)
            await fleet.at(WARM_UP_S + FAULTY_S)
            healed_us = await self._heal()
            if not profile_named(self._schedule.profile).resolves_after_server_stop:
                await self._free_the_stuck()
            await fleet.until(self._all_done, within_s=HEALING_S, step_s=LOOK_S)
            for one in helpers:
                one.cancel()
        await self._see_all()
        await fleet.pass_time(CALM_S)
        start_us = fleet.clock.now_us()
        await fleet.pass_time(CALM_S)
        tasks_now = await self._least_tasks()
        quiet = Quiet(
            start_us=start_us,
            end_us=fleet.clock.now_us(),
            unfinished_runs=tuple(run for run in self._runs if run not in self._done),
            runners=tuple(runner.name for runner in fleet.runners if runner.is_running),
            figures=await self._fleet.figures(),
            asyncio_tasks=(tasks_before, tasks_now),
        )
        return await self._history(healed_us, quiet)

    # Acts

    async def _do(self, act: Act) -> None:
        event = act.event
        handler = _HANDLERS[type(event)]
        try:
            await handler(self, event)
        except InvalidInput as error:
            self._note(f"{type(event).__name__} was refused: {error}")

    async def _enqueue(self, event: Enqueue) -> None:
        run = await self._fleet.enqueue(event.work.source, file=event.work.file, secrets=SECRETS)
        self._runs.append(run)
        self._note(f"enqueued {event.work.file}", run=run)

    async def _cancel(self, event: Cancel) -> None:
        if self._runs:
            run = _picked(self._runs, event.pick)
            self._note("cancelled", run=run)
            await self._fleet.cancel(run)

    async def _rerun(self, event: Rerun) -> None:
        if self._runs:
            run = _picked(self._runs, event.pick)
            await self._fleet.rerun(run, failed_only=event.failed_only)
            self._done.discard(run)
            self._note("rerun", run=run)

    async def _stop_runner(self, event: StopRunner) -> None:
        runner = self._runner(event.pick)
        for _ in range(event.signals):
            self._note("signal", runner=runner.name)
            runner.ask_to_stop()
            await self._fleet.pass_time(event.gap_s)

    async def _kill_runner(self, event: KillRunner) -> None:
        runner = self._runner(event.pick)
        self._note("killed", runner=runner.name)
        await runner.kill()

    async def _delete_runner(self, event: DeleteRunner) -> None:
        runner = self._runner(event.pick)
        self._note("deleted", runner=runner.name)
        await self._fleet.delete_runner(runner)

    async def _replace_server(self, event: ReplaceServer) -> None:
        self._note("server killed" if event.is_kill else "server stopped")
        await self._fleet.replace_server(down_s=event.down_s, is_kill=event.is_kill)
        self._note("server started")

    async def _add_fault(self, fault: Fault) -> None:
        self._rules[fault.name] = fault.kind
        self._fleet.faults.add(fault)

    async def _add_downtime(self, downtime: Downtime) -> None:
        self._fleet.faults.add_downtime(downtime)

    async def _reset(self, event: Heal) -> None:
        del event
        self._fleet.faults.reset()

    async def _heal(self) -> int:
        self._fleet.faults.reset()
        self._note("healed")
        healed_us = self._fleet.clock.now_us()
        # Runners that a rule has put to sleep wake up with the next push; and a healthy system must do its work.
        await self._enqueue(Enqueue(AFTERWARDS))
        return healed_us

    async def _free_the_stuck(self) -> None:
        """Cancel what stays blocked: these releases forget the jobs that wait for one that the server has ended."""
        await self._fleet.until(self._all_done, within_s=PATIENCE_S, step_s=LOOK_S)
        for run in self._runs:
            if run not in self._done and {*(await self._fleet.statuses(run)).values()} <= {*DONE, "blocked"}:
                self._note("cancelled, because it was stuck", run=run)
                await self._fleet.cancel(run)

    def _runner(self, pick: float) -> VirtualRunner:
        return _picked(self._fleet.runners, pick)

    def _note(self, what: str, *, run: int | None = None, runner: str | None = None) -> None:
        self._deeds.append(Deed(self._fleet.clock.now_us(), what, run, runner))

    # Who lives beside

    async def _supervise(self) -> None:
        """Start daemons again that have ended, and register new ones for those that are unknown."""
        while True:
            await self._fleet.pass_time(RESTART_S)
            for runner in list(self._fleet.runners):
                if runner.is_running or runner.name in self._gone:
                    continue
                how = "killed" if runner.exit is None else runner.exit.name.lower()
                self._endings.append(Ending(self._fleet.clock.now_us(), runner.name, how))
                if runner.exit is Exit.UNREGISTERED and self._fleet.is_up:
                    self._gone.add(runner.name)
                    fresh = await self._fleet.add_runner()
                    self._note(f"registered in place of {runner.name}", runner=fresh.name)
                elif runner.exit is not Exit.UNREGISTERED:
                    self._note(f"started again after {runner.exit!r}", runner=runner.name)
                    self._fleet.start_runner(runner)
            self._fleet.check()

    async def _look(self) -> None:
        """Look at every run's page again and again, past all faults."""
        while True:
            await self._fleet.pass_time(LOOK_S)
            await self._see_all()

    async def _see_all(self) -> None:
        for run in self._runs:
            if run not in self._done and self._fleet.is_up:
                await self._see(run)

    async def _see(self, run: int) -> None:
        state = (await self._fleet.page(run))["state"]["run"]
        for place, job in enumerate(state["jobs"]):
            key = str(job.get("id", place))
            if self._seen.get((run, key)) != job["status"]:
                self._seen[run, key] = job["status"]
                self._sights.append(Sight(self._fleet.clock.now_us(), run, key, job["name"], job["status"]))
        # Some releases call a run done as soon as one of its jobs is cancelled.
        if state["done"] and all(job["status"] in DONE for job in state["jobs"]):
            self._done.add(run)

    async def _visit(self) -> None:
        """Be a person whose page polls through whatever is wrong with the server."""
        while self._fleet.clock.now_us() < (WARM_UP_S + FAULTY_S) * 1e6:
            await self._fleet.pass_time(VISIT_S)
            for run in self._runs[:2] if self._fleet.is_up else ():
                with contextlib.suppress(ConnectionReset, ConnectionEnded):
                    self._pages.add(await self._fleet.visit(run))

    async def _all_done(self) -> bool:
        return all(run in self._done for run in self._runs)

    async def _least_tasks(self) -> int:
        """Return the least number of tasks of the event loop over some seconds: that of a system with no call."""
        found = []
        for _ in range(20):
            await self._fleet.pass_time(0.37)
            found.append(len(asyncio.all_tasks()))
        return min(found)

    # At the end

    async def _history(self, healed_us: int, quiet: Quiet) -> History:
        fleet = self._fleet
        logs: list[StoredLog] = []
        for run in self._runs:
            jobs = (await fleet.page(run))["state"]["run"]["jobs"]
            for place, job in enumerate(jobs):
                rows = tuple(await fleet.rows(run, place))
                logs.append(StoredLog(run, str(job.get("id", place)), job["name"], rows))
        reports = (Method.UPDATE_LOG, Method.UPDATE_TASK)
        return History(
            calls=fleet.records(),
            sent=[entry.request for _, entry in fleet.entries if entry.method in reports],
            wire=tuple(fleet.wire),
            executions=tuple(fleet.jobs.executions),
            sights=self._sights,
            deeds=self._deeds,
            endings=self._endings,
            logs=logs,
            pages=sorted(self._pages),
            capacity={runner.name: runner.capacity for runner in fleet.runners},
            rules=self._rules,
            secrets=SECRETS,
            healed_us=healed_us,
            quiet=quiet,
            counted=fleet.counted,
        )


def simulate(schedule: Schedule, folder: Path) -> History:
    """Play one schedule from an empty server to the end."""
    plan = FleetPlan(
        profile=schedule.profile,
        seed=schedule.seed,
        runners=schedule.runners,
        capacities=schedule.capacities,
        skews_s=schedule.skews_s,
        round_trip_us=schedule.round_trip_us,
        database=str(folder / f"{schedule.seed}.db") if schedule.has_file else ":memory:",
        settings={"zombie_timeout_s": ZOMBIE_S},
        options={"shutdown_timeout": "5s"},
    )

    async def scene(fleet: VirtualFleet) -> History:
        return await World(schedule, fleet).play()

    return play(scene, plan)


def _picked(among: Sequence[T], pick: float) -> T:
    return among[int(pick * len(among))]


_HANDLERS: Final[dict[type[Event], Callable[[World, Any], Any]]] = {
    Enqueue: World._enqueue,
    Cancel: World._cancel,
    Rerun: World._rerun,
    StopRunner: World._stop_runner,
    KillRunner: World._kill_runner,
    DeleteRunner: World._delete_runner,
    ReplaceServer: World._replace_server,
    Heal: World._reset,
    Fault: World._add_fault,
    Downtime: World._add_downtime,
}
