"""Runs one scenario under one strategy in virtual time, from an empty server to a `Result`.

The only place that puts the laboratory's parts together. Touches nothing outside itself but the program's log level
and the garbage collector's thresholds, both restored.
"""

import asyncio
import gc
import logging
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from mockgitea.core.profiles import profile_named
from mockgitea.lab.clocks import EPOCH_US, RunnerClock
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.fleet import Fleet
from mockgitea.lab.measure import Measure, MeasurePlan, TaskTrack
from mockgitea.lab.network import LinkPolicy, Network
from mockgitea.lab.outages import Outage, outages
from mockgitea.lab.result import Result, result_of
from mockgitea.lab.scenario import Scenario, TimeMode
from mockgitea.lab.server import LabServer
from mockgitea.lab.strategies import StrategyChoice, StrategyFactory, production
from mockgitea.lab.virtual_loop import VirtualLoop
from mockgitea.lab.watcher import PageWatcher
from mockgitea.lab.workload import Workload
from mockgitea.supervise import Supervisor

PROGRESS_STEPS: Final = 100
_GC_THRESHOLD: Final = 200_000
"""Objects between collections: a simulation makes millions that die at once, and few cycles."""

Progress = Callable[[float], None]
"""Hears the share of virtual time that has passed, 0 to 1."""


def run(
    scenario: Scenario,
    choice: StrategyChoice,
    *,
    factory: StrategyFactory = production,
    progress: Progress | None = None,
) -> Result:
    """Simulate and return the figures; the same arguments give the same result. Arguments as for `simulate`."""
    return simulate(scenario, choice, factory=factory, progress=progress)[1]


def simulate(
    scenario: Scenario,
    choice: StrategyChoice,
    *,
    factory: StrategyFactory = production,
    progress: Progress | None = None,
) -> tuple["Simulation", Result]:
    """Simulate and return the aggregates beside the figures.

    Args:
        scenario: in virtual time.
        choice: one of the scenario's strategies, or any other.
        factory: makes the strategies of each runner.
        progress: told about a hundred times.

    Raises:
        ScenarioError: the choice cannot be, or the scenario wants real time.
    """
    if scenario.time is not TimeMode.VIRTUAL:
        raise ScenarioError("time: this run is virtual; write `time: virtual`")
    try:
        factory(choice, scenario.fleet.capacity, random.Random(0))  # noqa: S311 - only to check the options
    except ValueError as error:
        raise ScenarioError(f"strategies: {choice.title}: {error}") from error
    with quiet_logs(), _rare_collections(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        simulation = Simulation(scenario, choice, factory)
        return simulation, runner.run(simulation.run(progress or (lambda _: None)))


class Simulation:
    """One run, and what can be looked at after it."""

    def __init__(self, scenario: Scenario, choice: StrategyChoice, factory: StrategyFactory) -> None:
        self._scenario = scenario
        self._choice = choice
        self._factory = factory
        self.watchers: dict[int, PageWatcher] = {}
        """Real watchers by task, as many as the scenario samples."""
        self.measure: Measure

    async def run(self, progress: Progress) -> Result:
        """Simulate from an empty server to the end of the scenario."""
        scenario, loop = self._scenario, asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop), "a simulation needs virtual time"
        clock = RunnerClock(loop)
        measure = self.measure = Measure(self._measure_plan(), clock.now_us)
        server = LabServer(
            loop,
            profile=scenario.profile,
            seed=scenario.seed,
            on_close=measure.closed,
            settings=dict(scenario.server),
        )
        await server.start()
        network = Network(clock, self._link_policy(), server.port)
        network.on_attempt = measure.attempted
        windows = self._add_rules(server)
        group = Supervisor()
        self._watch_samples(server, clock, group)
        workload = Workload(server.services, measure, clock, scenario.workload.shapes)
        fleet = Fleet(
            scenario.fleet,
            server=server,
            network=network,
            clock=clock,
            choice=self._choice,
            factory=self._factory,
            shapes={shape.name: shape for shape in scenario.workload.shapes},
            seed=scenario.seed,
        )
        await fleet.start(workload)
        arrivals = scenario.workload.arrivals.times(
            scenario.end_us,
            random.Random(f"{scenario.seed}:arrivals"),  # noqa: S311 - a reproducible simulation
        )
        group.start(workload.arrive(arrivals), name="arrivals")
        await self._pass_time(clock, fleet, progress)
        measure.finish()
        await group.close()
        await fleet.close()
        await server.close()
        return result_of(scenario, self._choice, measure, network.counts, windows=windows)

    async def _pass_time(self, clock: RunnerClock, fleet: Fleet, progress: Progress) -> None:
        end_us = self._scenario.end_us
        for step in range(1, PROGRESS_STEPS + 1):
            await clock.sleep_until(end_us * step // PROGRESS_STEPS)
            fleet.check()
            progress(step / PROGRESS_STEPS)

    def _add_rules(self, server: LabServer) -> tuple[Outage, ...]:
        """Put the scenario's rules in force, and return when they will keep the server down."""
        for fault in self._scenario.faults:
            server.faults.add(fault)
        for downtime in self._scenario.downtime:
            server.faults.add_downtime(downtime)
        self.measure.downtimes = frozenset(downtime.name for downtime in self._scenario.downtime)
        return outages(server.faults.downtimes, start_us=EPOCH_US, end_us=EPOCH_US + self._scenario.end_us)

    def _watch_samples(self, server: LabServer, clock: RunnerClock, group: Supervisor) -> None:
        wanted, phase_us = self._scenario.watch.sampled_tasks, self._scenario.watch.phase_us

        def assigned(task_id: int, track: TaskTrack) -> None:
            if len(self.watchers) < wanted:
                watcher = self.watchers[task_id] = PageWatcher(server, clock, track.run_id, phase_us)
                group.start(watcher.watch(), name=f"watcher-{task_id}")

        self.measure.on_assigned = assigned

    def _measure_plan(self) -> MeasurePlan:
        scenario = self._scenario
        return MeasurePlan(
            start_us=scenario.warm_up_us,
            end_us=scenario.end_us,
            phase_us=scenario.watch.phase_us,
            capacity=scenario.fleet.capacity,
            epoch_us=EPOCH_US,
            any_step=profile_named(scenario.profile).set_up_ends_at_any_step,
            sampled_tasks=scenario.watch.sampled_tasks,
        )

    def _link_policy(self) -> LinkPolicy:
        link = self._scenario.link
        return LinkPolicy(round_trip_us=link.round_trip_us, has_tls=link.has_tls)


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep both programs' logs quiet: thousands of runners would drown everything, and formatting costs time."""
    before = structlog.get_config() if structlog.is_configured() else None
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL), cache_logger_on_first_use=False
    )
    try:
        yield
    finally:
        if before is None:  # a process that had not chosen where logs go must not look as if it had
            structlog.reset_defaults()
        else:
            structlog.configure(**before)


@contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
