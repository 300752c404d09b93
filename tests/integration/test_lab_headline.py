"""What polling and reporting cost, in virtual time: the rates, cycles, herds and storms that the project is about.

Fleets are scaled down where the fleet's rate is the sum of its runners' rates; `make lab-test` runs them in full.
"""

import pytest

from labruns import IS_FULL, figures, full_size, preset
from mockgitea.lab.result import Result

pytestmark = pytest.mark.slow

RUNNERS = 200 if IS_FULL else 2
SHARE = RUNNERS / 200
DURATION_S = 600 if IS_FULL else 300
SLOTS = 60 if IS_FULL else 10
"""Of each of three runners."""


@pytest.fixture(scope="module")
def fixed() -> Result:
    return preset("headline", "fixed", runners=RUNNERS, duration_s=DURATION_S)


@pytest.fixture(scope="module")
def single() -> Result:
    return preset("headline", "single", runners=RUNNERS, duration_s=DURATION_S)


def test_fixed_makes_thirteen_hundred_requests_a_second(fixed: Result) -> None:
    assert fixed.rates["FetchTask"] == pytest.approx(SHARE * 100, rel=0.02)
    assert fixed.rates["UpdateLog"] == pytest.approx(SHARE * 600, rel=0.02)
    assert fixed.rates["UpdateTask"] == pytest.approx(SHARE * 600, rel=0.02)
    assert fixed.rates["total"] == pytest.approx(SHARE * 1300, rel=0.02)
    assert fixed.tasks == {"assigned": 3 * RUNNERS, "closed": 0, "reaped": 0, "waiting_at_end": 0}


def test_single_saves_87_per_cent(fixed: Result, single: Result) -> None:
    assert single.rates["total"] <= SHARE * 170
    assert single.rates["total"] <= (1 - 0.869) * fixed.rates["total"]
    assert single.tasks == fixed.tasks


def test_single_shows_steps_within_a_second_and_the_page_s_own(fixed: Result, single: Result) -> None:
    for result in (fixed, single):
        assert result.steps_visible["count"] > 0
        assert result.steps_stored["max_s"] <= 1.0
        assert result.steps_visible["max_s"] <= 1.0 + 1.0


def test_rows_are_visible_within_the_interval_of_their_strategy_and_the_page_s_second(
    fixed: Result, single: Result
) -> None:
    assert fixed.rows["max_s"] <= 1.0 + 1.0
    assert 2.0 < single.rows["max_s"] <= 5.0 + 1.0
    assert fixed.rows_unseen <= 2 * 200 * RUNNERS  # what the last second wrote


def test_current_pays_for_quick_pickup_and_for_being_heard(fixed: Result) -> None:
    result = preset("headline", "current", runners=RUNNERS, duration_s=DURATION_S)
    assert result.rates["total"] <= 0.2 * fixed.rates["total"]
    assert result.heartbeat["max_s"] <= 10.5
    assert result.rows["max_s"] <= 5.0 + 1.0
    assert result.steps_visible["max_s"] <= 1.0 + 1.0


def test_an_idle_fleet_opens_one_connection_for_each_runner(fixed: Result, single: Result) -> None:
    """Calls that take no time do not overlap, so that two idle connections are never too few."""
    assert fixed.connections["opened"] == single.connections["opened"] == RUNNERS


CAPACITY = """
fleet: {{runners: 3, capacity: {slots}, start_spread_s: 1, running_tasks: {running}}}
workload: {{shape: silent}}
strategies: [{{name: current}}]
warm_up_s: 126
duration_s: {duration}
"""


