"""Strategies by name: presets, options, errors, and the arithmetic of the polls they cause."""

import random
from typing import Any

import pytest

from actionsrunner.config import load_config, parse_config
from actionsrunner.core.failures import Failure
from actionsrunner.core.poller import BackoffPoller, PollPolicy
from actionsrunner.core.polling import Fetch
from actionsrunner.core.reporter import EventReporter, ReportPolicy
from actionsrunner.core.reporting import Retry, SendLog, SendState
from actionsrunner.core.strategies.breaker_poll import PollBreaker
from actionsrunner.core.strategies.breaker_report import ReportBreaker
from actionsrunner.core.strategies.change_report import ChangeReporter
from actionsrunner.core.strategies.limited_poll import LimitedPoller
from actionsrunner.core.strategies.round_report import RoundReporter
from actionsrunner.core.strategies.slot_poll import SlotPoller
from actionsrunner.settings import BY_NAME
from actionsrunner.strategies import (
    POLL,
    POOLS,
    PRESETS,
    REPORT,
    PoolLimits,
    build_strategies,
    configured,
    poll_strategy,
    pool_limits,
    report_strategy,
    select,
)
from actionsrunner.strategy_table import OWN_DEFAULTS, POLL_KEYS, POOL_KEYS, REPORT_KEYS
from pollbench import PollBench
from reportbench import ReportBench

RNG = random.Random(1)


def policy_of(strategy: Any) -> Any:
    """What a strategy was built with; the one look inside that says whether an option has arrived."""
    return strategy._policy


# Names and options


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_can_be_built(preset: str) -> None:
    built = build_strategies(select(preset), capacity=3, rng=RNG)
    assert built.poll.start() is not None
    assert built.report.start(0) is not None


def test_default_is_todays_runner() -> None:
    built = build_strategies(select(), capacity=2, rng=RNG)
    assert isinstance(built.poll, BackoffPoller)
    assert isinstance(built.report, EventReporter)
    assert policy_of(built.poll) == PollPolicy(capacity=2)
    assert policy_of(built.report) == ReportPolicy(retry=Retry.INTERVAL)
    assert built.pool == PoolLimits(idle_connections=10, idle_timeout_s=90)


def test_names_stand_for_the_specimens() -> None:
    assert isinstance(poll_strategy("fixed", rng=RNG), LimitedPoller)
    assert isinstance(poll_strategy("per-worker", rng=RNG), SlotPoller)
    assert isinstance(poll_strategy("single", rng=RNG), BackoffPoller)
    assert isinstance(report_strategy("fixed", rng=RNG), RoundReporter)
    assert isinstance(report_strategy("event-driven", rng=RNG), ChangeReporter)
    assert policy_of(poll_strategy("single", rng=RNG)).interval_max_us == 60_000_000
    assert policy_of(report_strategy("event-driven", rng=RNG)).retry is Retry.EVERY_ROW


@pytest.mark.parametrize(
    ("preset", "poll", "report", "pool"),
    [
        ("fixed", "fixed", "fixed", "two-idle"),
        ("per-worker", "per-worker", "event-driven", "tuned"),
        ("single", "single", "event-driven", "tuned"),
        ("current", "current", "current", "tuned"),
    ],
)
def test_preset_combines_the_parts_of_one_version(preset: str, poll: str, report: str, pool: str) -> None:
    chosen = select(preset)
    assert (chosen.poll, chosen.report, chosen.pool) == (poll, report, pool)


def test_options_reach_the_policy_with_their_units() -> None:
    options = {"fetch_interval": "500ms", "fetch_interval_max": "1m", "jitter": False, "one-counter": True}
    policy = policy_of(poll_strategy("current", options, capacity=4, rng=RNG, tasks_max=2))
    assert policy == PollPolicy(
        capacity=4, interval_us=500_000, interval_max_us=60_000_000, jitter=False, one_counter=True, tasks_max=2
    )
    policy = policy_of(report_strategy("current", {"retry": "every-row", "log_report_batch_size": 7}, rng=RNG))
    assert policy == ReportPolicy(retry=Retry.EVERY_ROW, log_batch_rows=7)
    assert policy_of(report_strategy("fixed", {"interval": "2s"}, rng=RNG)).interval_us == 2_000_000


