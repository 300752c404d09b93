"""The poll loop: does what a polling strategy commands, and runs the tasks that come.

Waits and calls only; when to fetch is decided in `core/poller.py`.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

import structlog

from actionsrunner.core.failures import Failure
from actionsrunner.core.polling import (
    AbandonFetches,
    Answered,
    Began,
    Failed,
    Fetch,
    Halt,
    HaltReason,
    PollCommand,
    PollEvent,
    PollStrategy,
    SlotFreed,
    StopAsked,
    TimeCame,
    WakeAt,
)
from actionsrunner.core.seams import TaskSpec
from actionsrunner.edge.client import RunnerClient
from actionsrunner.edge.clock import Alarm, Clock
from actionsrunner.edge.connect import RpcError
from actionsrunner.loops.cancel import CancelToken
from actionsrunner.loops.supervise import Supervisor, wait_for

RunTask = Callable[[TaskSpec, CancelToken], Awaitable[None]]
"""Executes and reports one task."""

WARN_EVERY: Final = 20
"""Of a streak of failed fetches, the first and every so many-th is a warning; the others are for debugging."""

PARTING_US: Final = 1_000_000
"""How long a fetch in flight may still be answered after a stop: the server may have given us its task already."""

log = structlog.get_logger(__name__)

S = TypeVar("S")


class PollLoop(Generic[S]):
    """Fetches tasks and runs them within the strategy's capacity. Use one object for one `run`."""

    def __init__(
        self,
        client: RunnerClient,
        clock: Clock,
        strategy: PollStrategy[S],
        run_task: RunTask,
        *,
        fetch_limit_s: float,
    ) -> None:
        self._client = client
        self._clock = clock
        self._strategy = strategy
        self._run_task = run_task
        self._fetch_limit_s = fetch_limit_s
        self._events: deque[PollEvent] = deque()
        self._wake = asyncio.Event()
        self._wake_us: int | None = None
        self._fetches = Supervisor(self._crashed)
        self._jobs = Supervisor(self._crashed)
        self._tokens: dict[int, CancelToken] = {}
        self._cancel_reason: str | None = None
        self._parting: Alarm | None = None
        self._streak = 0
        self._log = log.bind()
        """Bound once: finding out for each poll that nobody reads of it costs as much as a part of the poll."""

    @property
    def failure(self) -> BaseException | None:
        """The first unexpected error of one of the tasks, which stops the polling."""
        return self._jobs.failure or self._fetches.failure

    @property
    def running(self) -> tuple[int, ...]:
        """The ids of the tasks that are running."""
        return tuple(self._tokens)

    async def run(self) -> HaltReason:
        """Poll until the strategy halts, which it does only when no task is running any more."""
        try:
            return await self._loop()
        finally:
            if self._parting is not None:
                self._parting.cancel()
            await self._fetches.cancel()
            await self._jobs.cancel()

    def stop(self) -> None:
        """Fetch nothing more, starting now; running tasks go on, and so does one that a fetch in flight brings soon."""
        self._post(StopAsked())

    def cancel_jobs(self, reason: str) -> None:
        """Interrupt every running task, and any that may still come; they report as usual."""
        log.info("cancelling_jobs", running=len(self._tokens))
        self._cancel_reason = reason
        for token in self._tokens.values():
            token.cancel(reason)

    def force_jobs(self) -> None:
        """Kill the processes of every running task at once and wait for no fetch; the tasks still report."""
        self._fetches.abandon()
        for token in self._tokens.values():
            token.force()

    async def _loop(self) -> HaltReason:
        state = self._strategy.start()
        self._events.append(Began())
        while True:
            while self._events:
                state, commands = self._strategy.step(state, self._events.popleft(), self._clock.now_us())
                for command in commands:
                    if not isinstance(command, Halt):
                        self._do(command)
                        continue
                    self._part()
                    await self._fetches.join()
                    if not self._events:
                        return command.reason
            await wait_for(self._wake, self._clock, self._wake_us)
            self._wake.clear()
            if self._wake_us is not None and self._clock.now_us() >= self._wake_us:
                self._wake_us = None
                self._events.append(TimeCame())

    def _do(self, command: PollCommand) -> None:
        match command:
            case Fetch():
                self._fetches.spawn(self._fetch(command), name=f"fetch-{command.fetch_id}")
            case WakeAt():
                self._wake_us = command.at_us
            case AbandonFetches():
                self._part()
            case Halt():
                raise AssertionError("the loop leaves before it acts on Halt")

    def _part(self) -> None:
        if self._parting is None and self._fetches.running:
            self._parting = self._clock.alarm(self._clock.now_us() + PARTING_US, self._fetches.abandon)

    def _post(self, event: PollEvent) -> None:
        self._events.append(event)
        self._wake.set()

    async def _fetch(self, command: Fetch) -> None:
        try:
            fetched = await self._client.fetch_task(
                tasks_version=command.tasks_version,
                free_slots=command.free_slots,
                request_key=command.request_key,
                limit_s=self._fetch_limit_s,
            )
        except RpcError as error:
            self._log_failure(error)
            self._post(Failed(command.fetch_id, error.failure))
            return
        if self._streak:
            log.info("fetch_recovered", failed_fetches=self._streak)
        self._streak = 0
        started = sum([self._start(task) for task in fetched.tasks])
        self._log.debug("fetched", tasks=len(fetched.tasks), tasks_version=fetched.tasks_version)
        self._post(
            Answered(
                command.fetch_id,
                fetched.tasks_version,
                tasks=started,
                repeated=len(fetched.tasks) - started,
            )
        )

    def _start(self, task: TaskSpec) -> bool:
        if task.id in self._tokens:
            log.error("task_already_running", task_id=task.id, detail="the server handed it out twice; ignored")
            return False
        token = CancelToken()
        if self._cancel_reason is not None:
            token.cancel(self._cancel_reason)
        self._tokens[task.id] = token
        log.info("task_fetched", task_id=task.id)
        self._jobs.spawn(self._run(task, token), name=f"task-{task.id}")
        return True

    async def _run(self, task: TaskSpec, token: CancelToken) -> None:
        try:
            await self._run_task(task, token)
        finally:
            del self._tokens[task.id]
            self._post(SlotFreed())

    def _crashed(self, error: BaseException) -> None:
        del error  # already logged with its traceback
        self.stop()

    def _log_failure(self, error: RpcError) -> None:
        self._streak += 1
        if error.failure is Failure.UNREGISTERED:
            log.error("runner_unregistered", detail="the server does not know this runner; register it again")
        elif self._streak == 1 or self._streak % WARN_EVERY == 0:
            log.warning("fetch_failed", code=error.code, error=error.message, streak=self._streak)
        else:
            log.debug("fetch_failed", code=error.code, error=error.message, streak=self._streak)
