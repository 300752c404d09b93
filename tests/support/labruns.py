"""Simulations for tests of the laboratory: presets and scenarios under one strategy, checked against arithmetic."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mockgitea.lab.closed_form import verdicts
from mockgitea.lab.result import Result
from mockgitea.lab.run import run
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.scenario_reader import parse, read_preset
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.suite import Adjusted

IS_FULL = bool(os.environ.get("LAB_FULL"))
"""Set by `make lab-test`: fleets of full size."""
full_size = pytest.mark.skipif(not IS_FULL, reason="minutes of simulation; `make lab-test` runs it")


def preset(name: str, strategy: str, *, runners: int | None = None, duration_s: int | None = None) -> Result:
    """Simulate a preset, scaled down where asked, under one strategy of the runner."""
    scenario = Adjusted((strategy,), runners=runners, duration_s=duration_s).apply(read_preset(name))
    return simulated(scenario, scenario.strategies[0])


def scenario_of(text: str, *, folder: Path | None = None) -> Scenario:
    """Read a test's own scenario."""
    return parse(text, name="test", folder=folder)


def figures(text: str, strategy: str = "", *, report: Mapping[str, Any] | None = None) -> Result:
    """Simulate a test's own scenario under a strategy, or under the first one that it lists."""
    scenario = scenario_of(text)
    choice = StrategyChoice(name=strategy, report=report or {}) if strategy else scenario.strategies[0]
    return simulated(scenario, choice)


def simulated(scenario: Scenario, choice: StrategyChoice) -> Result:
    """Simulate; a rate that is not what arithmetic says fails the test."""
    result = run(scenario, choice)
    wrong = [verdict for verdict in verdicts(scenario, choice, dict(result.rates)) if not verdict.passes]
    assert not wrong
    return result
