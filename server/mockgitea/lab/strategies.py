"""Which strategy a fleet uses: a name and options, and the factory that turns them into the runner's own values.

The laboratory knows no strategy; the runner does. A scenario holds choices, a run gets a factory.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from actionsrunner.embedding import PollStrategy, ReportStrategy, current_strategies
from mockgitea.lab.network import PoolPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategyChoice:
    """One column of the comparison.

    ``name`` is the preset in the runner; ``label`` tells two choices of one preset apart. Options are passed on as
    they stand in the scenario and checked by the factory, before anything runs.
    """

    name: str
    label: str = ""
    poll: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    pool: PoolPolicy = field(default_factory=PoolPolicy)

    @property
    def title(self) -> str:
        """What a report calls it."""
        return self.label or self.name


class Strategies(NamedTuple):
    """The two strategies of one runner."""

    poll: PollStrategy[Any]
    report: ReportStrategy[Any]


StrategyFactory = Callable[[StrategyChoice, int, random.Random], Strategies]
"""Makes the strategies of one runner from the choice, the runner's capacity and its own random generator.

Raises `ValueError` naming the option for a choice that cannot be.
"""


def production(choice: StrategyChoice, capacity: int, rng: random.Random) -> Strategies:
    """Return what a runner with this configuration uses."""
    return Strategies(
        *current_strategies(choice.name, capacity=capacity, poll=choice.poll, report=choice.report, rng=rng)
    )
