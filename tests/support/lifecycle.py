"""Drive runs through the services as a runner and a person would: no sockets, and a clock that stands still."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from actionswire.result import Result, Status
from mockgitea.clock import MovableClock
from mockgitea.core.messages import Assignment, Registering, TaskReport
from mockgitea.service.container import Services
from mockgitea.service.directory import RunnerRecord
from mockgitea.service.runs import EnqueuedRun, EnqueueRequest
from mockgitea.settings import Settings
from mockgitea.storage import control_queries as queries

START_US = 1_750_000_000_000_000


class Bench:
    """A server in memory with one repository and a global runner labelled ``linux``."""

    def __init__(self, services: Services, runner: RunnerRecord) -> None:
        self.services = services
        self.runner = runner

    async def enqueue(self, source: str, **given: Any) -> EnqueuedRun:
        """Enqueue ``source``, with `on: push` above it if it does not start with `on`, and wait until all is quiet."""
        text = source if source.lstrip().startswith(("on:", "name:")) else f"on: push\n{source}"
        made = await self.services.runs.enqueue(EnqueueRequest(repository="demo/demo", source=text, **given))
        await self.services.resolver.settle()
        return made

    async def fetch(self, runner: RunnerRecord | None = None) -> Assignment | None:
        fetched = await self.services.dispatch.fetch(runner or self.runner, tasks_version=0)
        return fetched.tasks[0] if fetched.tasks else None

    async def fetch_some(self, runner: RunnerRecord | None = None) -> Assignment:
        task = await self.fetch(runner)
        assert task is not None, "no task"
        return task

    async def finish(
        self, task: Assignment, result: Result = Result.SUCCESS, outputs: dict[str, str] | None = None
    ) -> Result:
        """Report a final result and wait until all is quiet; return what the server answered."""
        report = TaskReport(task_id=task.task_id, result=result, stopped_us=self.services.clock.now_us())
        answer = await self.services.progress.update_task(self.runner, report, outputs or {})
        await self.services.resolver.settle()
        return answer.result

    async def heartbeat(self, task: Assignment) -> Result:
        answer = await self.services.progress.update_task(self.runner, TaskReport(task_id=task.task_id), {})
        return answer.result

    async def run(self, run_id: int) -> dict[str, Any]:
        found = await self.services.store.read(lambda conn: queries.find_run(conn, run_id))
        assert found is not None
        return found

    async def status(self, run_id: int) -> str:
        return Status((await self.run(run_id))["status"]).text

    async def statuses(self, run_id: int) -> dict[str, str]:
        """Return job name to status word."""
        return {job["name"]: Status(job["status"]).text for job in (await self.run(run_id))["jobs"]}

    async def version(self) -> int:
        return self.services.versions.current(0, 0)


async def register(services: Services, *, labels: tuple[str, ...] = ("linux",), **given: Any) -> RunnerRecord:
    """Register one more global runner."""
    wish = Registering(name="runner", token="registration-token", labels=labels, **given)
    record, _ = await services.registration.register(wish)
    return record


def on_bench(profile: str, body: Callable[[Bench], Awaitable[None]], **settings: Any) -> None:
    """Run ``body`` on a fresh bench of this profile."""

    async def run() -> None:
        wanted = Settings(
            profile=profile,
            seed=1,
            registration_token="registration-token",
            app_url="http://git.example",
            **settings,
        )
        services = Services.build(wanted, clock=MovableClock("manual", start_us=START_US), inline_store=True)
        await services.start()
        try:
            await services.repositories.ensure("demo", "demo")
            await body(Bench(services, await register(services)))
        finally:
            await services.close()

    asyncio.run(run())
