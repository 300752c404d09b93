"""Executing one task from its payload to its outcome.

Owns the order of things around the steps: plan, matrix, condition, refusals, directories, hooks, outputs, clean-up,
closing rows. A step's own life is in `steps`.
"""

import asyncio
import shutil
from contextlib import AsyncExitStack
from dataclasses import replace

import structlog

from actionsrunner.core.masking import hidden_values
from actionsrunner.core.outputs import acceptable_outputs
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.engine.contexts import context_text
from actionsrunner.engine.directories import DirectoryError, JobDirectories, make_directories, remove_tree
from actionsrunner.engine.fields import FieldError, evaluate_field, text_field
from actionsrunner.engine.hooks import HookError, run_hook
from actionsrunner.engine.interrupts import Interruption, StopWatch
from actionsrunner.engine.leftovers import owned
from actionsrunner.engine.matrix import MatrixError
from actionsrunner.engine.options import EngineOptions
from actionsrunner.engine.plan import JobPlan, PlanError, parse_plan
from actionsrunner.engine.prepare import JobRefused, PreparedJob, prepare_job, start_state
from actionsrunner.engine.process import JobProcesses, Patience
from actionsrunner.engine.rows import Rows
from actionsrunner.engine.state import JobState
from actionsrunner.engine.steps import StepRunner
from actionswire.expressions import to_text
from actionswire.result import Result

log = structlog.get_logger(__name__)


