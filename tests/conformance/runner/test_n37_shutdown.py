"""N37 of the protocol: what a shutdown signal does, with a real process and real signals."""

import asyncio
import signal
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import RawServer, Reply
from runnerapp import command, finish, shell_task, write_config, write_runner_file


async def daemon(server: RawServer, folder: Path, **settings: str | int) -> asyncio.subprocess.Process:
    write_runner_file(folder, server.url)
    config = write_config(folder, **settings)
    return await command(folder, "--config", str(config), "daemon")


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_n37_signal_without_patience_cancels_jobs_and_reports_cancelled(tmp_path: Path, kind: signal.Signals) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo start\nsleep 60"))
            process = await daemon(server, tmp_path)
            await server.until(lambda: "start" in server.rows.get(1, []))
            process.send_signal(kind)
            code, output = await finish(process)
            assert code == Exit.OK, output
            assert server.final(1).result == pb.RESULT_CANCELLED
            assert 1 in server.sealed

    asyncio.run(scenario())


def test_n37_signal_with_patience_stops_fetching_and_lets_the_job_finish(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = tmp_path / "gate"
        async with RawServer() as server:
            server.tasks.append(shell_task(1, f"echo start\nuntil [ -e {gate} ]; do sleep 0.02; done"))
            process = await daemon(server, tmp_path, shutdown_timeout="60s", capacity=2)
            await server.until(lambda: "start" in server.rows.get(1, []))
            process.send_signal(signal.SIGTERM)
            beats = len(server.of("UpdateTask"))
            await server.until(lambda: len(server.of("UpdateTask")) >= beats + 2)
            fetches = len(server.of("FetchTask"))
            await server.until(lambda: len(server.of("UpdateTask")) >= beats + 4)
            assert len(server.of("FetchTask")) == fetches
            gate.touch()
            code, output = await finish(process)
            assert code == Exit.OK, output
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n37_fetch_in_flight_that_is_not_answered_is_given_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        never = asyncio.Event()
        async with RawServer() as server:
            server.always("FetchTask", Reply(hold=never))
            process = await daemon(server, tmp_path, fetch_timeout="60s")
            await server.until(lambda: server.of("FetchTask"))
            process.send_signal(signal.SIGTERM)
            code, output = await finish(process, within_s=30)
            assert code == Exit.OK, output

    asyncio.run(scenario())


def test_n37_second_signal_ends_the_patience(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo start\nsleep 60"))
            process = await daemon(server, tmp_path, shutdown_timeout="1h")
            await server.until(lambda: "start" in server.rows.get(1, []))
            process.send_signal(signal.SIGTERM)
            assert process.stderr is not None
            async with asyncio.timeout(30):
                while b"stopping" not in await process.stderr.readline():
                    pass
            process.send_signal(signal.SIGTERM)
            code, output = await finish(process)
            assert code == Exit.OK, output
            assert server.final(1).result == pb.RESULT_CANCELLED

    asyncio.run(scenario())


def test_n37_last_signal_gives_the_reports_up(tmp_path: Path) -> None:
    async def scenario() -> None:
        never = asyncio.Event()
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "trap '' INT TERM\necho start\nwhile true; do sleep 0.1; done"))
            process = await daemon(server, tmp_path, report_close_timeout="60s")
            assert process.stderr is not None
            await server.until(lambda: "start" in server.rows.get(1, []))
            server.always("UpdateLog", Reply(hold=never))
            for word in (b"cancelling_jobs", b"killing_jobs"):
                process.send_signal(signal.SIGTERM)
                async with asyncio.timeout(30):
                    while word not in await process.stderr.readline():
                        pass
            await server.until(lambda: server.of("UpdateLog")[-1].message.no_more)
            process.send_signal(signal.SIGTERM)
            code, output = await finish(process)
            assert code == Exit.FORCED, output
            assert server.final(1) is None

    asyncio.run(scenario())


def test_n15_exit_status_of_the_process_is_distinct(tmp_path: Path) -> None:
    async def scenario() -> None:
        answer = Reply(401, {"Content-Type": "application/json"}, b'{"code":"unauthenticated"}')
        async with RawServer() as server:
            server.always("FetchTask", answer)
            process = await daemon(server, tmp_path)
            code, output = await finish(process)
            assert code == Exit.UNREGISTERED == 3
            assert "0123456789abcdef" not in output

    asyncio.run(scenario())
