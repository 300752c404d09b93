"""N7 to N17, N38 and N41 of the protocol: how the runner asks for work."""

import asyncio
import itertools
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawserver import Call, RawServer, Reply, error, page
from runnerapp import running, shell_task


def test_n07_first_fetch_sends_version_zero(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server, running(server, tmp_path):
            await server.until(lambda: server.of("FetchTask"))
            assert server.of("FetchTask")[0].message.tasks_version == 0

    asyncio.run(scenario())


def test_n08_answered_version_is_sent_next_and_never_lowered(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", *(pb.FetchTaskResponse(tasks_version=v) for v in (3, 9, 5, 9)))
            async with running(server, tmp_path):
                await server.until(lambda: len(server.of("FetchTask")) >= 5)
            sent = [call.message.tasks_version for call in server.of("FetchTask")[:5]]
            assert sent == [0, 3, 9, 9, 9]

    asyncio.run(scenario())


def test_n09_after_a_task_the_next_fetch_sends_zero(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script(
                "FetchTask",
                pb.FetchTaskResponse(tasks_version=4),
                pb.FetchTaskResponse(tasks_version=4, task=shell_task(1, "true")),
            )
            async with running(server, tmp_path, capacity=2):
                await server.until(lambda: len(server.of("FetchTask")) >= 3)
            assert [call.message.tasks_version for call in server.of("FetchTask")[:3]] == [0, 4, 0]

    asyncio.run(scenario())


def test_n10_recovered_answer_with_version_zero_does_not_lower_the_stored_one(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script(
                "FetchTask",
                pb.FetchTaskResponse(tasks_version=4),
                pb.FetchTaskResponse(tasks_version=0, task=shell_task(1, "true")),
            )
            async with running(server, tmp_path, capacity=2, family="forgejo"):
                await server.until(lambda: len(server.of("FetchTask")) >= 3)
            assert [call.message.tasks_version for call in server.of("FetchTask")[:3]] == [0, 4, 4]

    asyncio.run(scenario())


def test_n11_full_runner_does_not_fetch(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = tmp_path / "gate"
        wait = f"until [ -e {gate} ]; do sleep 0.02; done"
        async with RawServer() as server:
            server.tasks.extend([shell_task(1, wait), shell_task(2, "true")])
            async with running(server, tmp_path):
                # Several heartbeats, each longer than the longest wait between fetches, pass while it is full.
                await server.until(lambda: len(server.of("UpdateTask")) >= 5)
                assert len(server.of("FetchTask")) == 1
                gate.touch()
                await server.until(lambda: server.final(2))
            order = [call for call in server.calls if call.method in ("FetchTask", "UpdateTask")]
            second_fetch = [call.method for call in order].index("FetchTask", 1)
            assert any(call.message.state.result for call in order[:second_fetch] if call.method == "UpdateTask")

    asyncio.run(scenario())


def test_n12_empty_answers_lengthen_the_wait_up_to_the_limit(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            async with running(server, tmp_path, fetch_interval="100ms", fetch_interval_max="250ms"):
                await server.until(lambda: len(server.of("FetchTask")) >= 6)
            times = [call.at for call in server.of("FetchTask")]
            # Upper bounds are asserted in virtual time; here everything else on the machine adds to a wait.
            for (earlier, later), base in zip(itertools.pairwise(times), (0.1, 0.2, 0.25, 0.25, 0.25), strict=False):
                assert later - earlier >= 0.8 * base - 0.005

    asyncio.run(scenario())


def test_n12_fetch_after_a_task_is_immediate_and_starts_again_at_the_base(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, capacity=2, fetch_interval="20s", fetch_interval_max="60s"):
                await server.until(lambda: len(server.of("FetchTask")) >= 2, within_s=15)

    asyncio.run(scenario())


def test_n13_errors_back_off_the_same_way(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", *[error(500, "unknown", "rpc error: code = Internal desc = pick task: x")] * 4)
            async with running(server, tmp_path, fetch_interval="80ms", fetch_interval_max="200ms"):
                await server.until(lambda: len(server.of("FetchTask")) >= 5)
            times = [call.at for call in server.of("FetchTask")]
            for earlier, later, base in zip(times, times[1:], (0.08, 0.16, 0.2, 0.2), strict=False):
                assert later - earlier >= 0.8 * base - 0.005

    asyncio.run(scenario())


def test_n14_own_deadline_is_told_to_the_server_and_counts_as_empty(tmp_path: Path) -> None:
    async def scenario() -> None:
        never = asyncio.Event()
        async with RawServer() as server:
            server.script("FetchTask", Reply(hold=never))
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, fetch_timeout="150ms"):
                await server.until(lambda: server.final(1))
            first, second = server.of("FetchTask")[:2]
            assert 1 <= int(first.headers["connect-timeout-ms"]) <= 150
            assert second.at - first.at >= 0.15 + 0.8 * 0.02 - 0.005
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "answer",
    [
        error(401, "unauthenticated", "unregistered runner"),
        error(500, "unknown", "rpc error: code = Unauthenticated desc = unregistered runner"),
    ],
    ids=["coded", "text"],
)
def test_n15_unregistered_stops_fetching_lets_jobs_finish_and_exits_non_zero(tmp_path: Path, answer: Reply) -> None:
    async def scenario() -> None:
        gate = tmp_path / "gate"
        async with RawServer() as server:
            server.tasks.append(shell_task(1, f"until [ -e {gate} ]; do sleep 0.02; done"))
            server.script("FetchTask", server.default)
            server.always("FetchTask", answer)
            async with running(server, tmp_path, capacity=2) as runner:
                await server.until(lambda: len(server.of("FetchTask")) == 2)
                await server.until(lambda: len(server.of("UpdateTask")) >= 4)
                assert not runner.work.done()
                gate.touch()
                assert await runner.ended() is Exit.UNREGISTERED
            assert len(server.of("FetchTask")) == 2
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n16_request_key_is_kept_until_a_success(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", page(503), error(500, "internal", "pick task: x"), Reply(drop=True))
            async with running(server, tmp_path, family="forgejo"):
                await server.until(lambda: len(server.of("FetchTask")) >= 6)
            keys = [call.headers["x-runner-request-key"] for call in server.of("FetchTask")[:6]]
            assert len(set(keys[:4])) == 1
            assert len(set(keys[3:])) == 3

    asyncio.run(scenario())


def test_n16_gitea_gets_no_request_key_once_it_is_known(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            declared = server.default

            def declare(call: Call) -> Reply:
                body = declared(call).SerializeToString()
                headers = {"Content-Type": "application/proto", "X-Gitea-Actions-Capabilities": "job-summary"}
                return Reply(200, headers, body)

            server.always("Declare", declare)
            async with running(server, tmp_path, family="auto"):
                await server.until(lambda: len(server.of("FetchTask")) >= 2)
            assert not any("x-runner-request-key" in call.headers for call in server.of("FetchTask"))
            assert not any(call.message.HasField("task_capacity") for call in server.of("FetchTask"))

    asyncio.run(scenario())


def test_n17_additional_tasks_are_all_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            more = [shell_task(2, "true"), shell_task(3, "true")]
            server.script(
                "FetchTask",
                pb.FetchTaskResponse(tasks_version=2, task=shell_task(1, "true"), additional_tasks=more),
            )
            async with running(server, tmp_path, family="forgejo", capacity=3):
                await server.until(lambda: all(server.final(n) for n in (1, 2, 3)))
            assert server.of("FetchTask")[0].message.task_capacity == 3

    asyncio.run(scenario())


def test_n17_additional_tasks_without_a_first_one_are_run(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            more = [shell_task(2, "true"), shell_task(3, "true")]
            server.script("FetchTask", pb.FetchTaskResponse(tasks_version=2, additional_tasks=more))
            async with running(server, tmp_path, capacity=2):
                await server.until(lambda: server.final(2) and server.final(3))

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [502, 503, 504, 429])
def test_n38_unavailable_server_is_retried(tmp_path: Path, status: int) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", page(status), page(status))
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert len(server.of("FetchTask")) == 3

    asyncio.run(scenario())


def test_n41_task_that_is_already_running_is_ignored(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate, count = tmp_path / "gate", tmp_path / "count"
        script = f"echo x >> {count}\nuntil [ -e {gate} ]; do sleep 0.02; done"
        async with RawServer() as server:
            server.tasks.extend([shell_task(1, script), shell_task(1, script)])
            async with running(server, tmp_path, capacity=2):
                await server.until(lambda: len(server.of("FetchTask")) >= 4)
                gate.touch()
                await server.until(lambda: server.final(1))
                await server.until(lambda: len(server.of("FetchTask")) >= 8)
            assert count.read_text() == "x\n"
            finals = [c for c in server.of("UpdateTask") if c.message.state.result]
            assert len(finals) == 1

    asyncio.run(scenario())
