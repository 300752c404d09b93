"""Jobs of a simulation: what they do stands in their steps, and they remember what they did.

A step's script has one command a line: ``rows 20 over 5`` (seconds), ``sleep 3``, ``tell NAME`` (prints a secret),
``output NAME=VALUE``, ``fail``. Nothing here knows a server; what it remembers is the jobs' own word.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import yaml

from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.edge.clock import Clock
from actionsrunner.loops.task_run import Job
from actionswire.result import Result
from mockgitea.supervise import Supervisor

ROWS_MAX = 10_000
SLEEP_S_MAX = 3600.0


@dataclass(eq=False)
class Execution:
    """One task as its job lived it."""

    runner: str
    task: int
    run: int
    job: str
    """Name as the page shows it: the key in the workflow file, with the matrix values where there are any."""
    attempt: str
    started_us: int
    ended_us: int | None = None
    result: Result | None = None
    """None while it runs, and for good when its runner was killed or its script makes no sense."""
    printed: list[str] = field(default_factory=list)
    """Rows as the job printed them, secrets included."""
    told: set[str] = field(default_factory=set)
    """Secrets that it printed."""
    given: dict[str, str] = field(default_factory=dict)
    """Outputs that it set."""


class ScriptedJobs:
    """Executes the tasks of every runner of a fleet.

    Args:
        clock: virtual time.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._supervisor = Supervisor()
        self.executions: list[Execution] = []

    def on(self, runner: str) -> Job:
        """Return the function that executes the tasks of this runner."""

        async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
            return await self._run(runner, task, sink, cancel)

        return job

    async def close(self) -> None:
        """End every job where it stands."""
        await self._supervisor.close()

    async def _run(self, runner: str, task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
        name, steps = read_payload(task.payload)
        execution = Execution(
            runner=runner,
            task=task.id,
            run=int(task.context["run_id"]),
            job=name,
            attempt=str(task.context["run_attempt"]),
            started_us=self._clock.now_us(),
        )
        self.executions.append(execution)
        play = self._supervisor.start(_Play(task, sink, execution, self._clock).run(steps), name=f"play-{task.id}")
        watch = self._supervisor.start(cancel.wait(), name=f"cancel-{task.id}")
        try:
            await asyncio.wait((play, watch), return_when=asyncio.FIRST_COMPLETED)
            execution.result = play.result() if play.done() else Result.CANCELLED
            return JobOutcome(execution.result)
        finally:
            execution.ended_us = self._clock.now_us()
            play.cancel()
            watch.cancel()


class _Play:
    """One job being played."""

    def __init__(self, task: TaskSpec, sink: JobSink, execution: Execution, clock: Clock) -> None:
        self._task = task
        self._sink = sink
        self._execution = execution
        self._clock = clock

    async def run(self, steps: Sequence[str]) -> Result:
        sink, result = self._sink, Result.SUCCESS
        sink.steps_known(len(steps))
        for number, script in enumerate(steps):
            if result is not Result.SUCCESS:
                sink.step_finished(number, Result.SKIPPED)
                continue
            sink.step_started(number)
            for line in script.splitlines():
                if not await self._do(line.split()):
                    result = Result.FAILURE
            sink.step_finished(number, result)
        if self._execution.given:
            sink.set_outputs(self._execution.given)
        return result

    async def _do(self, words: Sequence[str]) -> bool:
        match words:
            case ["rows", count, *span]:
                await self._print(int(count), float(span[1]) if span else 0.0)
            case ["sleep", seconds]:
                await self._pass(float(seconds))
            case ["tell", name]:
                self._execution.told.add(name)
                for line in f"the secret is {self._task.secrets[name]}, keep it".splitlines():
                    self._row(line)
            case ["output", pair]:
                name, _, value = pair.partition("=")
                self._execution.given[name] = self._task.secrets.get(value, value)
            case ["fail"]:
                return False
            case _:
                raise ValueError(f"a job says {' '.join(words)!r}, which is no command")
        return True

    async def _print(self, count: int, over_s: float) -> None:
        for _ in range(min(count, ROWS_MAX)):
            self._row(f"{self._execution.job} row {len(self._execution.printed)}")
            if over_s:
                await self._pass(over_s / count)

    def _row(self, text: str) -> None:
        self._execution.printed.append(text)
        self._sink.log(text)

    async def _pass(self, seconds: float) -> None:
        await self._clock.sleep_until(self._clock.now_us() + round(min(seconds, SLEEP_S_MAX) * 1e6))


def read_payload(payload: bytes) -> tuple[str, list[str]]:
    """Return the name of the payload's one job and the scripts of its steps."""
    ((key, job),) = yaml.safe_load(payload)["jobs"].items()
    matrix = (job.get("strategy") or {}).get("matrix") or {}
    values = ", ".join(str(value[0] if isinstance(value, list) else value) for _, value in sorted(matrix.items()))
    return f"{key} ({values})" if values else str(key), [str(step["run"]) for step in job["steps"]]
