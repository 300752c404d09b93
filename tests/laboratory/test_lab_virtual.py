"""The laboratory in virtual time: real services, admission, clients and loops; figures that arithmetic predicts."""

import pytest

from hashseeds import outputs_by_hash_seed
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.result import Result
from mockgitea.lab.run import run, simulate
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.strategies import StrategyChoice

pytestmark = pytest.mark.slow

BUSY = """
fleet: {runners: 3, capacity: 4, start_spread_s: 5, running_tasks: 3}
workload: {shape: mixed, job_s: 100}
strategies: [{name: current}]
watch: {sampled_tasks: 9}
warm_up_s: 0
duration_s: 130
"""


def figures(text: str) -> Result:
    scenario = parse(text, name="test")
    return run(scenario, scenario.strategies[0])


def test_idle_runners_poll_at_the_rate_of_their_cap() -> None:
    result = figures(
        """
fleet: {runners: 40, start_spread_s: 10}
strategies: [{name: current}]
warm_up_s: 60
duration_s: 300
"""
    )
    assert result.rates["FetchTask"] == pytest.approx(40 / 5, rel=0.02)
    assert result.fetches == {
        "empty": round(result.rates["FetchTask"] * 300),
        "task": 0,
        "while_full": 0,
        "picks_without_task": 0,
    }
    assert result.connections["opened"] == result.connections["tls_handshakes"] == 40


def test_full_runners_do_not_poll_at_all() -> None:
    result = figures(
        """
fleet: {runners: 2, capacity: 3, running_tasks: 3}
workload: {shape: silent}
strategies: [{name: current}]
warm_up_s: 10
duration_s: 60
"""
    )
    assert result.rates.get("FetchTask") == 0
    assert result.tasks == {"assigned": 6, "closed": 0, "reaped": 0, "waiting_at_end": 0}


def test_a_silent_job_is_heard_about_every_ten_seconds_and_is_not_reaped() -> None:
    result = figures(
        """
fleet: {runners: 2, running_tasks: 1}
workload: {shape: silent}
strategies: [{name: current}]
warm_up_s: 0
duration_s: 1500
"""
    )
    assert result.tasks["reaped"] == 0
    assert result.heartbeat["count"] == 2
    assert result.heartbeat["max_s"] == pytest.approx(10, abs=0.1)


def test_computed_sights_of_rows_are_those_of_real_watchers() -> None:
    scenario = parse(BUSY, name="test")
    simulation, result = simulate(scenario, scenario.strategies[0])
    assert len(simulation.watchers) == 9
    for task_id, watcher in simulation.watchers.items():
        sights = simulation.measure.tasks[task_id].sights
        assert sights
        assert sorted(sights) == watcher.sights
    assert result.rows_unseen == 0
    assert result.tasks["closed"] == 9
    rows, sentinels = 3 * (100 + 4 * 200 + 3), 9
    assert rows <= result.rows["count"] <= rows + sentinels


def test_rows_and_steps_are_visible_within_the_bounds_of_the_defaults() -> None:
    result = figures(BUSY)
    assert result.rows["max_s"] is not None
    assert result.rows["max_s"] <= 5 + 1
    assert result.steps_visible["max_s"] <= 1.0
    assert result.steps_stored["count"] == 9 * 10


def test_every_waiting_job_is_picked_up_and_measured() -> None:
    result = figures(
        """
fleet: {runners: 4, capacity: 2, start_spread_s: 4}
workload: {shape: chatty, job_s: 20, arrivals: {process: fixed-rate, per_hour: 360, start_s: 20}}
strategies: [{name: current}]
warm_up_s: 0
duration_s: 200
"""
    )
    assert result.pickup["count"] == 17
    assert 0 < result.pickup["mean_s"] < 3
    assert result.tasks["assigned"] == 17
    assert result.fetches["task"] == 17


def test_two_idle_connections_are_churned_where_ten_are_kept() -> None:
    text = BUSY + "link: {round_trip_s: 0.05}\n"
    two = figures(text.replace("{name: current}", "{name: current, pool: {idle_connections: 1}}"))
    ten = figures(text)
    assert two.connections["opened"] > 3 * ten.connections["opened"]
    assert two.connections["reuse_ratio"] < ten.connections["reuse_ratio"]
    assert two.rates == pytest.approx(ten.rates, rel=0.02)


@pytest.mark.parametrize("kind", ["unavailable", "refused", "black-hole"])
def test_a_fleet_recovers_from_every_kind_of_downtime(kind: str) -> None:
    result = figures(
        f"""
fleet: {{runners: 20, capacity: 2, start_spread_s: 10, running_tasks: 1}}
workload: {{shape: chatty, job_s: 200}}
strategies: [{{name: current}}]
downtimes: [{{kind: {kind}, at_s: 60, for_s: 60}}]
warm_up_s: 20
duration_s: 260
"""
    )
    assert result.tasks == {"assigned": 20, "closed": 20, "reaped": 0, "waiting_at_end": 0}
    assert result.rows_unseen == 0
    (recovery,) = result.recoveries
    during = {name: sum(counts[61:119]) for name, counts in result.series["arrived"].items()}
    assert not any(during.values())
    assert recovery["tried_during"] > 0
    assert recovery["herd_index"] > 0
    assert recovery["second_poll"]["count"] == 20


def test_an_option_that_no_strategy_has_is_refused_before_anything_runs() -> None:
    scenario = parse(BUSY, name="test")
    with pytest.raises(ScenarioError, match=r"strategies: current: poll\.speed: not an option"):
        run(scenario, StrategyChoice(name="current", poll={"speed": 3}))


SCRIPT = f"""
from mockgitea.lab.run import run
from mockgitea.lab.scenario_reader import parse
scenario = parse({BUSY!r} + "downtimes: [{{kind: refused, at_s: 50, for_s: 9}}]", name="test")
print(run(scenario, scenario.strategies[0]).to_json())
"""


def test_the_same_seed_gives_the_same_bytes_for_any_hash_seed() -> None:
    outputs = outputs_by_hash_seed(SCRIPT, within_s=300)
    assert len(outputs[0]) > 1000
    assert outputs[0] == outputs[1]


def test_another_seed_gives_another_trace() -> None:
    assert figures(BUSY).to_json() != figures(BUSY + "seed: 2\n").to_json()


def test_progress_reaches_one() -> None:
    heard: list[float] = []
    scenario = parse(BUSY, name="test")
    run(scenario, scenario.strategies[0], progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0
