"""A fleet in virtual time goes through downtime that a seed draws, with answers lost on the way; what was seen is kept.

Draws and plays only; `downtimeverdict` judges.
"""

import math
import random
from dataclasses import dataclass

from mockgitea.core.call_record import CallRecord
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.faults import Fault, FaultKind, Stage
from mockgitea.lab.clocks import EPOCH_US
from mockgitea.lab.outages import Outage, outages
from virtualfleet import DONE, LABEL, FleetPlan, VirtualFleet, play
from virtualjobs import Execution
from virtualrunner import Exchange

PROFILES = ("gitea-1.27", "forgejo-15")
RUNNERS = 3
HEALTHY_S = 40.0
"""The fleet is left alone so long; its own rate is taken from this time."""
WINDOW_S_MAX = 60.0
END_S = 150.0
"""Every window and fault is over by then."""
ENDING_S_MAX = 1200.0
"""Within which the rest must end: closing budgets, then the reaper, then the jobs that still wait."""
ZOMBIE_S = 120.0
LOST_METHODS = ("FetchTask", "UpdateTask", "UpdateLog")


@dataclass(frozen=True, kw_only=True)
class DowntimePlan:
    """What one seed stands for."""

    seed: int
    profile: str
    capacities: tuple[int, ...]
    round_trip_us: int
    close_timeout_s: float
    windows: tuple[Downtime, ...]
    lost: tuple[Fault, ...]
    """Calls whose request or answer gets lost outside the windows too."""
    jobs: tuple[tuple[float, str], ...]
    """When each run is enqueued, and its workflow of one job."""

    @property
    def budget_s(self) -> float:
        """How long the runner tries each of the two closing calls."""
        return 3 * self.close_timeout_s


@dataclass(frozen=True, kw_only=True)
class StoredJob:
    """One job as the server shows it at the end."""

    run: int
    status: str
    rows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Story:
    """What an outsider saw. Times are microseconds of the simulation."""

    plan: DowntimePlan
    outages: tuple[Outage, ...]
    calls: tuple[CallRecord, ...]
    """``at_us`` counts from `EPOCH_US`."""
    wire: tuple[Exchange, ...]
    executions: tuple[Execution, ...]
    jobs: tuple[StoredJob, ...]


def draw(seed: int) -> DowntimePlan:
    """Draw windows, cuts, lost answers, profile, budgets and jobs from a seed."""
    rng = random.Random(f"downtime:{seed}")
    return DowntimePlan(
        seed=seed,
        profile=rng.choice(PROFILES),
        capacities=tuple(rng.choice((1, 1, 2, 3)) for _ in range(RUNNERS)),
        round_trip_us=rng.choice((0, 0, 2_000, 80_000)),
        close_timeout_s=rng.choice((10.0, 10.0, 10.0, 2.0)),
        windows=tuple(_windows(rng)),
        lost=tuple(_lost(rng)),
        jobs=tuple(_jobs(rng)),
    )


def tell(plan: DowntimePlan) -> Story:
    """Play a plan from an empty server to the end of its last job."""
    fleet_plan = FleetPlan(
        profile=plan.profile,
        seed=plan.seed,
        runners=RUNNERS,
        capacities=plan.capacities,
        round_trip_us=plan.round_trip_us,
        settings={"zombie_timeout_s": ZOMBIE_S},
        options={"report_close_timeout": f"{plan.close_timeout_s:g}s"},
    )

    async def scene(fleet: VirtualFleet) -> Story:
        return await _scene(plan, fleet)

    return play(scene, fleet_plan)


async def _scene(plan: DowntimePlan, fleet: VirtualFleet) -> Story:
    for rule in plan.windows:
        fleet.faults.add_downtime(rule)
    for fault in plan.lost:
        fleet.faults.add(fault)
    down = outages(fleet.faults.downtimes, start_us=EPOCH_US, end_us=EPOCH_US + round(END_S * 1e6))
    runs = []
    for number, (at_s, source) in enumerate(plan.jobs):
        await fleet.at(at_s)
        # A file of its own: some servers cancel the older run of a workflow when a newer one comes.
        runs.append(await fleet.enqueue(source, file=f"w{number}.yml"))
    await fleet.at(END_S)
    fleet.faults.reset()

    async def all_ended() -> bool:
        return all([set((await fleet.statuses(run)).values()) <= set(DONE) for run in runs])

    assert await fleet.until(all_ended, within_s=ENDING_S_MAX, step_s=5.0), "a job has not ended"
    await fleet.pass_time(2 * plan.budget_s)  # a runner whose task was reaped meanwhile may still tell its end
    jobs = []
    for run in runs:
        (status,) = (await fleet.statuses(run)).values()
        jobs.append(StoredJob(run=run, status=status, rows=tuple(await fleet.rows(run))))
    return Story(
        plan=plan,
        outages=down,
        calls=tuple(fleet.records()),
        wire=tuple(fleet.wire),
        executions=tuple(fleet.jobs.executions),
        jobs=tuple(jobs),
    )


def _windows(rng: random.Random) -> list[Downtime]:
    found, start_s = [], HEALTHY_S
    for number in range(rng.choice((1, 1, 2))):
        kind = rng.choice(tuple(DownKind))
        start_s += rng.uniform(0, 25)
        length_s = math.exp(rng.uniform(math.log(0.3), math.log(WINDOW_S_MAX)))
        length_s = min(length_s, END_S - start_s - 1)
        if length_s <= 0:
            break
        cuts = kind is not DownKind.REFUSED and rng.random() < 0.4
        found.append(Downtime(name=f"w{number}", kind=kind, start_s=start_s, duration_s=length_s, cuts=cuts))
        start_s += length_s + rng.uniform(0, 20)
    return found


def _lost(rng: random.Random) -> list[Fault]:
    found = []
    for method in LOST_METHODS:
        if rng.random() < 0.5:
            skip, every, times = rng.randint(0, 6), rng.randint(2, 4), rng.randint(1, 6)
            is_request = rng.random() < 0.5  # lost on its way to the server, or the answer on its way back
            kind, stage = (FaultKind.CLOSE, Stage.BEFORE) if is_request else (FaultKind.LOSE_ANSWER, Stage.AFTER)
            name = f"lost-{method}"
            found.append(Fault(name=name, kind=kind, stage=stage, method=method, skip=skip, every=every, times=times))
    return found


def _jobs(rng: random.Random) -> list[tuple[float, str]]:
    times = sorted([0.0, 0.0, *(rng.uniform(0, 100) for _ in range(rng.randint(2, 5)))])
    return [(at_s, _workflow(rng)) for at_s in times]


def _workflow(rng: random.Random) -> str:
    steps = []
    for _ in range(rng.randint(1, 3)):
        rows, over_s = rng.choice((0, 1, 15, 150, 400)), rng.uniform(1, 30)
        lines = [f"rows {rows} over {over_s:.3f}"] if rows else [f"sleep {over_s:.3f}"]
        steps.append("      - run: |\n" + "".join(f"          {line}\n" for line in lines))
    return f"on: push\njobs:\n  job:\n    runs-on: {LABEL}\n    steps:\n{''.join(steps)}"
