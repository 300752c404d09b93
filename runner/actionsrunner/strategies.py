"""Build ways to poll and to report by name. Public: configuration, laboratories and experiments come here.

Options are named and written as in a configuration file (``{"fetch_interval_max": "60s", "jitter": False}``) and are
checked as there; what is not given is what the strategy has by itself, which for specimens of older runners is what
those had. Every runner needs its own strategy objects, and every object its own random generator or none at all.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from actionsrunner.config import Config, check_value
from actionsrunner.core.poller import BackoffPoller, PollPolicy
from actionsrunner.core.polling import PollStrategy
from actionsrunner.core.reporter import EventReporter, ReportPolicy
from actionsrunner.core.reporting import ReportStrategy, Retry
from actionsrunner.core.strategies.breaker import BreakerPolicy
from actionsrunner.core.strategies.breaker_poll import PollBreaker
from actionsrunner.core.strategies.breaker_report import ReportBreaker
from actionsrunner.core.strategies.change_report import ChangePolicy, ChangeReporter
from actionsrunner.core.strategies.limited_poll import LimitedPolicy, LimitedPoller
from actionsrunner.core.strategies.round_report import RoundPolicy, RoundReporter
from actionsrunner.core.strategies.slot_poll import SlotPolicy, SlotPoller
from actionsrunner.edge.transport import PoolLimits
from actionsrunner.settings import BY_NAME, Kind
from actionsrunner.strategy_table import POLL, POLL_KEYS, POOL_KEYS, POOLS, PRESETS, REPORT, REPORT_KEYS, Preset

__all__ = [
    "POLL",
    "POOLS",
    "PRESETS",
    "REPORT",
    "PoolLimits",
    "Preset",
    "Selection",
    "Strategies",
    "build_strategies",
    "configured",
    "poll_strategy",
    "pool_limits",
    "report_strategy",
    "select",
]

_FIELDS: Final[dict[str, str]] = {
    "fetch_interval": "interval_us",
    "fetch_interval_max": "interval_max_us",
    "interval": "interval_us",
    "log_report_interval": "log_interval_us",
    "log_report_max_latency": "log_latency_us",
    "log_report_batch_size": "log_batch_rows",
    "state_report_interval": "state_interval_us",
    "report_close_timeout": "close_timeout_us",
    "timeout": "job_limit_us",
    "breaker_cooldown": "cooldown_us",
}
"""Which field of a policy an option sets, where the two are not called the same."""


class Strategies(NamedTuple):
    """What one runner does towards the server."""

    poll: PollStrategy[Any]
    report: ReportStrategy[Any]
    pool: PoolLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Names and options of all parts; the options are checked when strategies are built."""

    poll: str = "current"
    report: str = "current"
    pool: str = "tuned"
    poll_options: Mapping[str, Any]
    report_options: Mapping[str, Any]
    pool_options: Mapping[str, Any]


def select(
    preset: str = "current",
    *,
    poll: Mapping[str, Any] | None = None,
    report: Mapping[str, Any] | None = None,
    pool: Mapping[str, Any] | None = None,
) -> Selection:
    """Return what ``preset`` stands for, with its parts overridden.

    Args:
        preset: one of `PRESETS`.
        poll: options; ``strategy`` among them names another way to poll, without the preset's options for it.
        report: the same for reporting.
        pool: options; ``preset`` among them names another pool.

    Raises:
        ValueError: there is no such preset.
    """
    base = PRESETS[_known("preset", preset, PRESETS)]
    poll_name, poll_options = _override(base.poll, base.poll_options, poll or {}, "strategy")
    report_name, report_options = _override(base.report, base.report_options, report or {}, "strategy")
    pool_name, pool_options = _override(base.pool, {}, pool or {}, "preset")
    return Selection(
        poll=poll_name,
        report=report_name,
        pool=pool_name,
        poll_options=poll_options,
        report_options=report_options,
        pool_options=pool_options,
    )


def configured(config: Config) -> Selection:
    """Return what a configuration file selects; keys that the chosen strategies do not listen to are left out."""
    chosen = select(
        config.text("runner.preset"),
        poll=_given(config, {"strategy": "runner.poll.strategy"}),
        report=_given(config, {"strategy": "runner.report.strategy"}),
        pool=_given(config, {"preset": "runner.pool.preset", **POOL_KEYS}),
    )
    poll_keys = {option: POLL_KEYS[option] for option in POLL[chosen.poll]}
    report_keys = {option: REPORT_KEYS[option] for option in REPORT[chosen.report]}
    return Selection(
        poll=chosen.poll,
        report=chosen.report,
        pool=chosen.pool,
        poll_options={**chosen.poll_options, **_given(config, poll_keys)},
        report_options={**chosen.report_options, **_given(config, report_keys)},
        pool_options=chosen.pool_options,
    )


def build_strategies(
    selection: Selection, *, capacity: int, rng: random.Random, tasks_max: int | None = None
) -> Strategies:
    """Return the strategies of one runner.

    Args:
        selection: see `select`.
        capacity: most tasks at once.
        rng: source of jitter and request keys; belongs to this runner alone.
        tasks_max: stop fetching after this many tasks; None for never.

    Raises:
        ValueError: an unknown name or option, or a value that cannot be; the text names it.
    """
    return Strategies(
        poll_strategy(selection.poll, selection.poll_options, capacity=capacity, rng=rng, tasks_max=tasks_max),
        report_strategy(selection.report, selection.report_options, rng=rng),
        pool_limits(selection.pool, selection.pool_options),
    )


