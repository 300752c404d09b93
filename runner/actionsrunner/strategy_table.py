"""The names of all ways to poll, to report and to keep connections: their options, and the presets that combine them.

Data only. `settings.py` and `config.py` take names and keys from here, `strategies.py` builds what a name stands for,
docs/strategies.md describes each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

POLL_KEYS: Final[dict[str, str]] = {
    "fetch_interval": "runner.fetch_interval",
    "fetch_interval_max": "runner.fetch_interval_max",
    "jitter": "runner.poll.jitter",
    "one_counter": "runner.poll.one_counter",
    "poll_while_full": "runner.poll.poll_while_full",
    "breaker_threshold": "runner.poll.breaker_threshold",
    "breaker_cooldown": "runner.poll.breaker_cooldown",
}
"""Options of polling, and the configuration key of each."""

REPORT_KEYS: Final[dict[str, str]] = {
    "interval": "runner.report.interval",
    "log_report_interval": "runner.log_report_interval",
    "log_report_max_latency": "runner.log_report_max_latency",
    "log_report_batch_size": "runner.log_report_batch_size",
    "state_report_interval": "runner.state_report_interval",
    "report_close_timeout": "runner.report_close_timeout",
    "retry": "runner.report.retry",
    "timeout": "runner.timeout",
    "breaker_threshold": "runner.report.breaker_threshold",
    "breaker_cooldown": "runner.report.breaker_cooldown",
}
"""Options of reporting, and the configuration key of each."""

POOL_KEYS: Final[dict[str, str]] = {
    "idle_connections": "runner.pool.idle_connections",
    "idle_timeout": "runner.pool.idle_timeout",
}
"""Options of the connection pool, and the configuration key of each."""

_BREAKER: Final = ("breaker_threshold", "breaker_cooldown")
_BACK_OFF: Final = ("fetch_interval", "fetch_interval_max", "jitter", "one_counter", *_BREAKER)
_BATCHES: Final = (
    "log_report_interval",
    "log_report_max_latency",
    "log_report_batch_size",
    "state_report_interval",
    "retry",
    *_BREAKER,
)

POLL: Final[dict[str, tuple[str, ...]]] = {
    "current": _BACK_OFF,
    "single": _BACK_OFF,
    "per-worker": (*_BACK_OFF, "poll_while_full"),
    "fixed": ("fetch_interval", "poll_while_full", *_BREAKER),
}
"""Ways to poll, and the options each takes."""

REPORT: Final[dict[str, tuple[str, ...]]] = {
    "current": (*_BATCHES, "report_close_timeout"),
    "event-driven": (*_BATCHES, "timeout"),
    "fixed": ("interval", "timeout", *_BREAKER),
}
"""Ways to report, and the options each takes."""

OWN_DEFAULTS: Final[dict[str, Mapping[str, str]]] = {
    "single": {"fetch_interval_max": "60s"},
    "per-worker": {"fetch_interval_max": "60s"},
    "event-driven": {"retry": "every-row"},
}
"""What a strategy takes where nothing is given, as far as it is not the default of the key."""

POOLS: Final[dict[str, Mapping[str, Any]]] = {
    "tuned": {"idle_connections": 10, "idle_timeout": "90s"},
    "two-idle": {"idle_connections": 2, "idle_timeout": "90s"},
}
"""Connection pools: that of Gitea's runner since v0.4, and Go's defaults, which it had before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One combination; options are written as in a configuration file."""

    poll: str
    report: str
    pool: str = "tuned"
    poll_options: Mapping[str, Any] = field(default_factory=dict)
    report_options: Mapping[str, Any] = field(default_factory=dict)


_TRIPS: Final = {"breaker_threshold": 5}

PRESETS: Final[dict[str, Preset]] = {
    "current": Preset(poll="current", report="current"),
    "current-every-row": Preset(poll="current", report="current", report_options={"retry": "every-row"}),
    "current-breaker": Preset(poll="current", report="current", poll_options=_TRIPS, report_options=_TRIPS),
    "single": Preset(poll="single", report="event-driven"),
    "single-no-jitter": Preset(poll="single", report="event-driven", poll_options={"jitter": False}),
    "single-one-counter": Preset(poll="single", report="event-driven", poll_options={"one_counter": True}),
    "per-worker": Preset(poll="per-worker", report="event-driven"),
    "per-worker-claimed": Preset(poll="per-worker", report="event-driven", poll_options={"poll_while_full": True}),
    "fixed": Preset(poll="fixed", report="fixed", pool="two-idle"),
    "fixed-claimed": Preset(poll="fixed", report="fixed", pool="two-idle", poll_options={"poll_while_full": True}),
}
"""Runners by name. *Claimed* ones go on asking while they are full, as has been said of them."""
