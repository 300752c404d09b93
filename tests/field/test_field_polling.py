"""F1 to F12: what idle runners cost, how soon they notice work, and what keeps a fleet out of step."""

import asyncio
import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import httpx
import pytest

from mockgitea.core.faults import Fault, FaultKind
from mockgitea.testing import MockGitea
from runnerapp import running
from virtualfleet import FleetPlan, VirtualFleet, play
from virtualrunner import Exchange

ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
FLEET = 40
BIN_US = 500_000


def sleeping(seconds: int) -> str:
    return f"on: push\njobs:\n  a: {{runs-on: linux, steps: [{{run: sleep {seconds}}}]}}\n"


def method(exchange: Exchange) -> str:
    return exchange.path.rpartition("/")[2]


def fetches(wire: Iterable[Exchange], begin_s: float = 0, end_s: float = 1e9) -> list[Exchange]:
    """The fetches that began in a span of virtual time."""
    return [one for one in wire if method(one) == "FetchTask" and begin_s <= one.began_us / 1e6 < end_s]


def peak(wire: Iterable[Exchange], begin_s: float, end_s: float) -> int:
    """Most fetches that began within the same half second."""
    return max(Counter(one.began_us // BIN_US for one in fetches(wire, begin_s, end_s)).values())


def database_calls(server: MockGitea) -> int:
    """Reads and writes so far of a database in memory; to ask is one more."""
    page = httpx.get(f"{server.control_url}/metrics", timeout=30).text
    found = re.search(r"^mockgitea_store_calls_total (\S+)", page, re.MULTILINE)
    assert found is not None
    return int(float(found[1]))


@pytest.fixture(scope="module")
def idle_fleet() -> list[Exchange]:
    """Three minutes of runners that were all switched on in the same instant and find nothing to do."""

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        await fleet.pass_time(180)
        return fleet.wire

    return play(scene, FleetPlan(runners=FLEET))


def test_f001_empty_polls_touch_neither_database_nor_log(caplog: pytest.LogCaptureFixture) -> None:
    """Nearly every fetch found nothing, and yet each one cost a transaction and lines in the log.

    A hundred empty fetches neither read nor write the database, and leave no record that is shown by default.
    """
    with MockGitea(clock="manual") as server, server.new_runner().play() as played:
        played.declare()
        played.fetch()
        server.settle()
        before = database_calls(server)
        with caplog.at_level(logging.INFO):
            assert [played.fetch() for _ in range(100)] == [None] * 100
        assert database_calls(server) == before + 1
        assert not caplog.records
        server.journal.assert_requests(method="FetchTask", outcome="empty", count=101)


def test_f002_idle_fleet_polls_at_its_slow_rate_and_does_nothing_else(idle_fleet: list[Exchange]) -> None:
    """Sixty runners that polled at full speed kept a server busy and hid its log.

    Each settles at one fetch in five seconds, spread by a fifth, and sends nothing but that.
    """
    late = [one for one in idle_fleet if one.began_us >= 60e6]
    assert {method(one) for one in late} == {"FetchTask"}
    for count in Counter(one.runner for one in late).values():
        assert 120 / 6 <= count <= 120 / 4
    assert len(late) / 120 == pytest.approx(FLEET / 5, rel=0.1)


def test_f003_throttled_runner_gets_its_job_although_nothing_new_is_queued(tmp_path: Path) -> None:
    """Look-ups in the queue were unbounded; once bounded, those who were turned away must not think all is quiet.

    While every look-up is throttled the job waits, and the first one that is let through finds it.
    """

    async def scenario() -> None:
        async with MockGitea(max_concurrent_task_picks=0) as server:
            run = server.enqueue(ONE)
            async with running(server, tmp_path, known=server.new_runner()):
                throttled = await server.journal.wait_for_async("FetchTask", n=4, outcome="empty")
                assert {call.response["tasks_version"] for call in throttled if call.response} == {0}
                url = f"{server.control_url}/control/v1/settings"
                async with httpx.AsyncClient() as http:
                    (await http.patch(url, json={"max_concurrent_task_picks": 1})).raise_for_status()
                assert await run.wait_async() == "success"

    asyncio.run(scenario())


def test_f005_silent_jobs_cost_a_heartbeat_and_no_other_call() -> None:
    """Fixed timers sent a poll every two seconds and two reports a second for each task, whatever happened.

    Ten busy runners whose jobs say nothing are heard about every ten seconds; no rows are sent, nothing is fetched.
    """

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        for _ in range(10):
            await fleet.enqueue(sleeping(600))
        await fleet.pass_time(400)
        return fleet.wire

    wire = play(scene, FleetPlan(runners=10))
    calls = [one for one in wire if 60e6 <= one.began_us < 360e6]
    assert {method(one) for one in calls} == {"UpdateTask"}
    assert 10 * 300 / 15 <= len(calls) <= 10 * 300 / 9


def test_f006_runner_with_many_slots_is_one_poller_and_none_while_it_is_full() -> None:
    """With a poller for each slot, sixty slots were sixty pollers, which went on while all of them were taken.

    Ten slots poll like one runner, never twice at once and never while full, and at once when a slot is free.
    """

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        await fleet.pass_time(60)
        for number in range(10):
            await fleet.enqueue(sleeping(100 + 20 * number))
        await fleet.pass_time(140)
        return fleet.wire

    wire = play(scene, FleetPlan(runners=1, capacities=(10,), round_trip_us=50_000))
    polls = fetches(wire)
    assert len(fetches(wire, 20, 60)) <= 40 / 4 + 1
    assert all(before.ended_us <= after.began_us for before, after in itertools.pairwise(polls))
    results = [one.ended_us for one in wire if method(one) == "UpdateTask" and one.began_us >= 150e6]
    first = min(one.began_us for one in polls if one.began_us > 100e6)
    full_from = max(one.ended_us for one in polls if one.ended_us < 100e6)
    assert first - full_from > 80e6
    assert min(abs(first - ended_us) for ended_us in results) < 100_000


def test_f007_job_is_picked_up_within_the_idle_limit_after_a_long_quiet_time() -> None:
    """A limit made for large fleets let a small site wait for more than a minute until a job was noticed.

    With the defaults a runner that has been idle for long takes a job within five seconds and a fifth.
    """

    async def scene(fleet: VirtualFleet) -> list[float]:
        waits = []
        for number in range(6):
            await fleet.pass_time(203.7 + 0.9 * number)
            asked_us = fleet.clock.now_us()
            await fleet.enqueue(sleeping(1))
            await fleet.pass_time(8)
            waits.append((fleet.jobs.executions[-1].started_us - asked_us) / 1e6)
        return waits

    waits = play(scene, FleetPlan(runners=1))
    assert max(waits) <= 6
    assert len(set(waits)) == 6


def test_f009_fleet_that_was_switched_on_at_once_does_not_stay_in_step(idle_fleet: list[Exchange]) -> None:
    """After a power cut thousands of runners kept for ever the phase in which they had been switched on.

    The first fetches coincide; minutes later no half second sees a third of them. Without jitter they all still do.
    """
    assert peak(idle_fleet, 0, 1) >= FLEET
    assert peak(idle_fleet, 100, 180) <= FLEET / 3

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        await fleet.pass_time(180)
        return fleet.wire

    in_step = play(scene, FleetPlan(runners=10, options={"poll": {"jitter": False}}))
    assert peak(in_step, 100, 180) == 10


def test_f010_chain_of_jobs_loses_no_time_between_two_of_them() -> None:
    """With an interval between any two fetches a pipeline whose steps make steps waited at each of them.

    After a task the next fetch is immediate, so four jobs that need each other follow within moments.
    """
    chain = "".join(
        f"  {name}: {{{f'needs: {before}, ' if before else ''}runs-on: linux, steps: [{{run: sleep 5}}]}}\n"
        for before, name in zip(("", "a", "b", "c"), "abcd", strict=True)
    )

    async def scene(fleet: VirtualFleet) -> list[float]:
        await fleet.pass_time(60)
        await fleet.enqueue(f"on: push\njobs:\n{chain}")
        await fleet.pass_time(60)
        done = fleet.jobs.executions
        assert [one.job for one in done] == list("abcd")
        return [(after.started_us - (before.ended_us or 0)) / 1e6 for before, after in itertools.pairwise(done)]

    assert max(play(scene, FleetPlan(runners=1, round_trip_us=20_000))) < 0.5


def test_f011_runners_that_failed_together_do_not_come_back_together() -> None:
    """Workers that met the same failure waited for the same time, and returned as one wave after the other.

    A fleet that was refused from its first fetch on has spread when the server recovers: there is no wave.
    """

    async def scene(fleet: VirtualFleet) -> list[Exchange]:
        fleet.faults.add(Fault(name="away", kind=FaultKind.REFUSE, method="FetchTask", code="unavailable", until_s=120))
        await fleet.pass_time(150)
        return fleet.wire

    wire = play(scene, FleetPlan(runners=FLEET))
    assert {one.status for one in fetches(wire, 0, 119)} == {503}
    back = fetches(wire, 120, 150)
    assert {one.status for one in back} == {200}
    assert peak(wire, 120, 150) <= FLEET / 3
    assert {one.runner for one in fetches(wire, 120, 127)} == {one.runner for one in back}