def test_threshold_lays_a_breaker_over_either_part() -> None:
    poll = poll_strategy("fixed", {"breaker_threshold": 4, "breaker_cooldown": "10s"}, rng=RNG)
    assert isinstance(poll, PollBreaker)
    assert (policy_of(poll).threshold, policy_of(poll).cooldown_us) == (4, 10_000_000)
    report = report_strategy("fixed", {"breaker_threshold": 4}, rng=RNG)
    assert isinstance(report, ReportBreaker)
    assert policy_of(report).cooldown_us == 30_000_000
    poll = poll_strategy("single", {"breaker_threshold": 4, "jitter": False}, rng=RNG)
    assert not policy_of(poll).jitter


def test_two_idle_is_a_pool_and_its_numbers_can_be_overridden() -> None:
    assert pool_limits("two-idle") == PoolLimits(idle_connections=2, idle_timeout_s=90)
    assert pool_limits("two-idle", {"idle_timeout": "5s"}) == PoolLimits(idle_connections=2, idle_timeout_s=5)


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda: select("fast"), "preset: unknown name 'fast'; choose one of current, "),
        (lambda: poll_strategy("fast", rng=RNG), "poll.strategy: unknown name 'fast'; choose one of current, single"),
        (lambda: report_strategy("fast", rng=RNG), "report.strategy: unknown name 'fast'; choose one of current"),
        (lambda: pool_limits("none"), "pool.preset: unknown name 'none'; choose one of tuned, two-idle"),
        (lambda: poll_strategy("single", {"poll_while_full": True}, rng=RNG), "poll.poll_while_full: not an option of"),
        (lambda: poll_strategy("fixed", {"jitter": False}, rng=RNG), "poll.jitter: not an option of fixed; choose one"),
        (lambda: poll_strategy("single", {"fetch_interval": 2}, rng=RNG), "poll.fetch_interval: 2 has no unit; write"),
        (lambda: report_strategy("current", {"retry": "never"}, rng=RNG), "report.retry: 'never' is none of interval"),
        (lambda: pool_limits("tuned", {"idle_connections": -1}), "pool.idle_connections: must be at least 0"),
    ],
)
def test_nonsense_is_refused_with_the_name_and_the_choice(build: Any, text: str) -> None:
    with pytest.raises(ValueError, match="^" + text.replace("(", r"\(").replace(".", r"\.")):
        build()


def test_overriding_a_part_of_a_preset_drops_the_options_of_the_other_part() -> None:
    chosen = select("current-every-row", report={"strategy": "fixed"}, poll={"jitter": False})
    assert (chosen.report, chosen.report_options) == ("fixed", {})
    assert (chosen.poll, chosen.poll_options) == ("current", {"jitter": False})


def test_overriding_an_option_of_a_preset_keeps_the_others() -> None:
    chosen = select("single-no-jitter", poll={"fetch_interval_max": "10s"})
    assert chosen.poll_options == {"jitter": False, "fetch_interval_max": "10s"}


# The configuration file


def test_configuration_without_a_word_about_it_means_todays_runner() -> None:
    built = build_strategies(configured(load_config(None)), capacity=1, rng=RNG)
    assert policy_of(built.poll) == PollPolicy()
    assert policy_of(built.report) == ReportPolicy()
    assert built.pool == PoolLimits()


def test_defaults_of_the_keys_are_those_of_todays_strategies() -> None:
    defaults = {name: BY_NAME[key].default for name, key in POLL_KEYS.items() if name in POLL["current"]}
    assert policy_of(poll_strategy("current", defaults, rng=RNG)) == PollPolicy()
    defaults = {name: BY_NAME[key].default for name, key in REPORT_KEYS.items() if name in REPORT["current"]}
    assert policy_of(report_strategy("current", defaults, rng=RNG)) == ReportPolicy()
    assert pool_limits("tuned", {name: BY_NAME[key].default for name, key in POOL_KEYS.items()}) == PoolLimits()
    assert set(BY_NAME["runner.pool.preset"].choices) == set(POOLS)


