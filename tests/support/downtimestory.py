"""One story for every kind of window, with real processes: jobs run, the server goes away, some end, it is back.

Which jobs end while the server is away, how much they print and whether open connections are cut comes from a seed.
"""

import os
import random
import time
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from downtimechecks import SECOND_US, busiest_second, count_between, recovery_us
from downtimefleet import WAIT_S, DownFleet
from eventually import eventually

JOBS = 4
REFERENCE_CALLS = 20
"""Calls of the healthy fleet that its own rate is taken from."""
FAILED_FETCHES = {"planned": 6, "refused": 6, "black-hole": 2}
"""So many polls of one runner fail before the server is back, two seconds in all; into a black hole, each."""
FULL_WAIT_S = 0.5 * 0.8
"""The longest wait between two polls, jitter off; reached with the third failure in a row."""
RATE_RATIO_MAX = 1.5
SURGE_RATIO_MAX = 2.5
RECOVERY_S_MAX = 3.0
"""Half a second to the next poll or report, and what two busy cores add."""
REAL_SEEDS = int(os.environ.get("DOWNTIME_REAL_SEEDS", "1"))


def seeds(first: int) -> list[int]:
    """Return the seeds of one kind of window."""
    return list(range(first, first + REAL_SEEDS))


def check_window(fleet: DownFleet, kind: str, seed: int) -> None:
    """Play the story and bound its rates by the fleet's own; prints how to play it again."""
    file = f"tests/integration/test_downtime_{kind.replace('-', '_')}.py"
    print(f"seed {seed}; rerun: DOWNTIME_REAL_SEEDS={REAL_SEEDS} pytest -n 0 {file} -k {seed}")
    told = through_window(fleet, kind, seed)
    print(told)
    assert told.during_per_s <= RATE_RATIO_MAX * told.before_per_s, f"more while the server was away: {told}"
    assert told.busiest_after <= SURGE_RATIO_MAX * told.before_per_s, f"a surge after it came back: {told}"
    assert told.recovery_s <= RECOVERY_S_MAX, f"slow to come back: {told}"


@dataclass(frozen=True)
class Told:
    """Figures of one story."""

    before_per_s: float
    during_per_s: float
    during_s: float
    busiest_after: int
    recovery_s: float


def through_window(fleet: DownFleet, kind: str, seed: int) -> Told:
    """Play the story and check everything but the rates, which the caller bounds."""
    rng = random.Random(seed)
    fields = {"cuts": rng.random() < 0.5} if kind != "refused" else {}
    jobs = fleet.enqueue(JOBS, burst=rng.choice([1, 5, 40]))
    rng.shuffle(jobs)
    ending = jobs[: rng.randint(1, 2)]
    fleet.started(jobs)
    before_per_s = reference_rate(fleet)
    down_s, down_us = time.time(), fleet.now_us()
    fleet.down(kind, **fields)
    for job in ending:
        job.end()
    for job in ending:
        eventually(lambda job=job: job.printed, within_s=WAIT_S)  # type: ignore[misc]  # as above
    eventually(lambda: longest_streak(fleet, down_s), lambda streak: streak >= FAILED_FETCHES[kind], within_s=WAIT_S)
    assert all(fleet.mock.job(job.run_id, job.name)["status"] == "running" for job in jobs), "nothing can get through"
    up_us = fleet.now_us()
    fleet.up()
    for runner in fleet.runners:
        fleet.wait_for(runner=runner.identity["uuid"], outcome=["ok", "empty", "task"], after_us=up_us)
    for job in jobs:
        job.end()
    assert set(fleet.statuses(jobs).values()) == {"success"}
    fleet.check(jobs)
    check_polls(fleet, down_s)
    calls = fleet.calls()
    during = attempts(fleet, count_between((call.at_us for call in calls), down_us, up_us), down_s=down_s)
    during_s = (up_us - down_us) / SECOND_US
    return Told(
        before_per_s=before_per_s,
        during_per_s=during / during_s,
        during_s=during_s,
        busiest_after=busiest_second(call.at_us for call in calls if call.at_us >= up_us),
        recovery_s=max(recovery_us(calls, up_us).values()) / SECOND_US,
    )


def longest_streak(fleet: DownFleet, since_s: float) -> int:
    """Return the most polls of one runner that have failed one after the other."""
    return max((line["streak"] for line in fleet.failures("fetch_failed", since_s)), default=0)


def check_polls(fleet: DownFleet, since_s: float) -> None:
    """Check by each runner's own log that its polls grew apart while they failed."""
    for runner in fleet.runners:
        lines = fleet.failures("fetch_failed", since_s, of=[runner])
        for before, after in pairwise(lines):
            if after["streak"] > before["streak"] >= 3:
                gap = datetime.fromisoformat(after["timestamp"]) - datetime.fromisoformat(before["timestamp"])
                assert gap.total_seconds() >= FULL_WAIT_S, f"polled again after {gap}: {before}, {after}"


def reference_rate(fleet: DownFleet) -> float:
    """Return the fleet's own calls a second, from now on and for `REFERENCE_CALLS` calls."""
    start_us = fleet.now_us()
    before = fleet.calls_total
    calls = eventually(lambda: fleet.calls_total - before, lambda found: found >= REFERENCE_CALLS, within_s=WAIT_S)
    return calls * SECOND_US / (fleet.now_us() - start_us)


def attempts(fleet: DownFleet, arrived: int, *, down_s: float) -> int:
    """Return how often runners tried while the server was away; a closed port shows in their own logs only."""
    fetches = len(fleet.failures("fetch_failed", down_s))
    reports = sum(int(line["failed_calls"]) for line in fleet.failures("report_recovered", down_s))
    return max(arrived, fetches + reports)
