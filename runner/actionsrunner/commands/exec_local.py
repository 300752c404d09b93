"""`actionsrunner exec FILE`: run a workflow file's jobs on this host and print their rows."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from actionsrunner.app import engine_options
from actionsrunner.config import Config, ConfigInvalid, load_config
from actionsrunner.core.family import Family
from actionsrunner.core.masking import Masker
from actionsrunner.core.rows import printable_lines
from actionsrunner.core.seams import Need, TaskSpec
from actionsrunner.edge.clock import LoopClock
from actionsrunner.edge.registration import Registration
from actionsrunner.engine.job import run_job
from actionsrunner.engine.options import EngineOptions
from actionsrunner.exits import Exit
from actionsrunner.localrun import (
    LocalJob,
    LocalSettings,
    WorkflowUnusable,
    combination_title,
    cut_tasks,
    order_jobs,
    read_workflow,
    worst,
)
from actionsrunner.logs import set_up_logs
from actionsrunner.loops.cancel import CancelToken
from actionsrunner.loops.shutdown import REASON, ShutdownRequests, on_signals
from actionsrunner.loops.supervise import Supervisor
from actionswire.result import Result


class TerminalSink:
    """Prints a job's rows, each behind the job's title; implements `JobSink`."""

    def __init__(self, title: str, masker: Masker, out: TextIO) -> None:
        self._title = title
        self._masker = masker
        self._out = out
        self.outputs: dict[str, str] = {}

    def steps_known(self, count: int) -> None:
        """Nothing to show yet."""

    def log(self, content: str) -> None:
        """Print one row."""
        for line in printable_lines(self._masker.mask(content)):
            self._out.write(f"{self._title} | {line}\n")

    def add_mask(self, value: str) -> None:
        """Hide ``value`` from now on."""
        self._masker.add(value)

    def step_started(self, index: int) -> None:
        """The step's own header row says it."""

    def step_finished(self, index: int, result: Result) -> None:
        """Print the step's conclusion."""
        self._out.write(f"{self._title} = step {index + 1}: {result.text}\n")
        self._out.flush()

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        """Keep them for the jobs that need this one."""
        self.outputs = dict(outputs)


@dataclass(slots=True)
class _Ended:
    """What has been run so far."""

    needs: dict[str, Need] = field(default_factory=dict)
    rows: list[tuple[str, Result]] = field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Run the file; return 0 only if no job failed."""
    try:
        config = load_config(Path(args.config) if args.config else None)
        set_up_logs(level=config.text("log.level"), form=config.text("log.format"))
        settings = LocalSettings(
            event=args.event,
            secrets=_pairs(args.secret, "--secret", bare_from=os.environ),
            vars=_pairs(args.var, "--var"),
        )
        workflow = read_workflow(Path(args.file).read_bytes())
        jobs = order_jobs(workflow, args.job)
        options = _options(config, _pairs(args.env, "--env"))
        return asyncio.run(_run_all(workflow, jobs, settings, options))
    except (ConfigInvalid, WorkflowUnusable, ValueError, OSError) as error:
        sys.stderr.write(f"actionsrunner: {args.file}: {error}\n")
        return Exit.FAILED


async def _run_all(
    workflow: Mapping[str, object], jobs: Sequence[LocalJob], settings: LocalSettings, options: EngineOptions
) -> Exit:
    token = CancelToken()
    requests = ShutdownRequests()
    ended = _Ended()
    group = Supervisor()
    with on_signals(requests):
        group.spawn(_cancel_on_request(requests, token), name="signals")
        try:
            for job in jobs:
                needs = {name: ended.needs[name] for name in job.needs}
                tasks = cut_tasks(workflow, job, needs, settings, first_id=len(ended.rows) + 1)
                ended.needs[job.id] = await _run_job(job, tasks, options, token, ended)
        finally:
            await group.cancel()
    width = max(len(title) for title, _ in ended.rows)
    for title, result in ended.rows:
        sys.stdout.write(f"{title:<{width}}  {result.text}\n")
    bad = {Result.FAILURE, Result.CANCELLED} & {result for _, result in ended.rows}
    return Exit.FAILED if bad else Exit.OK


async def _run_job(
    job: LocalJob, tasks: Sequence[TaskSpec], options: EngineOptions, token: CancelToken, ended: _Ended
) -> Need:
    outputs: dict[str, str] = {}
    results: list[Result] = []
    for task in tasks:
        title = combination_title(task, job)
        sink = TerminalSink(title, Masker(task.secrets.values()), sys.stdout)
        outcome = await run_job(task, options, sink, token)
        if outcome.last_words:
            sink.log(outcome.last_words)
        results.append(outcome.result)
        ended.rows.append((title, outcome.result))
        outputs.update({name: value for name, value in sink.outputs.items() if value or name not in outputs})
    return Need(worst(results), outputs)


async def _cancel_on_request(requests: ShutdownRequests, token: CancelToken) -> None:
    """Interrupt the running job at the first request, kill its processes at the second."""
    clock = LoopClock()
    await requests.next(clock)
    token.cancel(REASON)
    await requests.next(clock)
    token.force()


def _options(config: Config, env: Mapping[str, str]) -> EngineOptions:
    nobody = Registration(uuid="", token="", address="", name="local")
    options = engine_options(config, nobody, (), Family.GITEA)
    return replace(options, envs={**options.envs, **env})


def _pairs(items: Sequence[str], flag: str, *, bare_from: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the ``K=V`` items of a flag; a bare ``K`` is looked up in ``bare_from``."""
    pairs: dict[str, str] = {}
    for item in items:
        name, separator, value = item.partition("=")
        if not separator and bare_from is not None and name in bare_from:
            value = bare_from[name]
        elif not name or not separator:
            raise ValueError(f"{flag}: {item!r} is not NAME=VALUE")
        pairs[name] = value
    return pairs