def test_defaults_of_specimens_are_those_of_the_table_or_their_own() -> None:
    makers = {
        **dict.fromkeys(POLL, (poll_strategy, POLL, POLL_KEYS)),
        "event-driven": (report_strategy, REPORT, REPORT_KEYS),
    }
    for name, (make, takes, keys) in makers.items():
        written = {option: BY_NAME[keys[option]].default for option in takes[name]} | dict(OWN_DEFAULTS.get(name, {}))
        assert policy_of(make(name, written, rng=RNG)) == policy_of(make(name, rng=RNG)), name  # type: ignore[operator]  # two factories alike


def test_configuration_selects_parts_and_gives_options() -> None:
    config = parse_config(
        """
        runner:
          preset: fixed
          fetch_interval: 3s
          capacity: 9
          poll: {poll_while_full: true}
          report: {interval: 250ms}
          pool: {idle_timeout: 7s}
        """,
        "x",
    )
    assert config.warnings == ()
    built = build_strategies(configured(config), capacity=9, rng=RNG)
    assert (policy_of(built.poll).interval_us, policy_of(built.poll).poll_while_full) == (3_000_000, True)
    assert policy_of(built.report).interval_us == 250_000
    assert built.pool == PoolLimits(idle_connections=2, idle_timeout_s=7)


def test_configuration_may_name_each_part() -> None:
    config = parse_config("runner: {poll: {strategy: single, jitter: off}, report: {retry: every-row}}", "x")
    built = build_strategies(configured(config), capacity=1, rng=RNG)
    assert policy_of(built.poll).interval_max_us == 60_000_000
    assert not policy_of(built.poll).jitter
    assert policy_of(built.report) == ReportPolicy(retry=Retry.EVERY_ROW)


def test_old_configuration_file_is_heard_by_todays_strategies() -> None:
    config = parse_config("runner: {fetch_interval: 1s, fetch_interval_max: 9s, log_report_batch_size: 5}", "x")
    built = build_strategies(configured(config), capacity=1, rng=RNG)
    assert policy_of(built.poll) == PollPolicy(interval_us=1_000_000, interval_max_us=9_000_000)
    assert policy_of(built.report) == ReportPolicy(log_batch_rows=5)


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        (
            "{preset: fixed, fetch_interval_max: 9s}",
            "`runner.fetch_interval_max` has no effect with the poll strategy fixed",
        ),
        ("{preset: single, fetch_interval_max: 5s}", "`runner.fetch_interval_max` overrides the 60s that single has"),
        ("{report: {interval: 2s}}", "`runner.report.interval` has no effect with the report strategy current"),
        ("{poll: {strategy: fixed, jitter: off}}", "`runner.poll.jitter` has no effect with the poll strategy fixed"),
    ],
)
def test_key_that_is_not_heard_or_changes_a_specimen_gives_a_warning(text: str, warning: str) -> None:
    (found,) = parse_config(f"runner: {text}", "x").warnings
    assert found.startswith(warning)


def test_unknown_name_in_the_file_is_an_error_that_names_the_choice() -> None:
    with pytest.raises(
        Exception, match=r"`runner\.poll\.strategy`: 'fast' is none of current, single, per-worker, fixed"
    ):
        parse_config("runner: {poll: {strategy: fast}}", "x")


# Arithmetic: three runners with 60 slots each


def fetches_per_cycle(preset: str, *, full: bool) -> int:
    """Fetches of three runners with 60 slots within one poll cycle, once they have settled down."""
    total = 0
    for number in range(3):
        left = [60 if full else 0]

        def server(at_s: float, fetch: Fetch, left: list[int] = left) -> int:
            left[0] -= 1
            return int(left[0] >= 0)

        built = build_strategies(select(preset), capacity=60, rng=random.Random(number))
        cycle_s = 2 if preset.startswith("fixed") else 60
        bench = PollBench(built.poll, server).run(2400)
        assert bench.most_busy == (60 if full else 0)
        total += bench.between(600, 2400) * cycle_s
    return round(total / 1800)


