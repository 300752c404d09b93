"""The same figures for a server that really listens: its journal is followed over the control API and counted.

Serves runners of any language that somebody else starts, and the laboratory's own real-time mode. Reads only; what the
journal has already dropped is counted as lost and told, never guessed.
"""

import dataclasses
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from google.protobuf import json_format

from actionsrunner.strategies import PRESETS
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.fleet import FleetPlan
from mockgitea.lab.measure import Measure, MeasurePlan
from mockgitea.lab.network import LinkCounts
from mockgitea.lab.result import result_of
from mockgitea.lab.scenario import Scenario, TimeMode, WorkloadPlan
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.suite import curves, document
from mockgitea.transport import connect
from mockgitea.transport.methods import PROCEDURES

SPAN_S: Final = 60
"""How long is measured unless told otherwise."""
POLL_S: Final = 0.5
PAGE: Final = 10_000
"""Most entries of one answer."""
CAPACITY_UNKNOWN: Final = 1_000_000
ATTACHED: Final = "attached"
SECOND_US: Final = 1_000_000
_TYPES: Final = {procedure.method: procedure for procedure in PROCEDURES}
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Control(Protocol):
    """The control API as this module needs it; `mockgitea.commands.control_http` has it over HTTP."""

    def call(self, verb: str, path: str, body: object = None, *, query: Mapping[str, Any] | None = None) -> Any:
        """Do one call and return the decoded answer."""


class Follower:
    """Feeds the entries of a running server's journal into a `Measure`, each once and in the order they closed.

    Args:
        control: of the server.
        plan: window and capacity, relative to the epoch.
    """

    def __init__(self, control: Control, plan: MeasurePlan) -> None:
        self._control = control
        self._now_us = 0
        self._seen: set[int] = set()
        self._floor = 0
        """Entries up to here have been taken."""
        self.lost = 0
        self.peers: set[tuple[str, str]] = set()
        self.calls = 0
        self.measure = Measure(plan, lambda: self._now_us)

    def look(self, *, until_us: int | None = None) -> None:
        """Take every entry that has closed since the last look; with ``until_us`` none that began later."""
        answer = self._control.call("GET", "/journal", query={"limit": self._wanted()})
        entries = answer["entries"]
        if entries:
            oldest = entries[0]["number"]
            if self._floor and oldest > self._floor + 1 and answer["evicted_total"] >= self._floor + 1:
                self.lost += oldest - self._floor - 1
        fresh = [one for one in entries if one["outcome"] != Outcome.OPEN and one["number"] not in self._seen]
        for told in sorted(fresh, key=_closed_us):
            if until_us is None or _at_us(told) < until_us + self.measure.plan.epoch_us:
                self._take(told)
        self._seen.update(one["number"] for one in fresh)
        self._floor = max([self._floor, *(one["number"] for one in entries)])
        self._seen = {number for number in self._seen if number > self._floor - PAGE}

    def result(self, scenario: Scenario, choice: StrategyChoice) -> dict[str, Any]:
        """Return the result and its curves; connections are those that carried a call of the followed time."""
        self._now_us = self.measure.plan.end_us
        self.measure.finish()
        links = LinkCounts(opened=len(self.peers), reused=self.calls - len(self.peers), attempts=self.calls)
        result = result_of(scenario, choice, self.measure, links)
        values = {one.name: getattr(result, one.name) for one in dataclasses.fields(result)}
        return {**values, "expected": [], "curves": curves(self.measure)}

    def _wanted(self) -> int:
        """Return how many of the newest entries cover all that may be new, slow calls included."""
        if not self._floor:
            return PAGE
        opened = int(self._control.call("GET", "/journal", query={"limit": 1})["opened_total"])
        return min(PAGE, opened - self._floor + 500)

    def _take(self, told: Mapping[str, Any]) -> None:
        entry = _entry(told)
        epoch_us = self.measure.plan.epoch_us
        self._now_us = max(self._now_us, entry.at_us + round(entry.duration_s * 1e6) - epoch_us)
        if entry.at_us < epoch_us:
            return
        if entry.runner_uuid and self.measure.plan.start_us <= entry.at_us - epoch_us < self.measure.plan.end_us:
            self.calls += 1
            self.peers.add((entry.runner_uuid, entry.peer))
        self.measure.closed(entry)


