"""A circuit breaker: after too many errors in a row it refuses calls itself for a while, then lets one through.

*Closed*, every call passes. A run of errors as long as the threshold *opens* it. While it is open a call that the
strategy below asks for is not made; the strategy hears of a failure at once and waits as it would after a real one.
When the time is up the next call passes as a probe (*half-open*): its success closes the breaker, its failure opens
it again. Every opening is spread by 20 %, so that a fleet does not probe in step.

This module decides about passing only; `breaker_poll.py` and `breaker_report.py` lay it over a strategy.
"""

import random
from dataclasses import dataclass
from typing import NamedTuple

from actionsrunner.core.backoff import spread_us


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakerPolicy:
    """When a breaker opens, and for how long."""

    threshold: int = 5
    """Errors in a row that open it."""
    cooldown_us: int = 30_000_000
    jitter: bool = True


class Breaker(NamedTuple):
    """The breaker's state: closed without ``open_until_us``, half-open with a probe in flight, else open."""

    errors: int = 0
    open_until_us: int | None = None
    probing: bool = False

    def passes(self, now_us: int) -> bool:
        """Tell whether a call may be made now."""
        return self.open_until_us is None or (not self.probing and now_us >= self.open_until_us)

    def sent(self) -> "Breaker":
        """Return the state after a call has passed."""
        return self if self.open_until_us is None else self._replace(probing=True)

    def succeeded(self) -> "Breaker":
        """Return the state after an answer."""
        return CLOSED

    def failed(self, policy: BreakerPolicy, rng: random.Random, now_us: int) -> "Breaker":
        """Return the state after an error."""
        errors = self.errors + 1
        # A call that passed before the breaker opened may fail after it; that does not make the opening longer.
        if errors < policy.threshold or (self.open_until_us is not None and not self.probing):
            return self._replace(errors=errors)
        cooldown_us = spread_us(policy.cooldown_us, rng) if policy.jitter else policy.cooldown_us
        return Breaker(errors, now_us + cooldown_us)


CLOSED = Breaker()
