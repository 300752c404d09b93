"""The product's services in memory on a manual clock, and shorthand for what tests do to them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy import select, update

from actionswire.result import Result, Status
from mockgitea.clock import MovableClock
from mockgitea.core.messages import Assignment, Registering, StepReport, TaskAnswer, TaskReport
from mockgitea.service.container import Services
from mockgitea.service.directory import RunnerRecord
from mockgitea.service.runs import EnqueueRequest
from mockgitea.settings import Settings
from mockgitea.storage.logs import read_text
from mockgitea.storage.schema import job, run, runner, step, task

START_US = 1_795_000_000_000_000
ONE_JOB = """
on: [push, workflow_dispatch]
jobs:
  build:
    runs-on: linux
    steps:
      - run: echo one
      - run: echo two
"""
CHAIN = (
    ONE_JOB
    + """
  after:
    needs: build
    runs-on: linux
    steps:
      - run: echo three
"""
)


class Box:
    """Open services with helpers; the event loop is the caller's."""

    def __init__(self, profile: str = "gitea-1.27", *, inline: bool = True, **settings: Any) -> None:
        self.clock = MovableClock("manual", start_us=START_US)
        self.services = Services.build(
            Settings(profile=profile, seed=3, **settings), clock=self.clock, inline_store=inline
        )

    async def __aenter__(self) -> "Box":
        await self.services.start()
        await self.services.settle()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.services.close()

    async def runner(self, *labels: str, **extra: Any) -> RunnerRecord:
        """Register a runner with these labels (default: linux)."""
        token = await self.services.registration.registration_token(*extra.pop("scope", (0, 0)))
        request = Registering(name=extra.pop("name", "r"), token=token, labels=labels or ("linux",), **extra)
        record, _ = await self.services.registration.register(request)
        return record

    async def enqueue(self, source: str = ONE_JOB, **extra: Any) -> int:
        """Enqueue a workflow and return the run's id."""
        fields = {"repository": "demo/demo", "workflow_file": "ci.yml", "event": "workflow_dispatch", **extra}
        return (await self.services.runs.enqueue(EnqueueRequest(source=source, **fields))).run_id

    async def take(self, record: RunnerRecord, **extra: Any) -> Assignment:
        """Fetch; there has to be a task."""
        fetched = await self.services.dispatch.fetch(record, tasks_version=0, **extra)
        assert fetched.tasks, "no task"
        return fetched.tasks[0]

    async def report(
        self, record: RunnerRecord, task_id: int, result: Result = Result.UNSPECIFIED, *steps: StepReport,
        outputs: dict[str, str] | None = None, stopped_us: int = 0,
    ) -> TaskAnswer:  # fmt: skip
        """Send one UpdateTask."""
        report = TaskReport(task_id=task_id, result=result, stopped_us=stopped_us, steps=steps)
        answer = await self.services.progress.update_task(record, report, outputs or {})
        await self.services.resolver.settle()
        return answer

    async def rows(self, record: RunnerRecord, task_id: int, index: int, *contents: str, no_more: bool = False) -> int:
        """Send one UpdateLog."""
        rows = [(1_700_000_000_500_000_000, content) for content in contents]
        return await self.services.logs.append(record, task_id=task_id, index=index, rows=rows, no_more=no_more)

    async def log(self, task_id: int) -> bytes:
        """Return the stored log."""
        return await self.services.store.read(lambda conn: b"".join(read_text(conn, task_id)))

    async def row(self, table: Any, row_id: int) -> Any:
        """Return one row by id."""
        return await self.services.store.read(
            lambda conn: conn.execute(select(table).where(table.c.id == row_id)).one()
        )

    async def task_row(self, task_id: int) -> Any:
        return await self.row(task, task_id)

    async def runner_row(self, runner_id: int) -> Any:
        return await self.row(runner, runner_id)

    async def run_status(self, run_id: int) -> Status:
        return Status((await self.row(run, run_id)).status)

    async def jobs(self, run_id: int) -> list[Any]:
        """Return the latest job rows of a run."""
        query = select(job).where(job.c.run_id == run_id, job.c.is_latest.is_(True)).order_by(job.c.id)
        return await self.services.store.read(lambda conn: list(conn.execute(query)))

    async def steps(self, task_id: int) -> list[Any]:
        query = select(step).where(step.c.task_id == task_id).order_by(step.c.number)
        return await self.services.store.read(lambda conn: list(conn.execute(query)))

    async def damage_job(self, job_id: int, **values: Any) -> None:
        """Change a job row behind the server's back."""
        await self.services.store.write(
            lambda tx: tx.conn.execute(update(job).where(job.c.id == job_id).values(values)).rowcount
        )


def in_box(body: Callable[[Box], Awaitable[None]], profile: str = "gitea-1.27", **options: Any) -> None:
    """Run a test body with open services."""

    async def main() -> None:
        async with Box(profile, **options) as box:
            await body(box)

    asyncio.run(main())


def statuses(rows: Sequence[Any]) -> list[str]:
    """Return the statuses of rows as words."""
    return [Status(row.status).text for row in rows]