@pytest.mark.parametrize(
    ("strategy", "cycle_s", "idle", "full"),
    [
        ("fixed", 2, 3, 0),
        ("per-worker", 60, 3 * SLOTS, 0),
        ("single", 60, 3, 0),
        ("fixed-claimed", 2, 3, 3),
        ("per-worker-claimed", 60, 3 * SLOTS, 3 * SLOTS),
    ],
)
def test_fetches_of_three_runners_with_many_slots_in_one_cycle(
    strategy: str, cycle_s: int, idle: int, full: int
) -> None:
    cycles = 5
    # Reports say nothing about polls, so jobs that write nothing and report nothing stand for all.
    quiet = {"strategy": "event-driven"}
    text = [CAPACITY.format(slots=SLOTS, running=running, duration=cycles * cycle_s) for running in (0, SLOTS)]
    free, taken = (figures(one, strategy, report=quiet) for one in text)
    assert free.rates["FetchTask"] * cycle_s == pytest.approx(idle, rel=0.1)
    assert taken.rates.get("FetchTask", 0.0) * cycle_s == pytest.approx(full, rel=0.05)
    assert taken.fetches["while_full"] == pytest.approx(cycles * full, rel=0.05)
    assert free.fetches["while_full"] == 0


@full_size
@pytest.mark.parametrize(("strategy", "cycle_s", "idle", "full"), [("fixed", 2, 3, 0), ("per-worker", 60, 180, 0)])
def test_the_same_with_the_presets_own_jobs_and_reports(strategy: str, cycle_s: int, idle: int, full: int) -> None:
    free, taken = preset("capacity-60", strategy), preset("capacity-60-full", strategy)
    assert free.rates["FetchTask"] * cycle_s == pytest.approx(idle, rel=0.05)
    assert taken.rates.get("FetchTask", 0.0) * cycle_s == full


@pytest.fixture(scope="module")
def outage() -> Result:
    return preset("outage", "single")


def test_without_jitter_all_runners_come_back_in_one_second() -> None:
    (recovery,) = preset("outage", "single-no-jitter").recoveries
    assert recovery["busiest_second"] == 200
    assert recovery["herd_index"] > 50


def test_with_jitter_about_nine_come_back_in_the_busiest_second(outage: Result) -> None:
    (recovery,) = outage.recoveries
    assert sum(recovery["tenths"][:600]) == pytest.approx(200, abs=40)
    assert 6 <= recovery["busiest_second"] <= 13
    assert recovery["herd_index"] < 5


def test_one_counter_lets_the_second_poll_come_soon_and_two_do_not(outage: Result) -> None:
    one = preset("outage", "single-one-counter").recoveries[0]["second_poll"]
    two = outage.recoveries[0]["second_poll"]
    assert one["count"] == 200
    # The first poll after the recovery comes at the back-off's cap, the second two seconds or a minute later.
    assert one["mean_s"] == pytest.approx(30 + 2, abs=6)
    assert two["mean_s"] == pytest.approx(30 + 60, abs=8)


STORM = """
fleet: {runners: 1, capacity: 2, start_spread_s: 5, running_tasks: 1}
workload: {shape: bursty-install, burst_piece_rows: 1}
strategies: [{name: current}]
downtime: [{kind: planned, start_s: 60, duration_s: 120}]
warm_up_s: 30
duration_s: 151
"""
STORMING = ("fixed", "current-every-row", "current")


def test_every_row_storms_through_an_outage_of_running_jobs_and_interval_does_not() -> None:
    tried = {name: figures(STORM, name).recoveries[0]["tried_during_per_s"] for name in STORMING}
    assert tried["fixed"] == pytest.approx(2 + 0.5, rel=0.02)
    assert tried["current-every-row"] > 2 * tried["fixed"]
    assert tried["current"] < 0.4 * tried["fixed"]


@full_size
def test_the_storm_of_the_preset_is_more_than_fixed_sends_to_a_server_that_is_up() -> None:
    """The sum of three kinds of jobs, one of which bursts; each retry carries the whole backlog, so few runners do."""
    tried = {
        name: preset("outage-running", name, runners=5, duration_s=481).recoveries[0]["tried_during_per_s"]
        for name in STORMING
    }
    assert tried["fixed"] == pytest.approx(6.5 * 5, rel=0.02)
    assert tried["current-every-row"] > 1.1 * tried["fixed"]
    assert tried["current"] < 0.3 * tried["fixed"]
