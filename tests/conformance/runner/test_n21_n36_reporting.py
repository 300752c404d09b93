"""N21 to N36 of the protocol: rows, states, outputs and results of a task."""

import asyncio
import itertools
import random
from pathlib import Path
from typing import Any

import pytest

from actionsrunner.embedding import (
    CancelSignal,
    EmbeddedRunner,
    HaltReason,
    HttpxTransport,
    Identity,
    JobOutcome,
    JobSink,
    LoopClock,
    RunnerParts,
    TaskSpec,
)
from actionsrunner.exits import Exit
from actionsrunner.strategies import poll_strategy, report_strategy
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from rawserver import Call, RawServer, Reply, error
from runnerapp import RUNTIME_TOKEN, TOKEN, UUID, Runner, raw_task, running, shell_task


def waiting(gate: Path) -> str:
    return f"until [ -e {gate} ]; do sleep 0.02; done"


async def run_once(server: RawServer, folder: Path, task: pb.Task, **settings: Any) -> None:
    server.tasks.append(task)
    async with running(server, folder, once=True, **settings) as runner:
        assert await runner.ended() is Exit.OK


def all_rows(calls: list[Call]) -> list[tuple[int, str]]:
    return [(c.message.index + n, row.content) for c in calls for n, row in enumerate(c.message.rows)]


