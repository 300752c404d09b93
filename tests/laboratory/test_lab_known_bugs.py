"""The laboratory finds faults that old runners are known to have."""

import pytest

from mockgitea.lab.result import Result
from mockgitea.lab.run import run
from mockgitea.lab.scenario_reader import parse
from mockgitea.lab.strategies import StrategyChoice

pytestmark = pytest.mark.slow

SILENT = """
fleet: {runners: 3, capacity: 1, start_spread_s: 10, running_tasks: 1}
workload: {shape: silent}
strategies: [{name: current}]
warm_up_s: 120
duration_s: 780
"""
IDLE = """
fleet: {{runners: 4, capacity: {capacity}, start_spread_s: 30}}
strategies: [{{name: single}}]
warm_up_s: 120
duration_s: 600
"""


def simulated(text: str, strategy: str) -> Result:
    return run(parse(text, name="test"), StrategyChoice(name=strategy))


@pytest.mark.parametrize("strategy", ["single", "per-worker"])
def test_silent_jobs_are_reaped_where_nobody_sends_a_heartbeat(strategy: str) -> None:
    result = simulated(SILENT, strategy)
    # The runner does not know yet that its task is dead: it learns of it with its next report.
    assert result.heartbeat["max_s"] > 600


def test_silent_jobs_of_the_single_specimen_end_as_reaped_tasks() -> None:
    result = simulated(SILENT.replace("duration_s: 780", "duration_s: 1200"), "single")
    assert result.tasks["reaped"] == 3
    assert result.tasks["closed"] == 0


def test_silent_jobs_of_the_current_runner_live_on() -> None:
    result = simulated(SILENT, "current")
    assert result.tasks["reaped"] == 0
    assert result.heartbeat["max_s"] <= 10.5


def test_polls_of_per_worker_grow_with_the_capacity_and_those_of_single_do_not() -> None:
    single = [simulated(IDLE.format(capacity=slots), "single").rates["FetchTask"] for slots in (1, 8)]
    each = [simulated(IDLE.format(capacity=slots), "per-worker").rates["FetchTask"] for slots in (1, 8)]
    assert single[1] == pytest.approx(single[0], rel=0.1)
    assert each[1] == pytest.approx(8 * each[0], rel=0.1)
