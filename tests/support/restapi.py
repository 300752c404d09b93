"""REST v1 in this process: real services on a database in memory, called without sockets."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx
from fastapi import FastAPI
from starlette.routing import Route

from actionswire.result import Result
from mockgitea.core.messages import Assignment, StepReport, TaskReport
from mockgitea.service.container import Services
from mockgitea.service.directory import RunnerRecord
from mockgitea.service.runs import EnqueuedRun, EnqueueRequest
from mockgitea.settings import Settings
from mockgitea.transport.rest.router import build_rest

SEED = 20_262
TOKEN = "api-token-of-the-tests"
ROW_TIME_NS = 1_700_000_000_000_000_000
WORKFLOW = """\
name: CI
on: [push, workflow_dispatch]
jobs:
  build:
    runs-on: ubuntu-latest
    steps:
      - run: echo hello
  test:
    needs: build
    runs-on: [self-hosted, linux]
    steps:
      - run: echo test
"""


@dataclass
class Rest:
    """One running server and a client that carries the token."""

    client: httpx.AsyncClient
    services: Services
    routes: list[Route]

    async def call(self, verb: str, path: str, *, expect: int = 200, **kwargs: Any) -> Any:
        answer = await self.client.request(verb, f"/api/v1{path}", **kwargs)
        assert answer.status_code == expect, f"{verb} {path}: {answer.status_code} {answer.text}"
        return answer.json() if answer.content else None

    async def enqueue(self, **fields: Any) -> EnqueuedRun:
        given = {"repository": "demo/demo", "workflow_file": "ci.yaml", "source": WORKFLOW} | fields
        return await self.services.runs.enqueue(EnqueueRequest(**given))

    async def runner(self, labels: Sequence[str] = ("ubuntu-latest", "self-hosted", "linux")) -> RunnerRecord:
        record, _ = await self.services.registration.create_runner(name="r1", labels=tuple(labels))
        return record

    async def fetch(self, record: RunnerRecord) -> Assignment:
        fetched = await self.services.dispatch.fetch(record, tasks_version=0, capacity=None, request_key="")
        return fetched.tasks[0]

    async def finish(self, record: RunnerRecord, assignment: Assignment, result: Result) -> None:
        now = self.services.clock.now_us()
        step = StepReport(number=0, result=result, started_us=now, stopped_us=now)
        report = TaskReport(task_id=assignment.task_id, result=result, started_us=now, stopped_us=now, steps=(step,))
        await self.services.progress.update_task(record, report, {})
        await self.services.settle()


@asynccontextmanager
async def running(profile: str, **settings: Any) -> AsyncIterator[Rest]:
    defaults = {"seed": SEED, "api_token": TOKEN, "app_url": "http://gitea.test", "clock": "manual"}
    services = Services.build(Settings(**{**defaults, "profile": profile, **settings}))
    app = FastAPI(openapi_url=None)
    router = build_rest(services)
    app.include_router(router)
    await services.start()
    try:
        headers = {"Authorization": f"token {TOKEN}"}
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gitea.test", headers=headers) as client:
            yield Rest(client, services, [route for route in router.routes if isinstance(route, Route)])
    finally:
        await services.close()
