"""Delays that grow over consecutive disappointments. Pure: the random generator is an argument."""

import random
from typing import Final, NamedTuple

EXPONENT_MAX: Final = 5
"""Gitea's runner stops doubling after 32 times the base, whatever the cap says."""
JITTER: Final = 0.2
"""Share of the delay by which one wait may be shorter or longer, so that a herd of runners spreads out."""


class Streaks(NamedTuple):
    """How many polls in a row were empty and how many failed, counted apart."""

    empty: int = 0
    errors: int = 0

    @property
    def longest(self) -> int:
        """The one that the wait grows with."""
        return max(self.empty, self.errors)

    def after_empty(self, *, one_counter: bool = False) -> "Streaks":
        """Return the streaks after an answer without a task, which forgives earlier errors.

        With ``one_counter`` empty and failed polls share one count, and the first good answer after an error
        forgets all of it, so that a whole fleet is back at the shortest wait when its server returns.
        """
        if one_counter and self.errors:
            return Streaks()
        return Streaks(self.empty + 1)

    def after_failure(self, *, one_counter: bool = False) -> "Streaks":
        """Return the streaks after a poll that brought no usable answer; it leaves the empty ones as they were."""
        return Streaks(self.empty + 1 if one_counter else self.empty, self.errors + 1)


def poll_delay_us(*, streak: int, base_us: int, cap_us: int, rng: random.Random, jitter: bool = True) -> int:
    """Return the wait before the next poll.

    Args:
        streak: consecutive empty or failed polls; 0 and 1 give the base.
        base_us: the fetch interval.
        cap_us: most the wait may be before jitter; a value below the base counts as the base.
        rng: source of the jitter.
        jitter: False for waits that are all alike.

    Returns:
        ``min(base * 2^(streak - 1), cap)``, exponent at most 5, spread by 20 % either way.
    Source: docs/runner.md, "Polling".
    """
    exponent = min(max(streak - 1, 0), EXPONENT_MAX)
    delay_us = min(base_us << exponent, max(cap_us, base_us))
    return spread_us(delay_us, rng) if jitter else delay_us


def spread_us(delay_us: int, rng: random.Random) -> int:
    """Return ``delay_us``, up to 20 % shorter or longer."""
    return delay_us + round(delay_us * JITTER * (2 * rng.random() - 1))


def retry_delay_us(*, failures: int, first_us: int, rng: random.Random) -> int:
    """Return the wait after the ``failures``-th failed try (from 1): doubling, plus up to one first delay of jitter."""
    return (first_us << max(failures - 1, 0)) + round(first_us * rng.random())
