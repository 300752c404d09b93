"""`mockgitea watch` against the real page code, in process: what it prints, asks and returns."""

import argparse
import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from actionswire.result import Status
from mockgitea.commands import watch
from mockgitea.transport.web import build_web
from mockgitea.ui.pages import build_pages
from pagedata import START_US, Seed, page_services, seeded

HOSTILE = "\x1b]0;title\x07\x1b[2Jhi \x1b[31mred\x1b[0m\x07"
PROFILES = ("gitea-1.20", "gitea-1.25", "gitea-1.27", "forgejo-11", "forgejo-15")


class InProcess(httpx.BaseTransport):
    """Hands requests to an ASGI application on a loop of its own, and keeps them."""

    def __init__(self, profile: str, fill: Callable[[Seed], Any]) -> None:
        self.loop = asyncio.new_event_loop()
        self.services = page_services(profile)
        self.ids = self.loop.run_until_complete(seeded(self.services, fill))
        app = FastAPI()
        app.include_router(build_pages(self.services))
        app.include_router(build_web(self.services))
        app.add_api_route("/api/v1/version", lambda: {"version": self.services.profile.server_version})
        self._inner = httpx.ASGITransport(app=app)
        self.requests: list[httpx.Request] = []
        self.down = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        if self.down:
            self.down -= 1
            raise httpx.ConnectError("refused", request=request)

        async def answer() -> httpx.Response:
            response = await self._inner.handle_async_request(request)
            return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

        return self.loop.run_until_complete(answer())

    def change(self, sql: str) -> None:
        self.loop.run_until_complete(self.services.store.write(lambda tx: tx.conn.exec_driver_sql(sql)))

    def seed(self, fill: Callable[[Seed], Any]) -> None:
        self.loop.run_until_complete(self.services.store.write(lambda tx: fill(Seed(tx.conn))))

    def end(self) -> None:
        self.loop.run_until_complete(self.services.store.close())
        self.loop.close()


def fill(seed: Seed) -> dict[str, int]:
    run = seed.run(seed.repository(), number=3, title="Fix it")
    seed.attempt(run)
    job = seed.job(run, name="build")
    task = seed.task(job)
    seed.step(task, 0, name="Compile", status=int(Status.RUNNING), log_index=1, log_length=4, started_us=START_US)
    seed.rows(task, 0, ["prepared", "::group::Files", HOSTILE, "::endgroup::", "##[error]broken"])
    second = seed.job(run, name="deploy", job_id="deploy", status=int(Status.BLOCKED), needs=["build"])
    return {"run": run, "job": job, "task": task, "second": second}


@pytest.fixture
def start() -> Iterator[Callable[..., InProcess]]:
    started: list[InProcess] = []

    def begin(profile: str = "gitea-1.27", rows: Callable[[Seed], Any] = fill) -> InProcess:
        started.append(InProcess(profile, rows))
        return started[-1]

    yield begin
    for transport in started:
        transport.end()


def finish(transport: InProcess, status: Status = Status.SUCCESS) -> None:
    for table in ("step", "task", "job", "run"):
        transport.change(f"UPDATE {table} SET status = {int(status)}, stopped_us = {START_US + 3_000_000}")


def options(transport: httpx.BaseTransport, *arguments: str, naps: list[Callable[[], None]] | None = None) -> Any:
    parser = argparse.ArgumentParser()
    watch.add_parser(parser.add_subparsers())
    parsed = parser.parse_args(["watch", *arguments])
    steps = iter(naps or [])

    def sleep(seconds: float) -> None:
        assert 0 <= seconds <= watch.POLL_S
        next(steps)()

    parsed.environ, parsed.transport, parsed.sleep = {}, transport, sleep
    return parsed


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("port", ["control", "runner"])
def test_watch_prints_jobs_steps_and_every_row_once_then_returns_success(
    start: Callable[..., InProcess], capsys: pytest.CaptureFixture[str], profile: str, port: str
) -> None:
    transport = start(profile)

    def more() -> None:
        transport.seed(lambda seed: seed.rows(transport.ids["task"], 5, ["late"]))
        transport.change("UPDATE step SET log_length = 5")

    if port == "control":
        target = [str(transport.ids["run"])]
    else:
        number = transport.ids["run"] if profile == "gitea-1.27" else 3
        target = [str(number), "--repository", "demo/app", "--server", "http://mock.test"]
    naps = [lambda: None, more, lambda: finish(transport)]
    assert watch.run(options(transport, *target, naps=naps)) == 0
    lines = [line.replace(line[8:17], "", 1) if line[8:9].isdigit() else line for line in
             capsys.readouterr().out.splitlines()]  # fmt: skip
    assert lines == [
        "[run] Fix it: running",
        "[build] job: running",
        "[deploy] job: blocked",
        "[build] prepared",
        "[build] step Set up job: success after 0s",
        "[build] step Compile: running",
        "[build] Files",
        "[build] hi red",
        "[build] error: broken",
        "[build] late",
        "[build] step Compile: success after 3s",
        "[build] step Complete job: success after 0s",
        "[build] job: success after 3s",
        "[deploy] job: success after 3s",
        "[run] Fix it: success",
    ]


