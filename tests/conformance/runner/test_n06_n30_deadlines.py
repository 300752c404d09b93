"""N6, N14 and N30 of the protocol: which calls tell the server how long the runner will listen."""

import asyncio
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import RawServer
from runnerapp import running, shell_task

THREE_HOURS_MS = 3 * 3600 * 1000


def test_n06_reports_of_a_running_job_announce_the_rest_of_its_time(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            for call in (*server.of("UpdateLog"), *server.of("UpdateTask")):
                assert THREE_HOURS_MS - 60_000 <= int(call.headers["connect-timeout-ms"]) <= THREE_HOURS_MS

    asyncio.run(scenario())


def test_n06_reports_to_forgejo_announce_nothing(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, once=True, family="forgejo") as runner:
                assert await runner.ended() is Exit.OK
            for call in (*server.of("UpdateLog"), *server.of("UpdateTask")):
                assert "connect-timeout-ms" not in call.headers

    asyncio.run(scenario())


@pytest.mark.parametrize("method", ["UpdateLog", "UpdateTask"])
def test_n30_closing_calls_after_a_cancel_announce_their_own_limit(tmp_path: Path, method: str) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "sleep 60"))
            state = pb.TaskState(id=1, result=pb.RESULT_CANCELLED)
            server.always("UpdateTask", pb.UpdateTaskResponse(state=state))
            async with running(server, tmp_path, once=True, report_close_timeout="5s") as runner:
                assert await runner.ended() is Exit.OK
            assert int(server.of(method)[-1].headers["connect-timeout-ms"]) <= 5000

    asyncio.run(scenario())