async def run_job(task: TaskSpec, options: EngineOptions, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
    """Execute one task on this host.

    Args:
        task: what FetchTask delivered.
        options: the runner's settings.
        sink: where rows, step states, masks and outputs go.
        cancel: interrupts the job; when it also has ``wait_forced``, its return kills every process at once.

    Returns:
        The job's result. Whatever a payload contains, a failure is an outcome with a readable row, not an exception.

    Raises:
        asyncio.CancelledError: this coroutine was cancelled; all processes are dead and all directories removed then.
    Source: docs/running-jobs.md.
    """
    outcome = await conduct_job(task, options, sink, cancel)
    if outcome.clean_up is not None:
        await outcome.clean_up()
    return replace(outcome, clean_up=None)


async def conduct_job(task: TaskSpec, options: EngineOptions, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
    """Execute one task as `run_job` does, but leave its directories to the outcome's ``clean_up``.

    Removing a large workspace takes a while, and the server should know the result before. If this raises,
    everything has been removed.
    """
    return await _Job(task, options, sink, cancel).run()


class _Job:
    """One task on its way; lives as long as `run_job`."""

    def __init__(self, task: TaskSpec, options: EngineOptions, sink: JobSink, cancel: CancelSignal) -> None:
        self._task = task
        self._options = options
        self._sink = sink
        self._rows = Rows(sink, options.family)
        self._watch = StopWatch(cancel, grace_s=options.post_task_grace_s)
        self._processes = JobProcesses(
            Patience(
                interrupt_s=options.interrupt_grace_s,
                terminate_s=options.terminate_grace_s,
                pipe_s=options.pipe_grace_s,
            )
        )

    async def run(self) -> JobOutcome:
        for value in hidden_values(self._task.secrets, self._task.context):
            self._sink.add_mask(value)
        try:
            plan = parse_plan(self._task.payload)
        except PlanError as error:
            self._sink.steps_known(error.step_count)
            self._rows.setup(self._task, self._options, context_text(self._task, "job"))
            return self._refuse(str(error), error.step_count)
        self._sink.steps_known(len(plan.steps))
        self._rows.setup(self._task, self._options, plan.key)
        self._rows.write("workflow prepared")
        try:
            prepared = prepare_job(self._task, plan, self._options)
            return self._skipped(plan) if prepared is None else await self._in_directories(plan, prepared)
        except (JobRefused, FieldError, MatrixError, DirectoryError) as error:
            return self._refuse(str(error), len(plan.steps))

    def _refuse(self, message: str, step_count: int) -> JobOutcome:
        """End a job of which no step has started; the message is the last row, so that nobody misses it."""
        self._rows.error(message)
        for index in range(step_count):
            self._sink.step_finished(index, Result.CANCELLED)
        return JobOutcome(Result.FAILURE)

    def _skipped(self, plan: JobPlan) -> JobOutcome:
        for step in plan.steps:
            self._sink.step_finished(step.index, Result.SKIPPED)
        return JobOutcome(Result.SKIPPED, f"Job skipped: the condition of jobs.{plan.key} is false")

    async def _in_directories(self, plan: JobPlan, prepared: PreparedJob) -> JobOutcome:
        options = self._options
        directories = make_directories(
            options.workdir_parent,
            tool_cache_shared=options.tool_cache_shared,
            tool_cache=options.envs.get("RUNNER_TOOL_CACHE", ""),
        )
        async with AsyncExitStack() as left:
            left.enter_context(owned(directories.root))
            left.push_async_callback(self._remove, directories)
            job = start_state(plan, prepared, task=self._task, options=options, directories=directories)
            try:
                interruption = await self._with_processes(job, prepared)
            finally:
                await self._processes.finish(f"{directories.name}-")
            return replace(self._close(job, interruption), clean_up=left.pop_all().aclose)

    async def _with_processes(self, job: JobState, prepared: PreparedJob) -> Interruption | None:
        """Run hooks and steps; return what interrupted the steps, if anything did.

        Raises:
            JobRefused: the job-started hook failed.
            FieldError: the job's name is in error.
        """
        plan = job.plan
        name = text_field(plan.name, job.scope(job.environment.context({})), f"jobs.{plan.key}.name")
        async with self._watch.watching(prepared.limit_s, prepared.limit_text):
            refusal = await self._started_hook(job)
            if refusal is None:
                self._rows.write(f"Complete job name: {name}")
                await self._run_steps(job)
                interruption = self._watch.interruption
                await self._completed_hook(job)
        # Raised out here, because a task group would wrap it.
        if refusal is not None:
            raise JobRefused(refusal)
        return interruption

    async def _started_hook(self, job: JobState) -> str | None:
        script = self._options.job_started
        if script is None or self._watch.interrupted.is_set():
            return None
        try:
            await run_hook(script, job, processes=self._processes, watch=self._watch, sink=self._sink)
        except HookError as error:
            # A hook that the cancel stopped has not failed; the steps are then evaluated as cancelled.
            return None if self._watch.interrupted.is_set() else f"the job-started hook failed: {error}"
        return None

    async def _completed_hook(self, job: JobState) -> None:
        script = self._options.job_completed
        if script is None or self._watch.over.is_set():
            return
        try:
            await run_hook(script, job, processes=self._processes, watch=self._watch, sink=self._sink)
        except HookError as error:
            self._rows.warning(f"the job-completed hook failed: {error}")

    async def _run_steps(self, job: JobState) -> None:
        runner = StepRunner(job, processes=self._processes, watch=self._watch, sink=self._sink)
        for step in job.plan.steps:
            if self._watch.interruption is not None:
                job.status = Result.CANCELLED
            await runner.run(step)
            # Steps that need no process give nobody else a turn; without this a cancel could go unseen.
            await asyncio.sleep(0)

    def _close(self, job: JobState, interruption: Interruption | None) -> JobOutcome:
        result = job.status if interruption is None else interruption.result
        if not self._hand_over_outputs(job) and result is Result.SUCCESS:
            result = Result.FAILURE
        if interruption is not None and result is Result.FAILURE:
            self._rows.error(interruption.text)
        self._rows.closing(result)
        last_words = interruption.text if interruption is not None and result is Result.CANCELLED else ""
        return JobOutcome(result, last_words, job.summaries)

    def _hand_over_outputs(self, job: JobState) -> bool:
        """Evaluate and send the job's outputs; False when one of them cannot be evaluated."""
        scope = job.scope(job.environment.context({}))
        values: dict[str, str] = {}
        for name, value in job.plan.outputs.items():
            try:
                values[name] = to_text(evaluate_field(value, scope, f"jobs.{job.plan.key}.outputs.{name}"))
            except FieldError as error:
                self._rows.error(str(error))
        kept, dropped = acceptable_outputs(values, job.masker)
        for message in dropped:
            self._rows.warning(message)
        if kept:
            self._sink.set_outputs(kept)
        return len(values) == len(job.plan.outputs)

    async def _remove(self, directories: JobDirectories) -> None:
        # In a thread: removing a large workspace takes long enough to stall the other jobs' reports.
        try:
            async with asyncio.timeout(self._options.cleanup_timeout_s):
                await asyncio.to_thread(remove_tree, directories.root)
        except (OSError, shutil.Error, TimeoutError) as error:
            log.warning("job_directory_left", task_id=self._task.id, path=str(directories.root), error=str(error))