def attach(
    control: Control,
    *,
    span_s: int = SPAN_S,
    sleep: Callable[[float], None] = time.sleep,
    progress: Callable[[int, float], None] = lambda number, share: None,
) -> dict[str, Any]:
    """Measure whatever runs against a listening server for a while.

    Args:
        control: of the server.
        span_s: whole seconds to measure.
        sleep: waits; replaced in tests.
        progress: hears the share that has passed.

    Returns:
        A document with one result, called ``attached``. Pickup is unknown: the journal does not tell when a job began
        to wait. Neither is the capacity, so fetches of full runners are not counted.

    Raises:
        ScenarioError: the journal keeps too few entries to be followed.
    """
    oldest = control.call("GET", "/journal", query={"limit": PAGE})["entries"]
    now_us = server_us(control)
    epoch_us = min([now_us, *map(_at_us, oldest)]) // SECOND_US * SECOND_US
    start_us = -(-(now_us - epoch_us) // SECOND_US) * SECOND_US
    plan = measure_plan(epoch_us, start_us, start_us + span_s * SECOND_US, capacity=CAPACITY_UNKNOWN)
    follower = Follower(control, plan)
    end_us = epoch_us + plan.end_us
    while (left_us := end_us - server_us(control)) > 0:
        follower.look(until_us=plan.end_us)
        progress(0, min(1.0, 1 - left_us / (span_s * SECOND_US)))
        sleep(min(POLL_S, left_us / SECOND_US))
    follower.look(until_us=plan.end_us)
    if follower.lost:
        raise ScenarioError(
            f"--attach: the journal dropped {follower.lost} calls before they were read; start the server with a "
            "larger --journal-entries and --journal-bytes"
        )
    result = follower.result(_scenario(plan, len(follower.measure.tally.by_runner)), _CHOICE)
    result["setup"] = {**result["setup"], "preset": ATTACHED, "capacity": None, "seed": None}
    result["fetches"] = {**result["fetches"], "while_full": None}
    return document(ATTACHED, "runners of somebody else, measured from the server's journal", [result])


_CHOICE: Final = StrategyChoice(name=next(iter(PRESETS)), label=ATTACHED)


def measure_plan(epoch_us: int, start_us: int, end_us: int, *, capacity: int) -> MeasurePlan:
    """Return a plan with the page's usual phase."""
    return MeasurePlan(start_us=start_us, end_us=end_us, phase_us=123_457, capacity=capacity, epoch_us=epoch_us)


def server_us(control: Control) -> int:
    """Return the server's time in microseconds since 1970."""
    return int(control.call("GET", "/clock")["now_us"])


def _scenario(plan: MeasurePlan, runners: int) -> Scenario:
    return Scenario(
        name=ATTACHED,
        fleet=FleetPlan(runners=runners, capacity=plan.capacity),
        workload=WorkloadPlan(shapes=()),
        strategies=(_CHOICE,),
        duration_us=plan.end_us - plan.start_us,
        warm_up_us=plan.start_us,
        time=TimeMode.REAL,
    )


def _entry(told: Mapping[str, Any]) -> Entry:
    """Return a journal entry as it was recorded, with bodies encoded again."""
    entry = Entry(told["number"], _at_us(told), told["opened_s"])
    entry.method = Method(told["method"])
    entry.outcome = Outcome(told["outcome"])
    entry.runner_uuid = told["runner_uuid"]
    entry.duration_s = told["duration_s"]
    entry.peer = told["peer"]
    procedure = _TYPES.get(entry.method)
    if procedure is not None and told["request"] is not None and told["status"] in (0, 200):
        entry.content_type = connect.PROTO
        entry.request = json_format.ParseDict(told["request"], procedure.request_type()).SerializeToString(
            deterministic=True
        )
        entry.response = json_format.ParseDict(told["response"] or {}, procedure.response_type()).SerializeToString(
            deterministic=True
        )
    return entry


def _closed_us(told: Mapping[str, Any]) -> tuple[int, int]:
    return _at_us(told) + round(told["duration_s"] * 1e6), told["number"]


def _at_us(told: Mapping[str, Any]) -> int:
    return _micros(told["at"])


def _micros(text: str) -> int:
    return (datetime.fromisoformat(text.replace("Z", "+00:00")) - _EPOCH) // timedelta(microseconds=1)
