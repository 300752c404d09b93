"""When the periodic jobs run and what counts as too old, as plain arithmetic.

Source: docs/protocol.md, "Periodic jobs".
"""

from dataclasses import dataclass
from typing import Final

SECOND_US: Final = 1_000_000
DAY_S: Final = 86_400.0
LINGERING_LOG_S: Final = DAY_S
OFFLINE_RUNNER_S: Final = DAY_S
LOG_RETENTION_S: Final = 365 * DAY_S


@dataclass(frozen=True, slots=True)
class Cadence:
    """How often a periodic job runs: every so many seconds, or at midnight UTC when ``every_s`` is 0."""

    every_s: float
    at_start: bool

    def next_us(self, now_us: int) -> int:
        """Return when the job runs next after ``now_us``."""
        if self.every_s:
            return now_us + round(self.every_s * SECOND_US)
        day_us = round(DAY_S * SECOND_US)
        return (now_us // day_us + 1) * day_us


STOP_ZOMBIES: Final = "stop_zombie_tasks"
STOP_ENDLESS: Final = "stop_endless_tasks"
CANCEL_ABANDONED: Final = "cancel_abandoned_jobs"
CLEAN_UP: Final = "cleanup_actions"
TRANSFER_LOGS: Final = "transfer_lingering_logs"
REMOVE_OFFLINE: Final = "cleanup_offline_runners"

CADENCES: Final[dict[str, Cadence]] = {
    STOP_ZOMBIES: Cadence(every_s=300.0, at_start=True),
    STOP_ENDLESS: Cadence(every_s=1800.0, at_start=True),
    CANCEL_ABANDONED: Cadence(every_s=6 * 3600.0, at_start=True),
    CLEAN_UP: Cadence(every_s=0.0, at_start=False),
    TRANSFER_LOGS: Cadence(every_s=0.0, at_start=True),
}
"""Jobs that run by themselves, where the profile has them."""


def cutoff_us(now_us: int, timeout_s: float) -> int:
    """Return the time before which something is older than ``timeout_s``."""
    return now_us - round(timeout_s * SECOND_US)
