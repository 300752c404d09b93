"""What a laboratory run is asked to do, as frozen values. `scenario_reader` makes them from YAML and checks them.

Durations are microseconds of virtual time, counted from the start of the simulation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mockgitea.core.downtime import Downtime
from mockgitea.core.faults import Fault
from mockgitea.core.profiles import DEFAULT_PROFILE
from mockgitea.lab.fleet import FleetPlan
from mockgitea.lab.shapes import JobShape
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.workload import Arrivals


class TimeMode(StrEnum):
    """Which clock a scenario runs on."""

    VIRTUAL = "virtual"
    REAL = "real"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadPlan:
    """Which jobs there are and when they come. ``shapes`` are taken in turns."""

    shapes: tuple[JobShape, ...]
    arrivals: Arrivals = field(default_factory=Arrivals)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlan:
    """The way between fleet and server."""

    round_trip_us: int = 0
    has_tls: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchPlan:
    """The people in front: when within each second their pages poll, and how many tasks a real watcher checks."""

    phase_us: int = 123_457
    """Odd on purpose: a poll never falls on the instant of anything else."""
    sampled_tasks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One experiment: the same fleet and work for each of the strategies."""

    name: str
    fleet: FleetPlan
    workload: WorkloadPlan
    strategies: tuple[StrategyChoice, ...]
    duration_us: int
    """Of the measured window, which follows the warm-up."""
    warm_up_us: int = 120_000_000
    seed: int = 1
    time: TimeMode = TimeMode.VIRTUAL
    profile: str = DEFAULT_PROFILE
    server: Mapping[str, Any] = field(default_factory=dict)
    """Overrides of server settings."""
    link: LinkPlan = field(default_factory=LinkPlan)
    faults: tuple[Fault, ...] = ()
    """Rules in force from the start on, in the order in which they are asked."""
    downtime: tuple[Downtime, ...] = ()
    watch: WatchPlan = field(default_factory=WatchPlan)
    description: str = ""

    @property
    def end_us(self) -> int:
        """When the simulation ends."""
        return self.warm_up_us + self.duration_us