def test_n21_rows_continue_at_the_acknowledged_index(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            script = "for i in $(seq 40); do echo row $i; sleep 0.01; done"
            await run_once(server, tmp_path, shell_task(1, script))
            calls = server.of("UpdateLog")
            assert len(calls) >= 3
            held = 0
            for call in calls:
                assert call.message.index == held
                held += len(call.message.rows)
            contents = [content for _, content in all_rows(calls)]
            assert [c for c in contents if c.startswith("row ")] == [f"row {i}" for i in range(1, 41)]

    asyncio.run(scenario())


def test_n21_partly_acknowledged_rows_are_sent_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("UpdateLog", pb.UpdateLogResponse(ack_index=2))
            server.rows[1] = ["", ""]
            await run_once(server, tmp_path, shell_task(1, "echo hello"))
            first, second = server.of("UpdateLog")[:2]
            assert (first.message.index, second.message.index) == (0, 2)
            assert second.message.rows[0] == first.message.rows[2]

    asyncio.run(scenario())


def test_n22_ack_below_the_offset_is_reported_and_nothing_is_renumbered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> int:
        gate = tmp_path / "gate"
        async with RawServer() as server:
            server.script("UpdateLog", server.default, pb.UpdateLogResponse(ack_index=1))
            server.tasks.append(shell_task(1, "echo one", f"echo two\n{waiting(gate)}"))
            async with running(server, tmp_path, once=True) as runner:
                await server.until(lambda: len(server.of("UpdateLog")) >= 3)
                gate.touch()
                await runner.ended()
            _, lost, again = server.of("UpdateLog")[:3]
            assert lost.message.index > 1
            assert again.message.index == lost.message.index
            assert again.message.rows[0] == lost.message.rows[0]
            return int(lost.message.index)

    assert asyncio.run(scenario()) > 1
    assert "rows_lost" in capsys.readouterr().out


def test_n23_ack_beyond_what_was_sent_is_clamped(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("UpdateLog", lambda call: pb.UpdateLogResponse(ack_index=1000 + server_store(server, call)))
            await run_once(server, tmp_path, shell_task(1, "echo one", "echo two"))
            first, second = server.of("UpdateLog")[:2]
            assert second.message.index == len(first.message.rows)
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def server_store(server: RawServer, call: Call) -> int:
    answer = server.default(call)
    assert isinstance(answer, pb.UpdateLogResponse)
    return answer.ack_index


@pytest.mark.parametrize("answer", [error(500, "internal", "boom"), Reply(drop=True), Reply(503)])
def test_n24_failed_update_log_is_repeated_with_the_same_index(tmp_path: Path, answer: Reply) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.script("UpdateLog", answer)
            await run_once(server, tmp_path, shell_task(1, "echo hello"))
            first, second = server.of("UpdateLog")[:2]
            assert first.message.index == second.message.index == 0
            assert second.message.rows[: len(first.message.rows)] == first.message.rows
            assert "hello" in server.rows[1]
            assert 1 in server.sealed

    asyncio.run(scenario())


def test_n25_step_start_and_end_send_rows_then_state(tmp_path: Path) -> None:
    async def scenario() -> None:
        first, second = tmp_path / "first", tmp_path / "second"
        slow = {"log_report_interval": "60s", "log_report_max_latency": "60s", "state_report_interval": "60s"}
        async with RawServer() as server:
            server.tasks.append(shell_task(1, waiting(first), f"echo two\n{waiting(second)}"))
            async with running(server, tmp_path, once=True, **slow) as runner:
                # Every timer is a minute away, so only the steps' own moves can send anything.
                await server.until(lambda: any(s.started_at.seconds for s in steps(server, 0)))
                first.touch()
                await server.until(lambda: any(s.result == pb.RESULT_SUCCESS for s in steps(server, 0)))
                await server.until(lambda: any(s.started_at.seconds for s in steps(server, 1)))
                second.touch()
                await runner.ended()
            order = [call.method for call in server.calls if call.method.startswith("Update")]
            assert order[:2] == ["UpdateLog", "UpdateTask"]
            for call in server.of("UpdateTask"):
                stored = stored_before(server, call)
                ended = [step for step in call.message.state.steps if step.result]
                assert all(step.log_index + step.log_length <= stored for step in ended)

    asyncio.run(scenario())


def steps(server: RawServer, index: int) -> list[Any]:
    states = [call.message.state for call in server.of("UpdateTask")]
    return [state.steps[index] for state in states if len(state.steps) > index]


def stored_before(server: RawServer, until: Call) -> int:
    calls = server.calls[: server.calls.index(until)]
    return sum(len(call.message.rows) for call in calls if call.method == "UpdateLog")


def test_n26_silent_job_sends_heartbeats(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = tmp_path / "gate"
        async with RawServer() as server:
            server.tasks.append(shell_task(1, waiting(gate)))
            async with running(server, tmp_path, once=True, state_report_interval="150ms") as runner:
                await server.until(lambda: len(server.of("UpdateTask")) >= 6)
                gate.touch()
                await runner.ended()
            beats = server.of("UpdateTask")[2:6]
            for earlier, later in itertools.pairwise(beats):
                # About every second tick; exact ratios are asserted in virtual time.
                assert later.at - earlier.at >= 0.14
            assert all(call.message.state.result == 0 for call in beats)

    asyncio.run(scenario())


def test_n27_end_of_a_job_sends_the_sealing_rows_then_the_result(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            await run_once(server, tmp_path, shell_task(1, "echo hello"))
            last_log, last_state = [c for c in server.calls if c.method.startswith("Update")][-2:]
            assert last_log.method == "UpdateLog"
            assert last_log.message.no_more
            assert last_log.message.rows
            assert last_state.method == "UpdateTask"
            assert last_state.message.state.result == pb.RESULT_SUCCESS
            assert last_state.message.state.stopped_at.seconds
            assert [call.message.no_more for call in server.of("UpdateLog")].count(True) == 1

    asyncio.run(scenario())


def test_n27_end_with_every_row_delivered_seals_with_one_empty_row() -> None:
    async def scenario() -> None:
        async with RawServer() as server:

            async def job(task: TaskSpec, sink: JobSink, cancel: CancelSignal) -> JobOutcome:
                del cancel
                sink.steps_known(0)
                sink.log("hello")
                # Ends when nothing is left for the sealing call.
                await server.until(lambda: server.rows.get(task.id) == ["hello"])
                return JobOutcome(Result.SUCCESS)

            server.tasks.append(shell_task(1, "not run"))
            rng = random.Random(1)
            runner = EmbeddedRunner(
                RunnerParts(
                    identity=Identity(UUID, TOKEN), labels=["linux"], clock=LoopClock(), job=job,
                    transport=HttpxTransport(server.url),
                    poll=poll_strategy("current", rng=rng, tasks_max=1),
                    report=report_strategy("current", {"log_report_batch_size": 1}, rng=rng),
                )
            )  # fmt: skip
            assert await runner.run() is HaltReason.SERVED
            await runner.close()
            sealing = server.of("UpdateLog")[-1].message
            assert sealing.no_more
            assert [row.content for row in sealing.rows] == [""]
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n27_final_state_is_sent_although_the_final_rows_failed(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:

            def refuse_the_end(call: Call) -> Any:
                return error(500, "internal", "disk full") if call.message.no_more else server.default(call)

            server.always("UpdateLog", refuse_the_end)
            await run_once(server, tmp_path, shell_task(1, "true"), report_close_timeout="150ms")
            tries = [call for call in server.of("UpdateLog") if call.message.no_more]
            assert 2 <= len(tries) <= 10
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n28_nothing_follows_the_final_state_of_an_ephemeral_runner(tmp_path: Path) -> None:
    async def scenario() -> None:
        gone = error(401, "unauthenticated", "unregistered runner")
        async with RawServer() as server:

            def finish(call: Call) -> Any:
                answer = server.default(call)
                if call.message.state.result:
                    for method in ("FetchTask", "UpdateTask", "UpdateLog"):
                        server.always(method, gone)
                return answer

            server.always("UpdateTask", finish)
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, ephemeral=True, capacity=3) as runner:
                assert await runner.ended() is Exit.OK
            assert server.calls[-1].method == "UpdateTask"
            assert server.calls[-1].message.state.result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


def test_n28_lost_answer_to_the_final_state_ends_well(tmp_path: Path) -> None:
    async def scenario() -> None:
        gone = error(500, "unknown", "rpc error: code = Unauthenticated desc = unregistered runner")
        async with RawServer() as server:

            def lose(call: Call) -> Any:
                if not call.message.state.result:
                    return server.default(call)
                server.always("UpdateTask", gone)
                return Reply(drop=True)

            server.always("UpdateTask", lose)
            server.tasks.append(shell_task(1, "true"))
            async with running(server, tmp_path, ephemeral=True) as runner:
                assert await runner.ended() is Exit.OK
            finals = [call for call in server.of("UpdateTask") if call.message.state.result]
            assert len(finals) == 2

    asyncio.run(scenario())


def test_n29_result_stays_zero_until_the_final_call(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            hold = asyncio.Event()

            def slow_end(call: Call) -> Any:
                answer = Reply(body=server.default(call).SerializeToString())
                if call.message.no_more:
                    answer.hold = hold
                    asyncio.get_running_loop().call_later(0.3, hold.set)
                return answer

            server.always("UpdateLog", slow_end)
            await run_once(server, tmp_path, shell_task(1, "echo a", "exit 3"))
            results = [call.message.state.result for call in server.of("UpdateTask")]
            assert results[-1] == pb.RESULT_FAILURE
            assert set(results[:-1]) == {0}
            sealing = next(c for c in server.of("UpdateLog") if c.message.no_more)
            assert server.calls.index(sealing) == len(server.calls) - 2

    asyncio.run(scenario())


@pytest.mark.parametrize("result", [pb.RESULT_CANCELLED, pb.RESULT_FAILURE])
def test_n30_final_result_in_an_answer_stops_the_job_and_both_final_calls_follow(
    tmp_path: Path, result: "pb.Result.ValueType"
) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo start\nsleep 60"))
            async with running(server, tmp_path, once=True) as runner:
                await server.until(lambda: any(s.log_length >= 1 for s in steps(server, 0)))
                state = pb.TaskState(id=1, result=result)
                server.always("UpdateTask", pb.UpdateTaskResponse(state=state))
                assert await runner.ended() is Exit.OK
            last_log, last_state = [c for c in server.calls if c.method.startswith("Update")][-2:]
            assert last_log.message.no_more
            assert last_state.message.state.result == result
            assert last_state.message.state.steps[0].result in (pb.RESULT_CANCELLED, pb.RESULT_FAILURE)
            words = "Cancelled" if result == pb.RESULT_CANCELLED else "Ended by the server"
            assert words in server.rows[1]

    asyncio.run(scenario())


OUTPUTS = """\
name: w
on: push
jobs:
  build:
    runs-on: linux
    outputs: {short: "${{ steps.s.outputs.short }}", other: x, big: "${{ steps.s.outputs.big }}", %s: y}
    steps:
      - id: s
        run: |
          echo short=value >> $GITHUB_OUTPUT
          echo "big=$(head -c 1100000 /dev/zero | tr '\\0' x)" >> $GITHUB_OUTPUT
"""


def test_n31_outputs_are_sent_until_confirmed_and_limits_are_checked(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:

            def forgetful(call: Call) -> Any:
                answer = server.default(call)
                assert isinstance(answer, pb.UpdateTaskResponse)
                if len([c for c in server.of("UpdateTask") if c.message.outputs]) == 1:
                    del answer.sent_outputs[:]
                    answer.sent_outputs.append("other")
                return answer

            server.always("UpdateTask", forgetful)
            await run_once(server, tmp_path, raw_task(1, OUTPUTS % ("k" * 300)))
            sent = [dict(call.message.outputs) for call in server.of("UpdateTask") if call.message.outputs]
            assert sent == [{"short": "value", "other": "x"}, {"short": "value"}]

    asyncio.run(scenario())


def test_n32_steps_carry_index_absolute_log_index_and_their_own_length(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            extra = "    env: {A: b}\n"
            await run_once(server, tmp_path, shell_task(1, "echo one", "exit 1", "echo never", extra=extra))
            final = server.final(1)
            assert [step.id for step in final.steps] == [0, 1, 2]
            assert [step.result for step in final.steps] == [
                pb.RESULT_SUCCESS, pb.RESULT_FAILURE, pb.RESULT_SKIPPED,
            ]  # fmt: skip
            rows = server.rows[1]
            one, two = final.steps[0], final.steps[1]
            own = rows[one.log_index : one.log_index + one.log_length]
            assert own[0].startswith("::group::Run echo one")
            assert own[-1] == "one"
            assert one.log_index > 0, "set-up rows belong to no step"
            assert two.log_index == one.log_index + one.log_length
            assert final.steps[2].log_index >= two.log_index + two.log_length
            assert final.steps[2].log_length == 0
            assert two.log_index + two.log_length < len(rows), "closing rows belong to no step"
            for call in server.of("UpdateTask"):
                assert len(call.message.state.steps) in (0, 3)

    asyncio.run(scenario())


def test_n32_unfinished_steps_are_cancelled_at_the_end(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo start\nsleep 60", "echo never"))
            async with running(server, tmp_path, once=True) as runner:
                await server.until(lambda: any(s.log_length >= 1 for s in steps(server, 0)))
                state = pb.TaskState(id=1, result=pb.RESULT_CANCELLED)
                server.always("UpdateTask", pb.UpdateTaskResponse(state=state))
                await runner.ended()
            assert all(step.result for step in server.final(1).steps)
            assert server.final(1).steps[1].result in (pb.RESULT_CANCELLED, pb.RESULT_SKIPPED)

    asyncio.run(scenario())


def test_n33_secrets_tokens_and_masks_never_leave(tmp_path: Path) -> None:
    async def scenario() -> None:
        script = (
            'echo "a ${{ secrets.KEY }} b"\n'
            'echo "${{ github.token }}"\n'
            'echo "${{ secrets.MULTI }}"\n'
            'echo "$ACTIONS_RUNTIME_TOKEN"\n'
            'V="made-up"\n'
            'echo "::add-mask::$V-value"\n'
            'echo "before $V-value after"\n'
        )
        async with RawServer() as server:
            secrets = {"KEY": "s3cret-value", "MULTI": "first line\nsecond line"}
            await run_once(server, tmp_path, shell_task(1, script, secrets=secrets))
            rows = server.rows[1]
            text = "\n".join(rows)
            for hidden in ("s3cret-value", TOKEN, RUNTIME_TOKEN, "first line", "second line", "made-up-value"):
                assert hidden not in text
            assert "a *** b" in rows
            assert "before *** after" in rows
            assert not any(row.startswith("::add-mask::") for row in rows)

    asyncio.run(scenario())


def test_n34_invalid_utf8_is_made_valid(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            await run_once(server, tmp_path, shell_task(1, r"printf 'bad \xff\xfe end\n'"))
            assert any(row.startswith("bad ") and row.endswith(" end") for row in server.rows[1])
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


SEALED = [
    pytest.param(error(409, "already_exists", "log file has been archived"), id="coded"),
    pytest.param(error(500, "unknown", "rpc error: code = AlreadyExists desc = log file has been archived"), id="text"),
]


@pytest.mark.parametrize("answer", SEALED)
def test_n35_sealed_log_gives_up_rows_but_sends_the_state(tmp_path: Path, answer: Reply) -> None:
    async def scenario() -> None:
        async with RawServer() as server:

            def seal(call: Call) -> Any:
                return answer if call.message.no_more else server.default(call)

            server.always("UpdateLog", seal)
            await run_once(server, tmp_path, shell_task(1, "true"))
            assert [call.message.no_more for call in server.of("UpdateLog")].count(True) == 1
            assert server.final(1).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


GONE = [
    pytest.param("gitea", error(500, "unknown", "rpc error: code = Internal desc = {} invalid runner for task")),
    pytest.param("forgejo", error(500, "internal", "invalid runner for task")),
    pytest.param("gitea", error(500, "unknown", "rpc error: code = Internal desc = {} resource does not exist")),
]


@pytest.mark.parametrize("method", ["UpdateTask", "UpdateLog"])
@pytest.mark.parametrize(("family", "answer"), GONE)
def test_n36_invalid_runner_for_task_is_final_for_this_task(
    tmp_path: Path, family: str, answer: Reply, method: str
) -> None:
    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo start\nsleep 60"))
            async with running(server, tmp_path, once=True, family=family) as runner:
                await server.until(lambda: any(s.log_length >= 1 for s in steps(server, 0)))
                calls = len(server.of(method))
                server.always(method, answer)
                if method == "UpdateLog":
                    # The next row is what makes the runner call UpdateLog at all: that of the cancelled step.
                    state = pb.TaskState(id=1, result=pb.RESULT_CANCELLED)
                    server.always("UpdateTask", pb.UpdateTaskResponse(state=state))
                assert await runner.ended() is Exit.OK
            assert len(server.of(method)) == calls + 1
            assert server.final(1) is None

    asyncio.run(scenario())


def test_n36_other_tasks_go_on(tmp_path: Path) -> None:
    async def scenario() -> None:
        gate = tmp_path / "gate"
        gone = error(500, "internal", "update task: invalid runner for task")
        async with RawServer() as server:

            def only_the_second(call: Call) -> Any:
                return gone if call.message.state.id == 1 else server.default(call)

            server.always("UpdateTask", only_the_second)
            server.tasks.extend([shell_task(1, "sleep 60"), shell_task(2, waiting(gate))])
            async with running(server, tmp_path, capacity=2) as runner:
                await server.until(lambda: len([c for c in server.of("UpdateTask") if c.message.state.id == 2]) > 3)
                gate.touch()
                await server.until(lambda: server.final(2))
                await stop(runner)
            assert server.final(2).result == pb.RESULT_SUCCESS

    asyncio.run(scenario())


async def stop(runner: Runner) -> None:
    runner.requests.ask()
    assert await runner.ended() is Exit.OK
