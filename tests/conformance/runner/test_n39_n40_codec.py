"""N39 and N40 of the protocol: answers that are compressed, newer than the runner, or no answers at all."""

import asyncio
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import Call, RawServer, Reply, zipped
from runnerapp import running, shell_task

UNKNOWN_FIELD = bytes([0xBA, 0x3E, 0x03]) + b"new"
"""Field 999, length-delimited."""


def test_n39_gzip_answers_are_decoded(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            for method in ("Declare", "FetchTask", "UpdateTask", "UpdateLog"):
                server.always(method, lambda call: zipped(server.default(call)))
            server.tasks.append(shell_task(1, "echo hello"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert "hello" in server.rows[1]
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n40_unknown_fields_are_ignored(tmp_path: Path) -> None:
    async def scenario() -> None:
        def newer(call: Call) -> Reply:
            return Reply(body=server.default(call).SerializeToString() + UNKNOWN_FIELD)

        async with RawServer() as server:
            for method in ("Declare", "FetchTask", "UpdateTask", "UpdateLog"):
                server.always(method, newer)
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


BAD = {
    "other type": Reply(200, {"Content-Type": "application/proto; charset=utf-8"}),
    "html": Reply(200, {"Content-Type": "text/html"}, b"<html>sign in</html>"),
    "created": Reply(201),
    "no content": Reply(204),
    "redirect": Reply(302, {"Location": "/login"}),
    "not gzip": Reply(200, {"Content-Type": "application/proto", "Content-Encoding": "gzip"}, b"plain"),
    "other encoding": Reply(200, {"Content-Type": "application/proto", "Content-Encoding": "br"}, b"x"),
    "undecodable": Reply(200, {"Content-Type": "application/proto"}, b"\xff\xff\xff"),
}


@pytest.mark.parametrize("answer", BAD.values(), ids=BAD.keys())
def test_n40_answers_that_are_none_are_errors_and_retried(tmp_path: Path, answer: Reply) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", answer)
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert len(server.of("FetchTask")) == 2
            assert {call.path for call in server.calls} <= {
                f"/api/actions/runner.v1.RunnerService/{method}"
                for method in ("Declare", "FetchTask", "UpdateTask", "UpdateLog")
            }

    asyncio.run(scenario())
