"""A scenario in real time: the server is a process that listens, the fleet uses the production client over sockets.

The same strategies, loops and job shapes as in virtual time; figures come from the server's journal, as with
`mockgitea lab --attach`. Faults, downtime and latencies are the network's own here and cannot be asked for.
"""

import asyncio
import contextlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import structlog

from actionsrunner.embedding import EmbeddedRunner, HttpxTransport, Identity, LoopClock, RpcError, RunnerParts
from mockgitea.commands.control_http import ControlClient
from mockgitea.lab.attach import POLL_S, Follower, measure_plan, server_us
from mockgitea.lab.executor import FILE_SUFFIX, ScriptedExecutor
from mockgitea.lab.fields import ScenarioError
from mockgitea.lab.fleet import own_label
from mockgitea.lab.run import quiet_logs
from mockgitea.lab.scenario import Scenario
from mockgitea.lab.server import REPOSITORY
from mockgitea.lab.strategies import StrategyChoice, check_choices, production
from mockgitea.lab.suite import Progress, document
from mockgitea.lab.workload import FLEET_LABEL, workflow
from mockgitea.supervise import Supervisor

START_S_MAX: Final = 60.0
STOP_S_MAX: Final = 20.0
RUNNERS_MAX: Final = 500
"""More in one process measure the machine instead of the strategies."""
DECLARE_RETRY_S: Final = 1.0
SECOND_US: Final = 1_000_000
_SPACE: Final = ("--journal-entries", "1000000", "--journal-bytes", str(512 * 1024 * 1024))

log = structlog.get_logger(__name__)


def run_real(scenario: Scenario, progress: Progress = lambda number, share: None) -> dict[str, Any]:
    """Run every strategy of a scenario in real time, one after the other, and return the document.

    Raises:
        ScenarioError: the scenario asks for what only virtual time has, or an option does not exist.
    """
    _check(scenario)
    results = []
    for number, choice in enumerate(scenario.strategies):
        with _server(scenario) as ready, quiet_logs():
            fleet = _RealFleet(scenario, choice, ready)
            results.append(asyncio.run(fleet.run(progress, number)))
    return document(scenario.name, scenario.description, results)


def _check(scenario: Scenario) -> None:
    for name in ("faults", "downtime"):
        if getattr(scenario, name):
            raise ScenarioError(f"{name}: only virtual time has them; remove the rules or write `time: virtual`")
    if scenario.link.round_trip_us:
        raise ScenarioError("link.round_trip_s: real time has the network's own; remove it or write `time: virtual`")
    if scenario.fleet.runners > RUNNERS_MAX:
        raise ScenarioError(f"fleet.runners: at most {RUNNERS_MAX} in real time")
    check_choices(scenario.strategies, scenario.fleet.capacity)