@pytest.mark.parametrize(("status", "code"), [(Status.FAILURE, 1), (Status.CANCELLED, 1), (Status.SKIPPED, 0)])
def test_watch_returns_how_the_run_ended(start: Callable[..., InProcess], status: Status, code: int) -> None:
    transport = start()
    finish(transport, status)
    assert watch.run(options(transport, str(transport.ids["run"]))) == code


def test_watch_sends_what_the_page_sends(start: Callable[..., InProcess]) -> None:
    transport = start()
    watch.run(options(transport, str(transport.ids["run"]), naps=[lambda: None, lambda: finish(transport)]))
    run = f"/runs/{transport.ids['run']}"
    sent = [(request.url.path, json.loads(request.content)) for request in transport.requests]
    assert sent[0] == (run, {})
    assert sent[1] == (f"{run}/jobs/{transport.ids['job']}", {"logCursors": []})
    second_turn = [body for path, body in sent if path.endswith(f"/jobs/{transport.ids['job']}")][1]
    assert second_turn["logCursors"] == [
        {"step": 0, "cursor": None, "expanded": True},
        {"step": 1, "cursor": None, "expanded": True},
        {"step": 2, "cursor": None, "expanded": False},
    ]


def test_watch_of_one_job_ends_with_it_and_without_logs_prints_no_row(
    start: Callable[..., InProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    transport = start()
    transport.change(f"UPDATE job SET status = 1, stopped_us = {START_US} WHERE name = 'build'")
    transport.change("UPDATE task SET status = 1")
    transport.change("UPDATE step SET status = 1")
    assert watch.run(options(transport, str(transport.ids["run"]), "--job", "build", "--no-logs")) == 0
    out = capsys.readouterr().out
    assert "deploy" not in out
    assert "prepared" not in out
    assert "[build] job: success" in out


def test_watch_of_unknown_job_names_those_there_are(
    start: Callable[..., InProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    transport = start()
    assert watch.run(options(transport, str(transport.ids["run"]), "--job", "nope")) == 2
    assert "it has build, deploy" in capsys.readouterr().err


def test_watch_bridges_a_server_that_is_away_for_a_moment(
    start: Callable[..., InProcess], capsys: pytest.CaptureFixture[str]
) -> None:
    transport = start()

    def fail_twice() -> None:
        transport.down = 2

    naps = [fail_twice, lambda: None, lambda: None, lambda: finish(transport)]
    assert watch.run(options(transport, str(transport.ids["run"]), naps=naps)) == 0
    assert capsys.readouterr().out.count("trying again") == 2


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["x"], "RUN: must be a number"),
        (["latest"], "RUN: must be a number"),
        (["7", "--repository", "demo"], "--repository: must be owner/name"),
        (["99"], "run 99: not found"),
        (["7", "--server", "localhost:3001"], "--server"),
    ],
)
def test_watch_with_wrong_usage_returns_2_and_says_what_to_fix(
    start: Callable[..., InProcess], capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    assert watch.run(options(start(), *arguments)) == 2
    err = capsys.readouterr().err
    assert told in err
    assert err.count("\n") == 1


def test_watch_of_server_that_is_not_there_returns_2(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    assert watch.run(options(httpx.MockTransport(refuse), "7")) == 2
    assert "cannot be reached (connection refused)" in capsys.readouterr().err


@pytest.mark.parametrize("body", ["<html>", "[]", "{}", '{"state": {"run": {}}}'])
def test_watch_of_something_else_returns_2(capsys: pytest.CaptureFixture[str], body: str) -> None:
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text=body))
    assert watch.run(options(transport, "7")) == 2
    assert "the answer is not" in capsys.readouterr().err