def poll_strategy(
    name: str,
    options: Mapping[str, Any] | None = None,
    *,
    capacity: int = 1,
    rng: random.Random,
    tasks_max: int | None = None,
) -> PollStrategy[Any]:
    """Return the way to poll that is called ``name``; arguments and errors as `build_strategies`."""
    _known("poll.strategy", name, POLL)
    values = _checked("poll", name, options or {}, POLL[name], POLL_KEYS)
    values.update(capacity=capacity, tasks_max=tasks_max)
    breaker = _breaker(values)
    strategy = _POLL[name](values, rng)
    return strategy if breaker is None else PollBreaker(strategy, breaker, rng)


def report_strategy(name: str, options: Mapping[str, Any] | None = None, *, rng: random.Random) -> ReportStrategy[Any]:
    """Return the way to report that is called ``name``; arguments and errors as `build_strategies`."""
    _known("report.strategy", name, REPORT)
    values = _checked("report", name, options or {}, REPORT[name], REPORT_KEYS)
    breaker = _breaker(values)
    strategy = _REPORT[name](values, rng)
    return strategy if breaker is None else ReportBreaker(strategy, breaker, rng)


def pool_limits(name: str = "tuned", options: Mapping[str, Any] | None = None) -> PoolLimits:
    """Return the limits of the connection pool ``name``, with ``options`` overriding them; errors as above."""
    _known("pool.preset", name, POOLS)
    values = _checked("pool", name, {**POOLS[name], **(options or {})}, tuple(POOL_KEYS), POOL_KEYS)
    return PoolLimits(idle_connections=values["idle_connections"], idle_timeout_s=values["idle_timeout"] / 1e6)


_SINGLE: Final[dict[str, Any]] = {"interval_max_us": 60_000_000, "deadline_forgives": True, "unregistered_halts": False}
"""What Gitea's runner v0.4.1 did otherwise than today's."""

_POLL: Final[dict[str, Callable[[dict[str, Any], random.Random], PollStrategy[Any]]]] = {
    "current": lambda values, rng: BackoffPoller(PollPolicy(**values), rng),
    "single": lambda values, rng: BackoffPoller(PollPolicy(**{**_SINGLE, **values}), rng),
    "per-worker": lambda values, rng: SlotPoller(SlotPolicy(**values), rng),
    "fixed": lambda values, rng: LimitedPoller(LimitedPolicy(**values)),
}
_REPORT: Final[dict[str, Callable[[dict[str, Any], random.Random], ReportStrategy[Any]]]] = {
    "current": lambda values, rng: EventReporter(ReportPolicy(**values), rng),
    "event-driven": lambda values, rng: ChangeReporter(ChangePolicy(**values), rng),
    "fixed": lambda values, rng: RoundReporter(RoundPolicy(**values), rng),
}


def _known(what: str, name: str, names: Mapping[str, Any]) -> str:
    if name not in names:
        raise ValueError(f"{what}: unknown name {name!r}; choose one of {', '.join(names)}")
    return name


def _override(
    name: str, options: Mapping[str, Any], given: Mapping[str, Any], naming: str
) -> tuple[str, Mapping[str, Any]]:
    other = str(given.get(naming, name))
    rest = {option: value for option, value in given.items() if option != naming}
    return other, {**options, **rest} if other == name else rest


def _given(config: Config, keys: Mapping[str, str]) -> dict[str, Any]:
    """Return the options that the file sets, as it would write them."""
    return {
        option: f"{config.micros(key)}us" if BY_NAME[key].kind is Kind.DURATION else config.values[key]
        for option, key in keys.items()
        if key in config.given
    }


def _checked(
    part: str, name: str, options: Mapping[str, Any], known: tuple[str, ...], keys: Mapping[str, str]
) -> dict[str, Any]:
    """Return fields of a policy: durations in microseconds, all else as it is."""
    values: dict[str, Any] = {}
    for raw_name, raw in options.items():
        option = str(raw_name).replace("-", "_")
        if option not in known:
            raise ValueError(f"{part}.{option}: not an option of {name}; choose one of {', '.join(known)}")
        key = BY_NAME[keys[option]]
        try:
            value = check_value(key, raw)
        except ValueError as error:
            raise ValueError(f"{part}.{option}: {error}") from error
        if key.kind is Kind.DURATION:
            value = round(value * 1_000_000)
        values[_FIELDS.get(option, option)] = Retry(value) if option == "retry" else value
    return values


def _breaker(values: dict[str, Any]) -> BreakerPolicy | None:
    """Take what concerns the breaker out of ``values``."""
    threshold = values.pop("breaker_threshold", 0)
    cooldown_us = values.pop("cooldown_us", None)
    if not threshold:
        return None
    policy = BreakerPolicy(threshold=threshold, jitter=values.get("jitter", True))
    return policy if cooldown_us is None else replace(policy, cooldown_us=cooldown_us)
