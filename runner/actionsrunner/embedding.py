"""The public face for programs that run runners inside their own process: simulations, load tests, experiments.

Builds the production poll loop and report loop around an injected transport, clock, job and pair of strategies (those
come from `actionsrunner.strategies`). Reads no configuration, no environment and no file. What is exported here stays
stable; the other modules of the package may change.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from actionsrunner.core.polling import HaltReason, PollStrategy
from actionsrunner.core.reporting import ReportStrategy
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.edge.clock import Clock, LoopClock
from actionsrunner.edge.connect import RpcError
from actionsrunner.edge.rowbuffer import MEMORY_BYTES_MAX
from actionsrunner.edge.transport import DeadlinePassed, HttpxTransport, RawAnswer, Transport, TransportError
from actionsrunner.loops.poll_loop import PollLoop
from actionsrunner.loops.registering import CAPABILITIES
from actionsrunner.loops.report_loop import ReportParts
from actionsrunner.loops.task_run import Job, TaskRunner
from actionsrunner.version import runner_version

__all__ = [
    "CancelSignal",
    "Clock",
    "DeadlinePassed",
    "EmbeddedRunner",
    "HaltReason",
    "HttpxTransport",
    "Identity",
    "Job",
    "JobOutcome",
    "JobSink",
    "LoopClock",
    "PollStrategy",
    "RawAnswer",
    "ReportStrategy",
    "RpcError",
    "RunnerParts",
    "TaskSpec",
    "Transport",
    "TransportError",
]

FETCH_LIMIT_S = 5.0
"""The runner's default `fetch_timeout`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerParts:
    """What one embedded runner is made of; strategies belong to one runner and are not shared."""

    identity: Identity
    labels: Sequence[str]
    transport: Transport
    clock: Clock
    job: Job
    poll: PollStrategy[Any]
    report: ReportStrategy[Any]
    fetch_limit_s: float = FETCH_LIMIT_S


class EmbeddedRunner:
    """One registered runner; use one object for one `run`."""

    def __init__(self, parts: RunnerParts) -> None:
        self._labels = parts.labels
        self._client = RunnerClient(parts.transport, version=runner_version(), identity=parts.identity, family=None)
        reports = ReportParts(
            client=self._client, clock=parts.clock, strategy=parts.report, memory_bytes_max=MEMORY_BYTES_MAX
        )
        self._loop = PollLoop(
            self._client,
            parts.clock,
            parts.poll,
            TaskRunner(parts.job, reports).run,
            fetch_limit_s=parts.fetch_limit_s,
        )

    @property
    def failure(self) -> BaseException | None:
        """The first unexpected error of a task or fetch, which stops the polling."""
        return self._loop.failure

    async def declare(self) -> None:
        """Tell the server version, labels and capabilities, once; raises `RpcError` without an answer."""
        await self._client.declare(labels=self._labels, capabilities=CAPABILITIES)

    async def run(self) -> HaltReason:
        """Poll and run tasks until stopped or unregistered; cancelling this ends the tasks too."""
        return await self._loop.run()

    def stop(self) -> None:
        """Fetch nothing more; running tasks go on."""
        self._loop.stop()

    async def close(self) -> None:
        """Close the transport."""
        await self._client.close()
