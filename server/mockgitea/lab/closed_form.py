"""What arithmetic says a fleet sends per second, where it has an answer. Pure: scenarios in, bands of rates out.

Knows what each way to poll and to report does by its name and options, never by its code, so that a mistake there
shows as a difference. A band is a range because an instant that falls together with another may save a call.
Source: docs/strategies.md, "Polling" and "Reporting".
"""

import math
from dataclasses import dataclass
from typing import Any, Final

from actionsrunner.config import check_value
from actionsrunner.settings import BY_NAME
from actionsrunner.strategies import Selection, select
from actionsrunner.strategy_table import OWN_DEFAULTS, POLL_KEYS, REPORT_KEYS
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.shapes import BURST_EVERY_S, CHATTY_EVERY_S, QUIET_EVERY_S, JobShape
from mockgitea.lab.strategies import StrategyChoice

SECOND_US: Final = 1_000_000
WARM_UP_S: Final = 120.0
"""Before that a back-off up to 60 s has not reached its cap."""
TOLERANCE: Final = 0.05
DOUBLINGS_MAX: Final = 5
SPREAD_CALLS: Final = 1.5
"""A fleet's count in a window scatters by half a call per independent clock; three times that, by their root."""
SILENCE_S: Final = 600.0
"""A server with default settings ends a task after that."""
BURST_CALLS: Final = 2.0
"""UpdateLogs of 200 rows with batches of 100."""

FETCH: Final = "FetchTask"
LOG: Final = "UpdateLog"
STATE: Final = "UpdateTask"


