"""The composition root: builds a runner from configuration and registration, and runs it until it leaves.

Everything visible here is a part somebody else may replace: the transport, the clock, both strategies, the job.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import structlog

from actionsrunner.config import FETCH_TIMEOUT_MAX_S, Config
from actionsrunner.core.backoff import poll_delay_us
from actionsrunner.core.failures import Failure
from actionsrunner.core.family import Family
from actionsrunner.core.polling import HaltReason, PollStrategy
from actionsrunner.core.reporting import ReportStrategy
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.edge.clock import Clock, LoopClock
from actionsrunner.edge.connect import RpcError
from actionsrunner.edge.registration import Registration
from actionsrunner.edge.rowbuffer import MEMORY_BYTES_MAX
from actionsrunner.edge.transport import HttpxTransport, Transport
from actionsrunner.engine.job import conduct_job
from actionsrunner.engine.options import EngineOptions
from actionsrunner.exits import Exit
from actionsrunner.loops.poll_loop import PollLoop
from actionsrunner.loops.registering import CAPABILITIES, label_names
from actionsrunner.loops.report_loop import ReportParts
from actionsrunner.loops.shutdown import ShutdownRequests, leave_in_order
from actionsrunner.loops.summaries import SummarySender
from actionsrunner.loops.supervise import Supervisor, bounded
from actionsrunner.loops.task_run import Job, TaskRunner
from actionsrunner.strategies import configured, poll_strategy, pool_limits, report_strategy
from actionsrunner.version import runner_version
from actionswire.labels import parse_label

log = structlog.get_logger(__name__)


class CannotStart(Exception):
    """The server will not have this runner; ``status`` is the exit status that says why."""

    def __init__(self, status: Exit, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class RunnerSetup:
    """All that a running runner needs to know.

    ``once`` makes it leave after one task; ``hidden`` values never reach a task's log; ``job`` executes tasks, on this
    host when absent.
    """

    config: Config
    registration: Registration
    labels: tuple[str, ...]
    once: bool = False
    hidden: tuple[str, ...] = field(default=(), repr=False)
    job: Job | None = None


def configured_family(config: Config) -> Family | None:
    """Return the family that the configuration names, None for auto."""
    family = config.text("runner.family")
    return None if family == "auto" else Family(family)


def build_client(config: Config, address: str, identity: Identity, transport: Transport | None = None) -> RunnerClient:
    """Return a client for the server at ``address``."""
    if transport is None:
        chosen = configured(config)
        pool = pool_limits(chosen.pool, chosen.pool_options)
        transport = HttpxTransport(address, insecure=config.flag("runner.insecure"), pool=pool)
    return RunnerClient(transport, version=runner_version(), identity=identity, family=configured_family(config))


def build_poller(setup: RunnerSetup, rng: random.Random) -> PollStrategy[Any]:
    """Return the polling strategy that the configuration asks for."""
    once = setup.once or setup.registration.ephemeral
    chosen = configured(setup.config)
    return poll_strategy(
        chosen.poll,
        chosen.poll_options,
        capacity=1 if once else setup.config.count("runner.capacity"),
        rng=rng,
        tasks_max=1 if once else None,
    )


def build_reporter(config: Config, rng: random.Random) -> ReportStrategy[Any]:
    """Return the reporting strategy that the configuration asks for."""
    chosen = configured(config)
    return report_strategy(chosen.report, chosen.report_options, rng=rng)


def build_job(setup: RunnerSetup, client: RunnerClient) -> Job:
    """Return the function that executes a task on this host."""

    async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        # The family may only be known since this very task.
        options = engine_options(setup.config, setup.registration, setup.labels, client.family)
        return await conduct_job(task, options, sink, cancel)

    return job


def engine_options(
    config: Config, registration: Registration, labels: tuple[str, ...], family: Family
) -> EngineOptions:
    """Return what the engine is told about this runner."""
    parsed = (parse_label(text) for text in labels)
    return EngineOptions(
        workdir_parent=workdir_parent(config),
        labels=tuple(label for label in parsed if label is not None),
        runner_name=registration.name,
        runner_version=runner_version(),
        instance_url=registration.address,
        envs=job_variables(config),
        job_timeout_s=config.seconds("runner.timeout"),
        family=family.value,
        set_act_env=config.flag("runner.set_act_env"),
        tool_cache_shared=config.text("runner.tool_cache_mode") == "shared",
        job_started=_optional_path(config.text("runner.hooks.job_started")),
        job_completed=_optional_path(config.text("runner.hooks.job_completed")),
    )


def workdir_parent(config: Config) -> Path:
    """Return the directory below which every job gets one of its own."""
    return Path(config.text("host.workdir_parent") or "~/.cache/act").expanduser().absolute()


def job_variables(config: Config) -> dict[str, str]:
    """Return the variables of every job: those of the configuration, then those of the file."""
    variables = config.map("runner.envs")
    path = Path(config.text("runner.env_file"))
    if not config.text("runner.env_file") or not path.is_file():
        return variables
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        name, separator, value = line.strip().removeprefix("export ").partition("=")
        if separator and not name.startswith("#"):
            variables[name.strip()] = _unquote(value.strip())
    return variables


async def run_daemon(
    setup: RunnerSetup,
    requests: ShutdownRequests,
    *,
    transport: Transport | None = None,
    clock: Clock | None = None,
    rng: random.Random | None = None,
) -> Exit:
    """Declare, then poll and run tasks until stopped, served or unregistered; return the exit status."""
    clock = clock or LoopClock()
    rng = rng or random.Random()  # noqa: S311  jitter and request keys are no secrets
    registration = setup.registration
    identity = Identity(registration.uuid, registration.token)
    client = build_client(setup.config, registration.address, identity, transport)
    parts = ReportParts(
        client=client,
        clock=clock,
        strategy=build_reporter(setup.config, rng),
        memory_bytes_max=MEMORY_BYTES_MAX,
        job_limit_us=setup.config.micros("runner.timeout"),
    )
    tasks = TaskRunner(
        setup.job or build_job(setup, client), parts, hidden=setup.hidden, summaries=SummarySender(client, clock)
    )
    poll = PollLoop(
        client,
        clock,
        build_poller(setup, rng),
        tasks.run,
        fetch_limit_s=min(setup.config.seconds("runner.fetch_timeout"), FETCH_TIMEOUT_MAX_S),
    )
    try:
        try:
            await bounded(_declare(client, clock, setup, rng), by=requests.asked())
        except TimeoutError:
            log.info("stopped", reason="asked to stop before the server had answered")
            return Exit.OK
        except CannotStart:
            # Supervisors start us again at once; what cannot succeed need not be tried every second.
            await requests.next(clock, clock.now_us() + setup.config.micros("runner.fetch_interval_max"))
            raise
        return await _serve(poll, clock, requests, setup.config.micros("runner.shutdown_timeout"))
    finally:
        await client.close()


async def _serve(poll: PollLoop[Any], clock: Clock, requests: ShutdownRequests, patience_us: int) -> Exit:
    group = Supervisor()
    polling = group.spawn(poll.run(), name="poll")
    leaving = group.spawn(leave_in_order(requests, poll, clock, patience_us=patience_us), name="shutdown")
    try:
        await group.first()
        if not polling.done():
            return Exit.FORCED
        reason = polling.result()
    finally:
        leaving.cancel()
        await group.cancel()
    log.info("stopped", reason=reason)
    if poll.failure is not None:
        return Exit.FAILED
    return Exit.UNREGISTERED if reason is HaltReason.UNREGISTERED else Exit.OK


async def _declare(client: RunnerClient, clock: Clock, setup: RunnerSetup, rng: random.Random) -> None:
    """Declare until the server has taken it, with the back-off of polling between tries.

    Raises:
        CannotStart: the server refuses this runner, or has no Declare.
    """
    names = label_names(setup.labels)
    streak = 0
    while True:
        try:
            announced = await client.declare(labels=names, capabilities=CAPABILITIES)
        except RpcError as error:
            if _tolerates(error, client.family):
                return
            streak += 1
            log.warning("declare_failed", code=error.code, error=error.message, streak=streak)
        else:
            log.info("declared", labels=names, server_capabilities=sorted(announced))
            return
        delay_us = poll_delay_us(
            streak=streak,
            base_us=setup.config.micros("runner.fetch_interval"),
            cap_us=setup.config.micros("runner.fetch_interval_max"),
            rng=rng,
        )
        await clock.sleep_until(clock.now_us() + delay_us)


def _tolerates(error: RpcError, family: Family) -> bool:
    """Tell whether the runner goes on without Declare; False to try again.

    Raises:
        CannotStart: trying again will not help.
    """
    if error.failure is Failure.UNREGISTERED:
        text = "the server does not know this runner; register it again"
        raise CannotStart(Exit.UNREGISTERED, text) from error
    if error.failure in (Failure.REFUSED, Failure.TASK_GONE):
        raise CannotStart(Exit.FAILED, f"the server refused Declare: {error.code}: {error.message}") from error
    if error.failure is not Failure.UNIMPLEMENTED:
        return False
    if family is Family.FORGEJO:
        log.warning("declare_unimplemented", detail="the server does not learn this runner's labels")
        return True
    raise CannotStart(Exit.SERVER_TOO_OLD, "the server has no Declare; Gitea 1.21 or newer is needed") from error


def _optional_path(text: str) -> Path | None:
    return Path(text).absolute() if text else None


def _unquote(value: str) -> str:
    quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value