@pytest.mark.parametrize(
    ("preset", "idle", "full"),
    [
        ("fixed", 3, 0),
        ("fixed-claimed", 3, 3),
        ("per-worker", 180, 0),
        ("per-worker-claimed", 180, 180),
        ("single", 3, 0),
    ],
)
def test_fetches_per_cycle_of_three_runners_with_sixty_slots(preset: str, idle: int, full: int) -> None:
    assert fetches_per_cycle(preset, full=False) == pytest.approx(idle, rel=0.02)
    assert fetches_per_cycle(preset, full=True) == pytest.approx(full, rel=0.02)


# Arithmetic: one running task


def logging(job: ReportBench, shape: str) -> None:
    """Let a job of 2000 s log in one of the shapes of docs/strategies.md, out of step with the ticks."""
    job.until(0.37)
    for start_s in range(0, 2000, 30):
        if shape == "chatty":
            job.log_every(1, start_s + 30)
        elif shape == "bursty":
            job.until(start_s + 1.37)
            job.log_every(0.01, start_s + 3.37)
        elif shape == "quiet":
            job.until(start_s + 1.37)
            job.rows()
    job.until(2000)


@pytest.mark.parametrize(
    ("name", "shape", "logs", "states"),
    [
        *(("fixed", shape, 1, 1) for shape in ("chatty", "bursty", "quiet", "silent")),
        ("event-driven", "chatty", 0.4, 0.2),
        ("event-driven", "bursty", 2 / 30, 1 / 30),
        ("event-driven", "quiet", 1 / 30, 1 / 30),
        ("event-driven", "silent", 0, 0),
        ("current", "chatty", 0.4, 0.2),
        ("current", "bursty", 2 / 30, 0.1),
        ("current", "quiet", 1 / 30, 0.1),
        ("current", "silent", 0, 0.1),
    ],
)
def test_calls_of_one_task_are_those_of_the_documentation(name: str, shape: str, logs: float, states: float) -> None:
    job = ReportBench(report_strategy(name, rng=random.Random(1)))
    logging(job, shape)
    assert job.count(200, 1700, SendLog) / 1500 == pytest.approx(logs, rel=0.02)
    assert job.count(200, 1700, SendState) / 1500 == pytest.approx(states, rel=0.02)


# Herds: 200 idle runners, an outage of five minutes


def arrivals(preset: str, options: dict[str, Any] | None = None) -> list[list[float]]:
    """When 200 runners that began together polled, with the server failing from 600 to 900 s."""

    def server(at_s: float, fetch: Fetch) -> int | Failure:
        return Failure.RETRY if 600 <= at_s < 900 else 0

    runners = []
    for number in range(200):
        built = build_strategies(select(preset, poll=options), capacity=1, rng=random.Random(number))
        runners.append(PollBench(built.poll, server).run(1200).times)
    return runners


def busiest_second(runners: list[list[float]], start_s: float) -> int:
    later = sorted(at_s for times in runners for at_s in times if at_s >= start_s)
    return max(
        sum(at_s <= other < at_s + 1 for other in later[place : place + 200]) for place, at_s in enumerate(later)
    )


def test_herd_without_jitter_arrives_in_one_second() -> None:
    assert busiest_second(arrivals("single-no-jitter"), 900) == 200


def test_herd_with_jitter_is_spread() -> None:
    assert busiest_second(arrivals("single"), 900) <= 16


def second_polls(preset: str) -> list[float]:
    """Each runner's wait between its first and second poll after the outage."""
    waits = []
    for times in arrivals(preset):
        back = [at_s for at_s in times if at_s >= 900]
        waits.append(back[1] - back[0])
    return waits


def test_second_poll_after_recovery_stays_slow_with_two_counters() -> None:
    assert min(second_polls("single")) >= 48


def test_second_poll_after_recovery_comes_at_once_with_one_counter() -> None:
    assert max(second_polls("single-one-counter")) <= 2.4