@dataclass(frozen=True, slots=True)
class Band:
    """A rate that is at least ``low`` and at most ``high`` per second."""

    low: float
    high: float

    def __add__(self, other: "Band") -> "Band":
        return Band(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> "Band":
        """Return the band of so many of these."""
        return Band(self.low * factor, self.high * factor)

    @property
    def middle(self) -> float:
        """What to print as one number."""
        return (self.low + self.high) / 2

    def miss(self, rate: float) -> float:
        """Return by how much ``rate`` lies outside, per second; 0 inside."""
        return max(self.low - rate, rate - self.high, 0.0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """One figure beside its expectation."""

    method: str
    expected: Band
    measured: float
    allowed: float
    """Distance from the band that still passes, per second."""

    @property
    def passes(self) -> bool:
        """Whether arithmetic and laboratory agree."""
        return self.expected.miss(self.measured) <= self.allowed


def _exactly(rate: float) -> Band:
    return Band(rate, rate)


def expected_rates(scenario: Scenario, choice: StrategyChoice) -> dict[str, Band] | None:
    """Return calls per second by method and their ``total``, None where there is no closed form.

    There is one for a fleet in a steady state: nothing arrives, no task ends within the simulation, nothing is down,
    calls take no time, and the warm-up covers the back-off.
    """
    plan = scenario.fleet
    disturbed = scenario.faults or scenario.downtime
    steady = not (disturbed or scenario.link.round_trip_us or scenario.workload.arrivals.per_hour)
    if not steady or scenario.workload.arrivals.jobs or scenario.warm_up_us < WARM_UP_S * SECOND_US:
        return None
    selection = select(choice.name, poll=choice.poll, report=choice.report, pool=choice.pool)
    shapes = scenario.workload.shapes if plan.running_tasks else ()
    if any(shape.duration_us <= scenario.end_us for shape in shapes) or _is_reaped(scenario, selection, shapes):
        return None
    fetch = _exactly(polls(selection, runners=plan.runners, capacity=plan.capacity, running=plan.running_tasks))
    log = state = Band(0.0, 0.0)
    for shape in shapes:
        found = reports(selection, shape)
        if found is None:
            return None
        log, state = log + found[0], state + found[1]
    tasks_each = plan.runners * plan.running_tasks / max(1, len(shapes))
    log, state = log.times(tasks_each), state.times(tasks_each)
    return {FETCH: fetch, LOG: log, STATE: state, "total": fetch + log + state}


def verdicts(scenario: Scenario, choice: StrategyChoice, rates: "dict[str, float]") -> list[Verdict]:
    """Compare measured rates with the closed form; empty where there is none.

    Polls, reports and the total are compared. The allowance is 5 %, or what a count of so few calls scatters by.
    """
    expected = expected_rates(scenario, choice)
    if expected is None:
        return []
    plan, window_s = scenario.fleet, scenario.duration_us / SECOND_US
    slots = plan.capacity if select(choice.name).poll == "per-worker" else 1
    polls_scatter = SPREAD_CALLS * math.sqrt(plan.runners * slots) / window_s
    reports_scatter = SPREAD_CALLS * math.sqrt(plan.runners * plan.running_tasks) / window_s
    pairs = (
        (FETCH, expected[FETCH], rates.get(FETCH, 0.0), polls_scatter),
        ("reports", expected[LOG] + expected[STATE], rates.get(LOG, 0.0) + rates.get(STATE, 0.0), reports_scatter),
        ("total", expected["total"], rates["total"], polls_scatter + reports_scatter),
    )
    return [Verdict(name, band, rate, max(TOLERANCE * band.middle, scatter)) for name, band, rate, scatter in pairs]


def polls(selection: Selection, *, runners: int, capacity: int, running: int) -> float:
    """Return fetches per second of a fleet that finds nothing.

    Args:
        selection: which way to poll.
        runners: N.
        capacity: c slots of each.
        running: tasks of each; free slots are f = c - running.
    """
    own = OWN_DEFAULTS.get(selection.poll, {})
    interval_s = _option(selection.poll_options, "fetch_interval", POLL_KEYS, own)
    free = capacity - running
    asks_while_full = bool(selection.poll_options.get("poll_while_full", False))
    if not free and not asks_while_full:
        return 0.0
    if selection.poll == "fixed":
        return runners / interval_s
    cap_s = max(interval_s, _option(selection.poll_options, "fetch_interval_max", POLL_KEYS, own))
    wait_s = min(interval_s * 2**DOUBLINGS_MAX, cap_s)
    pollers = 1 if selection.poll != "per-worker" else capacity if asks_while_full else free
    return runners * pollers / wait_s


def reports(selection: Selection, shape: JobShape) -> tuple[Band, Band] | None:
    """Return UpdateLogs and UpdateTasks per second of one running task; None for a recorded log or changed batches."""
    options = selection.report_options
    own = OWN_DEFAULTS.get(selection.report, {})
    if selection.report == "fixed":
        rate = _exactly(1 / _option(options, "interval", REPORT_KEYS, own))
        return rate, rate
    log_s = _option(options, "log_report_interval", REPORT_KEYS, own)
    state_s = _option(options, "state_report_interval", REPORT_KEYS, own)
    if "log_report_batch_size" in options or "log_report_max_latency" in options:
        return None
    rows = _rows(shape, log_s=log_s, state_s=state_s)
    if rows is None:
        return None
    log, state = rows
    if selection.report == "current":
        state = _with_heartbeat(state, 1 / (2 * state_s), is_steady=shape.name == "chatty")
    # A step that ends and the next one that starts are one state, and one UpdateLog if rows wait.
    moves = 1e6 / shape.step_us
    return log + Band(0.0, 0.0 if shape.name == "silent" else moves), state + Band(0.0, moves)


def _rows(shape: JobShape, *, log_s: float, state_s: float) -> tuple[Band, Band] | None:
    """Return what the rows of a shape cause: UpdateLogs and UpdateTasks per second."""
    match shape.name:
        case "chatty":
            # One flush after the latency and one at the tick; the state is dirty at every tick.
            return _exactly(2 / log_s), _exactly(1 / max(state_s, CHATTY_EVERY_S))
        case "bursty-install":
            # A tick within the burst costs one call more of each kind.
            return (
                Band(BURST_CALLS / BURST_EVERY_S, (BURST_CALLS + 1) / BURST_EVERY_S),
                Band(1 / BURST_EVERY_S, 2 / BURST_EVERY_S),
            )
        case "quiet-download":
            return _exactly(1 / QUIET_EVERY_S), _exactly(1 / QUIET_EVERY_S)
        case "silent":
            return Band(0.0, 0.0), Band(0.0, 0.0)
        case _:
            return None


def _with_heartbeat(state: Band, beats: float, *, is_steady: bool) -> Band:
    """Return states per second when every second tick sends one in any case."""
    if is_steady:
        return Band(max(state.low, beats), max(state.high, beats))
    return Band(beats, beats + state.high / 2)


def _is_reaped(scenario: Scenario, selection: Selection, shapes: "tuple[JobShape, ...]") -> bool:
    """Tell whether the server ends tasks for their silence, which changes what the fleet does."""
    timeout_s = float(scenario.server.get("zombie_timeout_s", SILENCE_S))
    is_quiet = selection.report == "event-driven" and any(shape.name == "silent" for shape in shapes)
    return is_quiet and scenario.end_us > timeout_s * SECOND_US


def _option(options: "Any", name: str, keys: "dict[str, str]", own: "Any") -> float:
    """Return a duration in seconds: the choice's, else the strategy's own, else the runner's default."""
    key = BY_NAME[keys[name]]
    return float(check_value(key, options.get(name, own.get(name, key.default))))
