"""A fleet of production runners in virtual time: client, poll loop and report loop as shipped, jobs scripted.

Each runner is registered on the server, declares itself at its own time and then polls. Owns their identities, their
random generators and their tasks; decides nothing about polling or reporting.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import structlog

from actionsrunner.embedding import EmbeddedRunner, Identity, RpcError, RunnerParts
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.executor import ScriptedExecutor
from mockgitea.lab.network import Network, Pool, PoolPolicy
from mockgitea.lab.server import LabServer
from mockgitea.lab.shapes import SECOND_US, JobShape
from mockgitea.lab.strategies import StrategyChoice, StrategyFactory
from mockgitea.lab.transport import AsgiTransport
from mockgitea.lab.workload import FLEET_LABEL, Workload
from mockgitea.supervise import Supervisor

DECLARE_RETRY_US: Final = 2_000_000

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """How many runners, how large, and over which time they start."""

    runners: int
    capacity: int = 1
    labels: tuple[str, ...] = ()
    """Beside the fleet's own label and each runner's own, ``runner-0`` and so on."""
    start_spread_us: int = 0
    running_tasks: int = 0
    """Jobs that are made for each runner right before it starts, and only it can take."""


class RunnerFailed(RuntimeError):
    """A runner of the fleet died of an unexpected error; the simulation is worthless."""


class Fleet:
    """The runners of one simulation.

    Args:
        plan: size and start.
        server: registers the runners and serves them.
        network: between the two.
        clock: virtual time.
        choice: which strategies, and the connection pool.
        factory: makes the strategies.
        shapes: what scripted jobs look like.
        seed: of every runner's own generator.
    """

    def __init__(
        self,
        plan: FleetPlan,
        *,
        server: LabServer,
        network: Network,
        clock: RunnerClock,
        choice: StrategyChoice,
        factory: StrategyFactory,
        shapes: Mapping[str, JobShape],
        seed: int,
    ) -> None:
        self._plan = plan
        self._server = server
        self._network = network
        self._clock = clock
        self._choice = choice
        self._factory = factory
        self._seed = seed
        self._supervisor = Supervisor(on_failure=self._fail)
        self._executor = ScriptedExecutor(clock, shapes, self._supervisor)
        self._failure: BaseException | None = None
        self.uuids: list[str] = []
        """Of each runner, in order."""

    async def start(self, workload: Workload) -> None:
        """Register every runner and let each start at its own time, with its initial jobs."""
        for number in range(self._plan.runners):
            labels = (FLEET_LABEL, own_label(number), *self._plan.labels)
            record, token = await self._server.services.registration.create_runner(
                name=f"runner-{number}", labels=labels
            )
            self.uuids.append(record.uuid)
            rng = random.Random(f"{self._seed}:runner:{number}")  # noqa: S311 - a reproducible simulation
            runner = self._runner(Identity(record.uuid, token), labels, rng)
            start_us = self._clock.now_us() + round(rng.random() * self._plan.start_spread_us)
            self._supervisor.start(self._live(number, runner, start_us, workload), name=f"runner-{number}")

    async def close(self) -> None:
        """End every runner where it stands; raises `RunnerFailed` if one had died before."""
        await self._supervisor.close()
        self.check()

    def check(self) -> None:
        """Raise `RunnerFailed` if a runner has died."""
        if self._failure is not None:
            raise RunnerFailed("a runner of the fleet failed") from self._failure

    def _runner(self, identity: Identity, labels: tuple[str, ...], rng: random.Random) -> EmbeddedRunner:
        strategies = self._factory(self._choice, self._plan.capacity, rng)
        limits = strategies.pool
        pool = Pool(
            self._network,
            self._clock,
            PoolPolicy(idle_max=limits.idle_connections, idle_timeout_us=round(limits.idle_timeout_s * SECOND_US)),
        )
        return EmbeddedRunner(
            RunnerParts(
                identity=identity,
                labels=labels,
                transport=AsgiTransport(self._server.app, self._network, pool),
                clock=self._clock,
                job=self._executor.run,
                poll=strategies.poll,
                report=strategies.report,
            )
        )

    async def _live(self, number: int, runner: EmbeddedRunner, start_us: int, workload: Workload) -> None:
        await self._clock.sleep_until(start_us)
        for _ in range(self._plan.running_tasks):
            await workload.enqueue(own_label(number))
        await self._declare(runner)
        reason = await runner.run()
        if runner.failure is not None:
            raise runner.failure
        log.warning("lab_runner_left", runner=number, reason=reason)

    async def _declare(self, runner: EmbeddedRunner) -> None:
        while True:
            try:
                return await runner.declare()
            except RpcError:
                await self._clock.sleep_until(self._clock.now_us() + DECLARE_RETRY_US)

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error


def own_label(number: int) -> str:
    """Return the label that only this runner has."""
    return f"runner-{number}"
