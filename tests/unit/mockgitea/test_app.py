import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from actionswire.gen.ping.v1 import ping_pb2
from asyncwait import until
from mockgitea.app import App
from mockgitea.core.faults import Fault, FaultKind
from mockgitea.settings import SettingError, Settings

PING = "/api/actions/ping.v1.PingService/Ping"


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[tuple[App, httpx.AsyncClient, httpx.AsyncClient]]:
    app = App.build(Settings(**{"port": 0, "control_port": 0, "seed": 7, **settings}))
    await app.start()
    try:
        async with (
            httpx.AsyncClient(base_url=app.runner_url, trust_env=False) as runner,
            httpx.AsyncClient(base_url=app.control_url, trust_env=False) as control,
        ):
            yield app, runner, control
    finally:
        await app.close()
        await app.close()


async def ping(client: httpx.AsyncClient) -> httpx.Response:
    body = ping_pb2.PingRequest(data="r1").SerializeToString()
    return await client.post(PING, content=body, headers={"Content-Type": "application/proto"})


def test_both_ports_answer_after_start() -> None:
    async def scenario() -> None:
        async with running() as (app, runner, control):
            assert ping_pb2.PingResponse.FromString((await ping(runner)).content).data == "Hello, r1!"
            assert (await control.get("/healthz")).json() == {"status": "live"}
            assert (await control.get("/readyz")).json() == {"status": "ready"}
            version = (await control.get("/version")).json()
            assert (version["is_mock"], version["profile"]) == (True, "gitea-1.27")
            metrics = (await control.get("/metrics")).text
            assert 'mockgitea_requests_total{method="Ping",outcome="ok"} 1.0' in metrics
            assert 'mockgitea_jobs{status="waiting"} 0.0' in metrics
            assert "mockgitea_store_batches_total" in metrics
            assert app.settings.app_url == app.runner_url

    asyncio.run(scenario())


def test_the_control_port_is_neither_faulted_nor_recorded() -> None:
    async def scenario() -> None:
        async with running() as (app, runner, control):
            app.faults.add(Fault(name="down", kind=FaultKind.REFUSE))
            assert (await ping(runner)).status_code == 503
            assert (await control.get("/healthz")).status_code == 200
            assert [entry.path for entry in app.journal.entries()] == [PING]

    asyncio.run(scenario())


def test_an_unknown_page_is_404_in_plain_text() -> None:
    async def scenario() -> None:
        async with running() as (_, runner, _):
            answer = await runner.get("/no/such/page/at/all")
            assert answer.status_code == 404
            assert answer.headers["content-type"].startswith("text/plain")

    asyncio.run(scenario())


def test_reset_leaves_nothing_behind() -> None:
    async def scenario() -> None:
        async with running() as (app, runner, _):
            app.faults.add(Fault(name="slow", kind=FaultKind.REFUSE, method="FetchTask"))
            await ping(runner)
            await app.reset()
            assert app.counters.total == 0
            assert app.journal.opened_total == 0
            assert app.faults.list() == ()

    asyncio.run(scenario())


def test_the_same_seed_draws_the_same_tokens() -> None:
    async def tokens() -> tuple[str, str]:
        async with running() as (app, _, _):
            return app.settings.api_token, await app.services.registration.registration_token(0, 0)

    assert asyncio.run(tokens()) == asyncio.run(tokens())


def test_given_tokens_and_url_are_kept() -> None:
    async def scenario() -> None:
        async with running(api_token="a", registration_token="r" * 20, app_url="http://ci.test/") as (app, _, _):
            assert app.settings.api_token == "a"
            assert await app.services.registration.registration_token(0, 0) == "r" * 20
            assert app.settings.app_url == "http://ci.test"

    asyncio.run(scenario())


@pytest.mark.parametrize("setting", ["port", "control_port", "grpc_port"])
def test_a_taken_port_names_its_setting_and_leaves_nothing_open(setting: str) -> None:
    async def scenario(port: int) -> None:
        with pytest.raises(SettingError, match=rf"^{setting}: "):
            app = App.build(Settings(**{"port": 0, "control_port": 0, setting: port}))  # type: ignore[arg-type]
            await app.start()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        asyncio.run(scenario(taken.getsockname()[1]))


def test_the_failure_of_a_background_task_stops_the_server() -> None:
    async def scenario() -> None:
        async with running() as (app, _, control):

            async def broken() -> None:
                raise KeyError("x")

            app.services.supervisor.start(broken(), name="broken")
            await asyncio.wait_for(app.stopping.wait(), 5)
            assert isinstance(app.failure, KeyError)
            assert (await control.get("/readyz")).status_code == 503

    asyncio.run(scenario())


def test_held_calls_do_not_keep_the_server_from_stopping() -> None:
    async def scenario() -> None:
        async with running() as (app, runner, _):
            app.faults.add(Fault(name="hold", kind=FaultKind.HOLD))
            held = asyncio.ensure_future(ping(runner))
            await until(lambda: app.journal.in_progress)
            await app.close()
            assert (await held).status_code == 200

    asyncio.run(scenario())


def test_control_token_guards_page_and_metrics_and_leaves_health_open() -> None:
    async def scenario() -> None:
        async with running(control_token="the-token") as (_, runner, control):
            guarded = ["/", "/runs.json", "/runners", "/runs/1", "/runs/1/jobs/1/logs", "/metrics", "/nope"]
            for path in guarded:
                for right in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic !"}):
                    answer = await control.get(path, headers=right)
                    assert answer.status_code == 401, path
                    assert answer.headers["www-authenticate"].startswith("Basic ")
                bearer = await control.get(path, headers={"Authorization": "Bearer the-token"})
                basic = await control.get(path, auth=("anybody", "the-token"))
                assert bearer.status_code == basic.status_code != 401, path
            poll = await control.post("/runs/1/jobs/1", json={})
            assert poll.status_code == 401
            api = await control.get("/control/v1/version", auth=("anybody", "the-token"))
            assert api.status_code == 401, "a browser sends Basic to the API for other sites too"
            for path in ("/healthz", "/readyz", "/version", "/openapi.json", "/docs", "/assets/mockgitea/page.css"):
                assert (await control.get(path)).status_code == 200, path
            assert (await runner.get("/demo/demo/actions")).status_code == 200, "the runner port has no such token"

    asyncio.run(scenario())
