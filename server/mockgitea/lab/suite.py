"""One scenario under each of its strategies: what was measured, what arithmetic expects, and the curves of the plots.

Owns the document that `mockgitea lab` writes and every report reads. Runs simulations, draws nothing.
"""

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mockgitea.lab.closed_form import Verdict, verdicts
from mockgitea.lab.distribution import DIGITS, Distribution
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.measure import Measure
from mockgitea.lab.rule_reader import check_times
from mockgitea.lab.run import simulate
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.strategies import StrategyChoice, check_choices

FORMAT: Final = 1
KIND: Final = "mockgitea-lab"
CURVE_POINTS: Final = 100
BASELINE: Final = "fixed"
"""Reductions are told against this strategy."""

Document = Mapping[str, Any]
Progress = Callable[[int, float], None]
"""Hears the number of the strategy and the share of its time that has passed."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Changes of a scenario that the command line may make; None leaves it as it is."""

    strategies: Sequence[str] = ()
    seed: int | None = None
    duration_s: int | None = None
    runners: int | None = None

    def apply(self, scenario: Scenario) -> Scenario:
        """Return the scenario with the changes.

        Raises:
            ScenarioError: a downtime would lie outside the new duration.
        """
        if self.strategies:
            scenario = dataclasses.replace(scenario, strategies=_chosen(scenario, self.strategies))
        if self.seed is not None:
            scenario = dataclasses.replace(scenario, seed=self.seed)
        if self.runners is not None:
            scenario = dataclasses.replace(scenario, fleet=dataclasses.replace(scenario.fleet, runners=self.runners))
        if self.duration_s is not None:
            scenario = dataclasses.replace(scenario, duration_us=self.duration_s * 1_000_000)
            try:
                check_times(scenario.downtime, scenario.end_us)
            except ScenarioError as error:
                raise ScenarioError(f"--duration: choose a longer one ({error})") from error
        return scenario


def run_suite(scenario: Scenario, progress: Progress = lambda number, share: None) -> dict[str, Any]:
    """Simulate every strategy of a scenario, one after the other, and return the document.

    Raises:
        ScenarioError: a strategy or option does not exist.
    """
    check_choices(scenario.strategies, scenario.fleet.capacity)
    results = []
    for number, choice in enumerate(scenario.strategies):
        simulation, result = simulate(scenario, choice, progress=lambda share, number=number: progress(number, share))  # type: ignore[misc]
        values = {one.name: getattr(result, one.name) for one in dataclasses.fields(result)}
        found = verdicts(scenario, choice, dict(result.rates))
        results.append({**values, "expected": [_told(one) for one in found], "curves": curves(simulation.measure)})
    return document(scenario.name, scenario.description, results)


def document(name: str, description: str, results: Sequence[Document]) -> dict[str, Any]:
    """Return the document of several results, with what each saves against the baseline."""
    base = next((one["rates"]["total"] for one in results if one["setup"]["preset"] == BASELINE), None)
    return {
        "format": FORMAT,
        "kind": KIND,
        "scenario": name,
        "description": description,
        "results": [{**one, "reduction": _reduction(one["rates"]["total"], base)} for one in results],
    }


def to_json(content: Document) -> str:
    """Return a document as text: sorted keys, a final line feed; equal runs give equal bytes."""
    return json.dumps(content, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False) + "\n"


def disagreements(content: Document) -> list[str]:
    """Return one line for every measured rate that is too far from its closed form."""
    return [
        f"{content['scenario']} / {one['strategy']}: {check['method']} measured {check['measured']:.4g}/s, "
        f"expected {check['low']:.4g} to {check['high']:.4g}/s"
        for one in content["results"]
        for check in one["expected"]
        if not check["passes"]
    ]


def curves(measure: Measure) -> dict[str, list[float]]:
    """Return the quantiles of every distribution that a report plots, in seconds; empty where nothing was seen."""
    return {
        "pickup": _quantiles(measure.pickup),
        "rows": _quantiles(measure.rows),
        "steps_visible": _quantiles(measure.step_visible),
    }


def _chosen(scenario: Scenario, names: Sequence[str]) -> tuple[StrategyChoice, ...]:
    known = {choice.title: choice for choice in scenario.strategies}
    return tuple(known.get(name, StrategyChoice(name=name)) for name in dict.fromkeys(names))


def _quantiles(values: Distribution) -> list[float]:
    ordered = sorted(values.values)
    if not ordered:
        return []
    last = len(ordered) - 1
    return [round(ordered[last * point // CURVE_POINTS] / 1e6, DIGITS) for point in range(CURVE_POINTS + 1)]


def _told(verdict: Verdict) -> dict[str, Any]:
    return {
        "method": verdict.method,
        "low": round(verdict.expected.low, DIGITS),
        "high": round(verdict.expected.high, DIGITS),
        "measured": round(verdict.measured, DIGITS),
        "allowed": round(verdict.allowed, DIGITS),
        "passes": verdict.passes,
    }


def _reduction(total: float, base: float | None) -> float | None:
    return round(1 - total / base, DIGITS) if base else None
