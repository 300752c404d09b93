import pytest

from labdocs import lab_document, result
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.scenario_reader import read_preset
from mockgitea.lab.suite import Adjusted, disagreements, run_suite


def test_the_command_line_may_change_strategies_seed_size_and_duration() -> None:
    changed = Adjusted(["fixed", "single", "fixed"], seed=9, duration_s=30, runners=3).apply(read_preset("idle"))
    assert [choice.title for choice in changed.strategies] == ["fixed", "single"]
    assert (changed.seed, changed.duration_us, changed.fleet.runners) == (9, 30_000_000, 3)


def test_a_duration_that_cuts_a_downtime_off_is_refused() -> None:
    with pytest.raises(ScenarioError, match="--duration: choose a longer one"):
        Adjusted(duration_s=60).apply(read_preset("outage"))


def test_reductions_are_told_against_fixed_and_are_absent_without_it() -> None:
    both = lab_document(result("fixed", 100.0), result("single", 13.0))
    assert [one["reduction"] for one in both["results"]] == [0.0, 0.87]
    assert lab_document(result("single", 13.0))["results"][0]["reduction"] is None


def test_disagreements_name_strategy_method_and_both_rates() -> None:
    check = {"method": "total", "low": 1.0, "high": 2.0, "measured": 3.0, "allowed": 0.1, "passes": False}
    content = lab_document(result("fixed", 3.0, expected=[check]))
    assert disagreements(content) == ["test / fixed: total measured 3/s, expected 1 to 2/s"]


def test_a_strategy_that_does_not_exist_is_refused_before_another_runs() -> None:
    heard: list[int] = []
    scenario = Adjusted(("fixed", "wild"), runners=1, duration_s=1).apply(read_preset("idle"))
    with pytest.raises(ScenarioError, match="strategies: wild: preset: unknown name 'wild'"):
        run_suite(scenario, lambda number, share: heard.append(number))
    assert heard == []
