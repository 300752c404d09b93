"""N1 to N6 of the protocol: becoming known to a server, and starting."""

import asyncio
import itertools
import json
import socket
import stat
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import RawServer, Reply, error, page
from runnerapp import TOKEN, UUID, command, finish, running, write_config, write_runner_file

NOT_FOUND = Reply(404, {"Content-Type": "text/plain"}, b"404 page not found\n")


def register_arguments(url: str, *more: str) -> list[str]:
    return [
        *("register", "--no-interactive", "--instance", url, "--token", "reg-token", "--name", "r1"),
        *("--labels", "linux:host,tiny", *more),
    ]


def test_n01_registration_waits_for_the_server_with_one_ping_a_second(tmp_path: Path) -> None:
    async def scenario() -> None:
        # A bound socket that does not listen refuses connections and keeps the port for the server.
        with socket.socket() as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))
            port = reserved.getsockname()[1]
            process = await command(tmp_path, *register_arguments(f"http://127.0.0.1:{port}/"))
            assert process.stderr is not None
            first_words = await asyncio.wait_for(process.stderr.readline(), 20)
            assert b"server_not_ready" in first_words
        server = RawServer()
        server.script("Ping", page(502), page(502))
        await server.listen(port)
        try:
            code, output = await finish(process)
        finally:
            await server.close()
        assert code == 0, output
        assert [call.method for call in server.calls] == ["Ping", "Ping", "Ping", "Register"]
        pings = server.of("Ping")
        for earlier, later in itertools.pairwise(pings):
            assert 0.9 <= later.at - earlier.at < 10

    asyncio.run(scenario())


def test_n02_registration_is_stored_with_full_labels(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            code, output = await finish(await command(tmp_path, *register_arguments(server.url + "/")))
            assert code == 0, output
            assert "Runner registered successfully." in output
            asked = server.of("Register")[0].message
            assert (asked.name, asked.token) == ("r1", "reg-token")
            assert list(asked.labels) == ["linux", "tiny"]
            assert list(asked.capabilities) == ["cancelling"]
            assert not asked.ephemeral
            assert not asked.agent_labels
            path = tmp_path / ".runner"
            data = json.loads(path.read_text())
            assert data.pop("WARNING")
            assert data == {
                "id": 7, "uuid": UUID, "name": "r1", "token": "a1" * 20, "address": server.url,
                "labels": ["linux:host", "tiny"], "ephemeral": False,
            }  # fmt: skip
            assert stat.S_IMODE(path.stat().st_mode) == 0o600

    asyncio.run(scenario())


def test_n02_refused_registration_writes_nothing_and_names_the_reason(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Register", error(500, "unknown", "runner registration token not found"))
            code, output = await finish(await command(tmp_path, *register_arguments(server.url)))
            assert code == 1
            assert "runner registration token not found" in output
            assert "reg-token" not in output
            assert not (tmp_path / ".runner").exists()

    asyncio.run(scenario())


def not_ephemeral(call: object) -> pb.RegisterResponse:
    return pb.RegisterResponse(runner=pb.Runner(id=7, uuid=UUID, token=TOKEN, name="r1"))


def test_n03_gitea_runner_that_asked_for_ephemeral_in_vain_runs_once(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Register", not_ephemeral)
            code, output = await finish(await command(tmp_path, *register_arguments(server.url, "--ephemeral")))
            assert code == 0, output
            assert server.of("Register")[0].message.ephemeral
            assert json.loads((tmp_path / ".runner").read_text())["ephemeral"] is True

    asyncio.run(scenario())


def test_n03_forgejo_runner_that_asked_for_ephemeral_in_vain_refuses(tmp_path: Path) -> None:
    async def scenario() -> None:
        config = write_config(tmp_path, family="forgejo")
        async with RawServer() as server:
            server.always("Register", not_ephemeral)
            arguments = ["--config", str(config), *register_arguments(server.url, "--ephemeral")]
            code, output = await finish(await command(tmp_path, *arguments))
            assert code == 1
            assert "ephemeral" in output
            assert list(server.of("Register")[0].message.agent_labels) == ["linux", "tiny"]
            assert not (tmp_path / ".runner").exists()

    asyncio.run(scenario())


def test_n04_declare_comes_before_the_first_fetch_with_label_names(tmp_path: Path) -> None:
    async def scenario() -> None:
        labels = ("linux:host", "tiny", "big:docker://node:22")
        async with RawServer() as server, running(server, tmp_path, labels=labels):
            await server.until(lambda: server.of("FetchTask"))
            assert [call.method for call in server.calls][:2] == ["Declare", "FetchTask"]
            declared = server.of("Declare")[0].message
            assert list(declared.labels) == ["linux", "tiny", "big"]
            assert list(declared.capabilities) == ["cancelling"]
            assert declared.version

    asyncio.run(scenario())


def test_n04_declare_is_repeated_while_the_server_is_away(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("Declare", page(503), Reply(drop=True))
            async with running(server, tmp_path):
                await server.until(lambda: server.of("FetchTask"))
            assert [call.method for call in server.calls][:4] == ["Declare", "Declare", "Declare", "FetchTask"]

    asyncio.run(scenario())


def test_n05_gitea_way_stops_with_a_clear_text_when_declare_is_unimplemented(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Declare", NOT_FOUND)
            write_runner_file(tmp_path, server.url)
            code, output = await finish(await command(tmp_path, "daemon"))
            assert code == Exit.SERVER_TOO_OLD
            assert "1.21" in output
            assert "Traceback" not in output
            assert not server.of("FetchTask")

    asyncio.run(scenario())


def test_n05_forgejo_way_goes_on_when_declare_is_unimplemented(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.always("Declare", NOT_FOUND)
            async with running(server, tmp_path, family="forgejo"):
                await server.until(lambda: server.of("FetchTask"))

    asyncio.run(scenario())


@pytest.mark.parametrize("method", ["Declare", "FetchTask"])
def test_n06_every_call_carries_identity_and_protocol_headers(tmp_path: Path, method: str) -> None:
    async def scenario() -> None:
        async with RawServer() as server, running(server, tmp_path):
            await server.until(lambda: server.of(method))
            headers = server.of(method)[0].headers
            assert headers["x-runner-uuid"] == UUID
            assert headers["x-runner-token"] == TOKEN
            assert headers["user-agent"].startswith("actionsrunner/")
            assert headers["connect-protocol-version"] == "1"
            assert headers["content-type"] == "application/proto"
            assert headers["accept-encoding"] == "gzip"
            assert "content-encoding" not in headers
            assert "x-runner-version" not in headers
            assert ("connect-timeout-ms" in headers) == (method == "FetchTask")

    asyncio.run(scenario())


def test_n06_calls_before_registration_carry_no_identity(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            await finish(await command(tmp_path, *register_arguments(server.url)))
            for call in server.calls:
                assert "x-runner-uuid" not in call.headers
                assert "x-runner-token" not in call.headers
                assert call.headers["connect-protocol-version"] == "1"

    asyncio.run(scenario())


def test_n06_calls_reuse_one_idle_connection(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server, running(server, tmp_path):
            await server.until(lambda: len(server.of("FetchTask")) >= 5)
            assert len({call.peer for call in server.calls}) == 1

    asyncio.run(scenario())
