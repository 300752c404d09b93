"""The laboratory in virtual time: real services, admission, clients and loops; figures that can be known beforehand."""

from collections.abc import Iterator

import pytest

from hashseeds import other_python, output, outputs_by_hash_seed
from labruns import figures, scenario_of
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.result import Result
from mockgitea.lab.run import Simulation, run, simulate
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
IDLE = """
fleet: {runners: 5, start_spread_s: 10}
strategies: [{name: current}]
warm_up_s: 20
duration_s: 20
"""


@pytest.fixture(scope="module")
def busy() -> Iterator[tuple[Simulation, Result]]:
    scenario = scenario_of(BUSY)
    yield simulate(scenario, scenario.strategies[0])


def test_computed_sights_of_rows_are_those_of_real_watchers(busy: tuple[Simulation, Result]) -> None:
    simulation, result = busy
    assert len(simulation.watchers) == 9
    for task_id, watcher in simulation.watchers.items():
        sights = simulation.measure.tasks[task_id].sights
        assert sights
        assert sorted(sights) == watcher.sights
    assert result.rows_unseen == 0
    assert result.tasks["closed"] == 9
    rows, sentinels = 3 * (100 + 4 * 200 + 3), 9
    assert rows <= result.rows["count"] <= rows + sentinels


def test_rows_and_steps_are_visible_within_the_bounds_of_the_defaults(busy: tuple[Simulation, Result]) -> None:
    result = busy[1]
    assert result.rows["max_s"] is not None
    assert result.rows["max_s"] <= 5 + 1
    assert result.steps_visible["max_s"] <= 1.0
    assert result.steps_stored["count"] == 9 * 10


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


@pytest.mark.parametrize("kind", ["planned", "refused", "black-hole"])
def test_a_fleet_recovers_from_every_kind_of_downtime(kind: str) -> None:
    result = figures(
        f"""
fleet: {{runners: 6, capacity: 2, start_spread_s: 10, running_tasks: 1}}
workload: {{shape: chatty, job_s: 150}}
strategies: [{{name: current}}]
downtime: [{{kind: {kind}, start_s: 60, duration_s: 60}}]
warm_up_s: 20
duration_s: 200
"""
    )
    assert result.tasks == {"assigned": 6, "closed": 6, "reaped": 0, "waiting_at_end": 0}
    assert result.rows_unseen == 0
    (recovery,) = result.recoveries
    during = {name: sum(counts[61:119]) for name, counts in result.series["arrived"].items()}
    assert not any(during.values())
    assert recovery["tried_during"] > 0
    assert recovery["herd_index"] > 0
    assert recovery["second_poll"]["count"] == 6


def test_an_option_that_no_strategy_has_is_refused_before_anything_runs() -> None:
    with pytest.raises(ScenarioError, match=r"strategies: current: poll\.speed: not an option"):
        run(scenario_of(IDLE), StrategyChoice(name="current", poll={"speed": 3}))


def test_progress_reaches_one() -> None:
    heard: list[float] = []
    scenario = scenario_of(IDLE)
    run(scenario, scenario.strategies[0], progress=heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == 1.0


# Everything that draws, waits or goes wrong, in a minute of virtual time.
SAME = """
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.suite import run_suite, to_json
text = '''
fleet: {runners: 2, capacity: 4, start_spread_s: 5, running_tasks: 2}
workload: {shape: mixed, job_s: 20, arrivals: {process: poisson, per_hour: 900}}
strategies: [{name: fixed}, {name: current-breaker}]
link: {round_trip_s: 0.013}
faults:
  - {kind: lose-answer, method: FetchTask, probability: 0.1}
  - {kind: delay, distribution: lognormal, delay_s: 0.08, shape: 0.6, max_s: 2}
downtime: [{kind: refused, start_s: 20, duration_s: 7, jitter_s: 3}]
watch: {sampled_tasks: 2}
warm_up_s: 10
duration_s: 30
'''
print(to_json(run_suite(parse(text, name="same"))))
"""
WITHIN_S = 120.0


@pytest.fixture(scope="module")
def outputs() -> list[bytes]:
    return outputs_by_hash_seed(SAME, within_s=WITHIN_S)


def test_two_runs_with_different_hash_seeds_write_the_same_bytes(outputs: list[bytes]) -> None:
    assert len(outputs[0]) > 10_000
    assert outputs[0] == outputs[1]


def test_another_version_of_python_writes_the_same_bytes(outputs: list[bytes]) -> None:
    python = other_python("mockgitea.lab.suite", "mockgitea.lab.scenario_reader")
    assert output(SAME, python, "7", within_s=WITHIN_S) == outputs[0]


def test_another_seed_gives_another_trace() -> None:
    assert figures(IDLE).series != figures(IDLE + "seed: 2\n").series
