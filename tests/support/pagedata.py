"""Rows for the page's tests: a builder with valid defaults over the real tables, and the services a page needs."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx
from fastapi import FastAPI
from sqlalchemy import Connection, insert, update

from actionswire.result import Status
from mockgitea.clock import MovableClock
from mockgitea.core.errors import Refusal
from mockgitea.core.profiles import profile_named
from mockgitea.randomness import Randomness
from mockgitea.storage import schema
from mockgitea.storage.engine import SqlStore

NOW_US = 1_700_000_100_000_000
START_US = 1_700_000_000_500_000
OWNER, REPO = "demo", "app"


class Seed:
    """Inserts rows; every method returns the new id."""

    def __init__(self, conn: Connection) -> None:
        self.conn = conn

    def _add(self, table: Any, **values: Any) -> int:
        return int(self.conn.execute(insert(table).values(**values)).inserted_primary_key[0])

    def repository(self, owner: str = OWNER, name: str = REPO) -> int:
        return self._add(schema.repository, owner_id=1, owner_name=owner, name=name)

    def run(self, repo_id: int, **values: Any) -> int:
        defaults = {
            "repo_id": repo_id, "owner_id": 1, "number": 1, "workflow_file": "ci.yaml", "workflow_name": "CI",
            "workflow_source": b"on: push", "title": "Fix the thing", "event": "push", "ref": "refs/heads/main",
            "commit_sha": "0123456789abcdef0123456789abcdef01234567", "actor": "ada", "status": int(Status.RUNNING),
            "created_us": START_US - 2_000_000, "started_us": START_US,
        }  # fmt: skip
        return self._add(schema.run, **(defaults | values))

    def attempt(self, run_id: int, number: int = 1, **values: Any) -> int:
        defaults = {"run_id": run_id, "number": number, "triggering_actor": "ada", "created_us": START_US}
        return self._add(schema.run_attempt, **(defaults | values))

    def job(self, run_id: int, **values: Any) -> int:
        defaults = {
            "run_id": run_id, "repo_id": 1, "owner_id": 1, "name": "build", "job_id": "build", "payload": b"{}",
            "runs_on": ["linux"], "status": int(Status.RUNNING), "started_us": START_US,
        }  # fmt: skip
        return self._add(schema.job, **(defaults | values))

    def task(self, job_id: int, **values: Any) -> int:
        defaults = {
            "job_id": job_id, "repo_id": 1, "owner_id": 1, "status": int(Status.RUNNING), "started_us": START_US,
            "token_hash": "x", "token_salt": "y", "token_last_eight": "z", "updated_us": START_US,
        }  # fmt: skip
        task_id = self._add(schema.task, **(defaults | values))
        self.conn.execute(update(schema.job).where(schema.job.c.id == job_id).values(task_id=task_id))
        return task_id

    def step(self, task_id: int, number: int, **values: Any) -> int:
        defaults = {"task_id": task_id, "number": number, "name": f"Run step {number}", "status": int(Status.WAITING)}
        return self._add(schema.step, **(defaults | values))

    def runner(self, **values: Any) -> int:
        defaults = {"uuid": "u", "name": "one", "token_hash": "x", "token_salt": "y", "labels": ["linux"]}
        return self._add(schema.runner, **(defaults | values))

    def rows(self, task_id: int, first: int, contents: list[str], *, at_us: int = START_US) -> None:
        lines = [f"{_stamp(at_us, first + place)} {content}\n" for place, content in enumerate(contents)]
        self.conn.execute(
            insert(schema.log_chunk).values(
                task_id=task_id, first_row=first, row_count=len(lines), body="".join(lines).encode()
            )
        )
        self.conn.execute(
            update(schema.task).where(schema.task.c.id == task_id).values(log_rows=schema.task.c.log_rows + len(lines))
        )


def _stamp(at_us: int, row: int) -> str:
    tenths = at_us * 10 + row
    seconds, fraction = divmod(tenths, 10_000_000)
    minute, second = divmod(seconds - 1_699_999_200, 60)
    assert 0 <= minute < 60, "test rows lie between 22:00 and 23:00 of one evening"
    return f"2023-11-14T22:{minute:02}:{second:02}.{fraction:07}Z"


class FakeRuns:
    """Records what a page asked for; ``refusal`` is raised instead when set."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.refusal: Refusal | None = None

    async def _note(self, name: str, detail: Any) -> None:
        if self.refusal is not None:
            raise self.refusal
        self.calls.append((name, detail))

    async def cancel(self, run_id: int, *, force: bool = False) -> None:
        await self._note("cancel", (run_id, force))

    async def approve(self, run_id: int) -> None:
        await self._note("approve", run_id)

    async def rerun(self, run_id: int, *, job_row_id: int | None = None, failed_only: bool = False) -> None:
        await self._note("rerun", (run_id, job_row_id, failed_only))

    async def dispatch(self, repository: str, workflow_file: str, *, ref: str, inputs: Any) -> None:
        await self._note("dispatch", (repository, workflow_file, ref, dict(inputs)))

    async def set_workflow_enabled(self, repository: str, workflow_file: str, *, is_enabled: bool) -> None:
        await self._note("switch", (repository, workflow_file, is_enabled))


def page_services(profile: str, *, store: SqlStore | None = None) -> Any:
    """Return what `build_web` and `build_pages` take: a real inline store in memory, small fakes for the rest."""
    clock = MovableClock("manual", start_us=NOW_US)
    return SimpleNamespace(
        store=store or SqlStore(":memory:", clock=clock, inline=True),
        clock=clock,
        profile=profile_named(profile),
        randomness=Randomness(1),
        directory=SimpleNamespace(all=lambda: ()),
        runs=FakeRuns(),
    )


async def seeded(services: Any, fill: Callable[[Seed], Any]) -> Any:
    """Start the store and fill it; returns what ``fill`` returned."""
    await services.store.start()
    return await services.store.write(lambda tx: fill(Seed(tx.conn)))


@asynccontextmanager
async def page_client(services: Any, build: Callable[[Any], Any], fill: Callable[[Seed], Any]) -> Any:
    """An HTTP client on an application that holds only the pages; yields (client, what ``fill`` returned)."""
    ids = await seeded(services, fill)
    app = FastAPI()
    app.include_router(build(services))
    transport = httpx.ASGITransport(app=app)
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://mock.test") as client:
            yield client, ids
    finally:
        await services.store.close()


def run_async(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run one async test body."""
    asyncio.run(test())