class _RealFleet:
    """The runners of one real run, all in this process."""

    def __init__(self, scenario: Scenario, choice: StrategyChoice, ready: dict[str, Any]) -> None:
        self._scenario = scenario
        self._choice = choice
        self._url = str(ready["runner_url"])
        self._control = ControlClient(str(ready["control_url"]), str(ready.get("control_token") or ""))
        self._clock = LoopClock()
        self._failure: BaseException | None = None
        self._supervisor = Supervisor(on_failure=self._fail)
        shapes = {shape.name: shape for shape in scenario.workload.shapes}
        self._executor = ScriptedExecutor(self._clock, shapes, self._supervisor)
        self._made = 0
        self._waiting: dict[int, int] = {}

    async def run(self, progress: Progress, number: int) -> dict[str, Any]:
        """Start everything, follow the journal to the end of the scenario, and return the result."""
        scenario = self._scenario
        runners = [await asyncio.to_thread(self._runner, place) for place in range(scenario.fleet.runners)]
        epoch_us = -(-await asyncio.to_thread(server_us, self._control) // SECOND_US) * SECOND_US
        plan = measure_plan(epoch_us, scenario.warm_up_us, scenario.end_us, capacity=scenario.fleet.capacity)
        follower = Follower(self._control, plan)
        begin_us = self._clock.now_us() + epoch_us - await asyncio.to_thread(server_us, self._control)
        for place, runner in enumerate(runners):
            rng = random.Random(f"{scenario.seed}:start:{place}")  # noqa: S311 - a reproducible start
            start_us = begin_us + round(rng.random() * scenario.fleet.start_spread_us)
            self._supervisor.start(self._live(place, runner, start_us), name=f"runner-{place}")
        arrivals = scenario.workload.arrivals.times(
            scenario.end_us,
            random.Random(f"{scenario.seed}:arrivals"),  # noqa: S311 - a reproducible workload
        )
        self._supervisor.start(self._arrive(arrivals, begin_us), name="arrivals")
        try:
            while (passed_us := self._clock.now_us() - begin_us) < scenario.end_us + SECOND_US:
                self._check_alive()
                follower.measure.waiting.update(self._taken(epoch_us))
                await asyncio.to_thread(follower.look, until_us=scenario.end_us)
                progress(number, min(1.0, passed_us / scenario.end_us))
                await asyncio.sleep(POLL_S)
        finally:
            await self._supervisor.close()
            for runner in runners:
                await runner.close()
            self._control.close()
        return follower.result(scenario, self._choice)

    def _runner(self, place: int) -> EmbeddedRunner:
        plan = self._scenario.fleet
        labels = (FLEET_LABEL, own_label(place), *plan.labels)
        made = self._control.call("POST", "/runners", {"name": f"runner-{place}", "labels": list(labels)})
        rng = random.Random(f"{self._scenario.seed}:runner:{place}")  # noqa: S311 - a reproducible fleet
        strategies = production(self._choice, plan.capacity, rng)
        return EmbeddedRunner(
            RunnerParts(
                identity=Identity(made["uuid"], made["token"]),
                labels=labels,
                transport=HttpxTransport(self._url, pool=strategies.pool),
                clock=self._clock,
                job=self._executor.run,
                poll=strategies.poll,
                report=strategies.report,
            )
        )

    async def _live(self, place: int, runner: EmbeddedRunner, start_us: int) -> None:
        await self._clock.sleep_until(start_us)
        for _ in range(self._scenario.fleet.running_tasks):
            await self._enqueue(own_label(place))
        while True:
            try:
                await runner.declare()
                break
            except RpcError:
                await asyncio.sleep(DECLARE_RETRY_S)
        await runner.run()
        if runner.failure is not None:
            raise runner.failure

    async def _arrive(self, times_us: Iterator[int], begin_us: int) -> None:
        for at_us in times_us:
            await self._clock.sleep_until(begin_us + at_us)
            await self._enqueue()

    async def _enqueue(self, *labels: str) -> None:
        shapes = self._scenario.workload.shapes
        shape = shapes[self._made % len(shapes)]
        self._made += 1
        body = {
            "repository": REPOSITORY,
            "workflow_file": f"{shape.name}{FILE_SUFFIX}",
            "workflow": workflow(shape, (FLEET_LABEL, *labels)),
            "event": "push",
        }
        at_us = self._clock.wall_us()
        made = await asyncio.to_thread(self._control.call, "POST", "/enqueue", body)
        self._waiting[int(made["run_id"])] = at_us

    def _taken(self, epoch_us: int) -> dict[int, int]:
        taken, self._waiting = self._waiting, {}
        return {run_id: at_us - epoch_us for run_id, at_us in taken.items()}

    def _check_alive(self) -> None:
        if self._failure is not None:
            raise RuntimeError("a runner of the fleet failed") from self._failure

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error


@contextlib.contextmanager
def _server(scenario: Scenario) -> Iterator[dict[str, Any]]:
    """Run `mockgitea serve` with the scenario's settings and yield its ready file's content."""
    with tempfile.TemporaryDirectory(prefix="mockgitea-lab-") as folder:
        ready = Path(folder) / "ready.json"
        settings = [part for name, value in scenario.server.items() for part in _flag(name, value)]
        command = [sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0"]
        command += ["--repositories", REPOSITORY, "--profile", scenario.profile, "--ready-file", str(ready)]
        child = subprocess.Popen(  # noqa: S603 - our own program
            [*command, *_SPACE, *settings], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            yield _wait_for(ready, child)
        finally:
            child.terminate()
            try:
                child.wait(STOP_S_MAX)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _flag(name: str, value: object) -> tuple[str, str]:
    return f"--{name.replace('_', '-')}", str(value)


def _wait_for(ready: Path, child: "subprocess.Popen[bytes]") -> dict[str, Any]:
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline:
        if ready.exists():
            found: dict[str, Any] = json.loads(ready.read_text(encoding="utf-8"))
            return found
        if child.poll() is not None:
            break
        time.sleep(0.05)
    raise RuntimeError("the server did not start; try `mockgitea serve` by hand to see why")
