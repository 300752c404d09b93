"""One task from receipt to its last report: the job beside its reporter, and who decides on the result.

Knows neither how a job is executed (`Job` is a function) nor when anything is sent.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from typing import Any, Final, Generic, TypeVar

import structlog

from actionsrunner.core.masking import Masker, hidden_values
from actionsrunner.core.reporting import StopCause, StopJob
from actionsrunner.core.seams import CancelSignal, JobOutcome, JobSink, TaskSpec
from actionsrunner.loops.cancel import CancelToken
from actionsrunner.loops.report_loop import ReportLoop, ReportParts
from actionsrunner.loops.summaries import SummarySender
from actionsrunner.loops.supervise import Supervisor
from actionswire.result import Result

Job = Callable[[TaskSpec, JobSink, CancelSignal], Awaitable[JobOutcome]]
"""Executes one task; must return soon after the signal is set."""

CANCELLED: Final = "Cancelled"
ENDED_BY_SERVER: Final = "Ended by the server"
EARLY_TERMINATION: Final = "Early termination"

log = structlog.get_logger(__name__)

S = TypeVar("S")


class TaskRunner(Generic[S]):
    """Runs tasks with the same job function and the same way of reporting.

    Args:
        job: executes a task.
        parts: of the reporting.
        hidden: values that never reach a log.
        summaries: sends job summaries; without it they are dropped.
    """

    def __init__(
        self,
        job: Job,
        parts: ReportParts[S],
        *,
        hidden: Iterable[str] = (),
        summaries: SummarySender | None = None,
    ) -> None:
        self._job = job
        self._parts = parts
        self._summaries = summaries
        self._hidden = tuple(hidden)

    async def run(self, task: TaskSpec, token: CancelToken) -> None:
        """Execute ``task`` until its result is reported, refused or given up. Setting ``token`` cancels it."""
        with structlog.contextvars.bound_contextvars(task_id=task.id):
            await self._run(task, token)

    async def _run(self, task: TaskSpec, token: CancelToken) -> None:
        masker = Masker((*hidden_values(task.secrets, task.context), *self._hidden))
        if masker.too_short:
            log.warning("secret_too_short", detail="a secret of one character cannot be hidden in the log")
        verdict: list[Result] = []

        def stop(command: StopJob) -> None:
            log.info("job_stopped_by_server", cause=command.cause, result=command.result.text)
            if token.cancel(CANCELLED if command.result is Result.CANCELLED else ENDED_BY_SERVER):
                verdict.append(command.result if command.cause is StopCause.SERVER else Result.CANCELLED)

        outcome: JobOutcome | None = None
        reporter = ReportLoop(task.id, self._parts, masker, stop)
        # A job whose reporter has crashed would run on unseen.
        group = Supervisor(lambda _: token.cancel(EARLY_TERMINATION))
        try:
            reports = group.spawn(reporter.run(), name=f"report-{task.id}")
            watch = group.spawn(_interrupt(reporter, token), name=f"interrupt-{task.id}")
            log.info("job_started")
            outcome = await self._execute(task, reporter, token)
            result, last_words = outcome.result, outcome.last_words
            if outcome.summaries and self._summaries is not None:
                # While the task still runs: its token ends with it. Some masks are younger than the text.
                texts = {step: masker.mask(text) for step, text in outcome.summaries.items()}
                await self._summaries.send(task, texts, token)
            watch.cancel()
            if token.reason is not None:
                result = verdict[0] if verdict else Result.CANCELLED
                last_words = last_words or token.reason
            reporter.end(result, last_words)
            ending = await reports
            log.info("task_ended", result=result.text, reports=ending)
        finally:
            await group.cancel()
            if outcome is not None and outcome.clean_up is not None:
                await outcome.clean_up()

    async def _execute(self, task: TaskSpec, sink: JobSink, token: CancelToken) -> JobOutcome:
        try:
            outcome = await self._job(task, sink, token)
        except Exception:
            # The outermost frame of a job: whatever went wrong in it, the server must learn that it is over.
            log.exception("job_crashed")
            return JobOutcome(Result.FAILURE, EARLY_TERMINATION)
        if outcome.result is Result.UNSPECIFIED:
            return replace(outcome, result=Result.FAILURE, last_words=outcome.last_words or EARLY_TERMINATION)
        return outcome


async def _interrupt(reporter: ReportLoop[Any], token: CancelToken) -> None:
    await token.wait()
    reporter.interrupt()
