"""Which strategy a fleet uses: a preset and options, and the factory that turns them into the runner's own values.

The laboratory knows no strategy; the runner does. A scenario holds choices, a run gets a factory.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from actionsrunner.strategies import Strategies, build_strategies, select
from mockgitea.lab.fields import ScenarioError


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """One column of the comparison.

    ``name`` is a preset of the runner; ``label`` tells two choices of one preset apart. Options are written as in the
    runner's configuration file (durations such as ``60s``) and checked by the factory before anything runs.
    """

    name: str
    label: str = ""
    poll: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    pool: Mapping[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What a report calls it."""
        return self.label or self.name


StrategyFactory = Callable[[StrategyChoice, int, random.Random], Strategies]
"""Makes the strategies of one runner from the choice, the runner's capacity and its own random generator.

Raises `ValueError` naming the option for a choice that cannot be.
"""


def production(choice: StrategyChoice, capacity: int, rng: random.Random) -> Strategies:
    """Return what a runner with this configuration uses."""
    selection = select(choice.name, poll=choice.poll, report=choice.report, pool=choice.pool)
    return build_strategies(selection, capacity=capacity, rng=rng)


def check_choices(choices: Iterable[StrategyChoice], capacity: int) -> None:
    """Raise `ScenarioError` for a choice that cannot be, so that nothing runs before all of them can."""
    for choice in choices:
        try:
            production(choice, capacity, random.Random(0))  # noqa: S311 - only to check the options
        except ValueError as error:
            raise ScenarioError(f"strategies: {choice.title}: {error}") from error
