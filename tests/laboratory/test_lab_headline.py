"""What the project is about, in virtual time: rates and latencies of each strategy, on fleets scaled down where the
rate of a fleet is the sum of its runners' rates."""

from pathlib import Path

import pytest

from hashseeds import outputs_by_hash_seed
from mockgitea.lab.closed_form import verdicts
from mockgitea.lab.result import Result
from mockgitea.lab.run import run
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.strategies import StrategyChoice

pytestmark = pytest.mark.slow

RUNNERS = 4
HEADLINE = f"""
fleet: {{runners: {RUNNERS}, capacity: 4, start_spread_s: 30, running_tasks: 3}}
workload: {{shape: mixed}}
strategies: [{{name: current}}]
warm_up_s: 120
duration_s: 300
"""
CAPACITY = """
fleet: {{runners: 3, capacity: 60, start_spread_s: 1, running_tasks: {running}}}
workload: {{shape: quiet-download}}
strategies: [{{name: current}}]
warm_up_s: {warm_up}
duration_s: {duration}
"""
OUTAGE = """
fleet: {{runners: 200, start_spread_s: {spread}}}
strategies: [{{name: current}}]
downtimes: [{{kind: unavailable, at_s: 720, for_s: 300}}]
warm_up_s: 120
duration_s: 1080
"""
RUNNING = """
fleet: {runners: 1, capacity: 4, start_spread_s: 5, running_tasks: 3}
workload: {shape: recorded, log: rows.log, job_s: 1000}
strategies: [{name: current}]
downtimes: [{kind: unavailable, at_s: 40, for_s: 40}]
warm_up_s: 30
duration_s: 60
"""


def simulated(text: str, strategy: str, *, folder: Path | None = None) -> Result:
    scenario = parse(text, name="test", folder=folder)
    choice = StrategyChoice(name=strategy)
    result = run(scenario, choice)
    assert all(verdict.passes for verdict in verdicts(scenario, choice, dict(result.rates)))
    return result


def test_fixed_makes_six_and_a_half_requests_a_second_and_runner() -> None:
    result = simulated(HEADLINE, "fixed")
    assert result.rates["FetchTask"] == pytest.approx(RUNNERS * 100 / 200, rel=0.02)
    assert result.rates["UpdateLog"] + result.rates["UpdateTask"] == pytest.approx(RUNNERS * 1200 / 200, rel=0.02)
    assert result.rates["total"] == pytest.approx(RUNNERS * 1300 / 200, rel=0.02)


def test_single_saves_six_of_seven_requests_and_shows_steps_at_once() -> None:
    result = simulated(HEADLINE, "single")
    assert result.rates["total"] <= RUNNERS * 170 / 200
    assert result.rates["total"] <= (1 - 0.869) * RUNNERS * 1300 / 200
    assert result.steps_stored["max_s"] <= 1.0
    assert result.steps_visible["max_s"] <= 1.0 + 1.0
    assert result.rows["max_s"] <= 5.0 + 1.0


def test_current_pays_for_quick_pickup_and_for_being_heard() -> None:
    result = simulated(HEADLINE, "current")
    assert result.rates["total"] <= 0.2 * RUNNERS * 1300 / 200
    assert result.heartbeat["max_s"] <= 10.5
    assert result.rows["max_s"] <= 5.0 + 1.0


@pytest.mark.parametrize(
    ("strategy", "cycle_s", "idle", "full"),
    [
        ("fixed", 2, 3, 0),
        ("per-worker", 60, 180, 0),
        ("single", 60, 3, 0),
        ("fixed-claimed", 2, 3, 3),
        ("per-worker-claimed", 60, 180, 180),
    ],
)
def test_fetches_of_three_runners_with_sixty_slots_in_one_cycle(
    strategy: str, cycle_s: int, idle: int, full: int
) -> None:
    times = {"warm_up": 126, "duration": 5 * cycle_s}
    free = simulated(CAPACITY.format(running=0, **times), strategy)
    taken = simulated(CAPACITY.format(running=60, **times), strategy)
    assert free.rates["FetchTask"] * cycle_s == pytest.approx(idle, rel=0.1)
    assert taken.rates["FetchTask"] * cycle_s == pytest.approx(full, rel=0.05)
    assert taken.fetches["while_full"] == round(taken.rates["FetchTask"] * 5 * cycle_s)


def test_without_jitter_all_runners_come_back_in_one_second() -> None:
    recovery = simulated(OUTAGE.format(spread=0), "single-no-jitter").recoveries[0]
    assert recovery["busiest_second"] == 200


def test_with_jitter_about_nine_runners_come_back_in_the_busiest_seconds() -> None:
    recovery = simulated(OUTAGE.format(spread=30), "single").recoveries[0]
    arrivals = sum(recovery["tenths"][:600])
    assert arrivals == pytest.approx(200, abs=40)
    assert 3 <= recovery["busiest_second"] <= 16


def test_one_counter_asks_again_after_two_seconds_and_two_counters_after_a_minute() -> None:
    one = simulated(OUTAGE.format(spread=30), "single-one-counter").recoveries[0]["second_poll"]
    two = simulated(OUTAGE.format(spread=30), "single").recoveries[0]["second_poll"]
    assert one["count"] == 200
    assert one["mean_s"] < 40
    assert two["mean_s"] > 60


def test_every_row_storms_through_an_outage_and_interval_does_not(tmp_path: Path) -> None:
    (tmp_path / "rows.log").write_text("".join(f"{tenth / 10} row {tenth}\n" for tenth in range(5000)))
    tried = {
        name: simulated(RUNNING, name, folder=tmp_path).recoveries[0]["tried_during_per_s"]
        for name in ("fixed", "current-every-row", "current")
    }
    assert tried["fixed"] == pytest.approx(3 * 2 + 0.5, rel=0.1)
    assert tried["current-every-row"] > 2 * tried["fixed"]
    assert tried["current"] < 0.3 * tried["fixed"]


SAME = """
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.suite import run_suite, to_json
text = '''
fleet: {runners: 2, capacity: 4, start_spread_s: 5, running_tasks: 3}
workload: {shape: mixed, job_s: 30}
strategies: [{name: fixed}, {name: current}]
downtimes: [{kind: refused, at_s: 20, for_s: 9}]
warm_up_s: 10
duration_s: 30
'''
print(to_json(run_suite(parse(text, name="same"))))
"""


def test_the_document_of_a_suite_has_the_same_bytes_for_any_hash_seed() -> None:
    outputs = outputs_by_hash_seed(SAME, within_s=120)
    assert outputs[0] == outputs[1]
    assert len(outputs[0]) > 1000
