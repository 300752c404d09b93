"""F63 to F75: rows that were refused, half acknowledged, cut off, out of order, or sent when nobody wanted them."""

import asyncio
from pathlib import Path

import pytest

from actionsrunner.exits import Exit
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventlog import logged
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.testing import MockGitea, PlayedRunner, Run
from rawhttp import Connection
from rawserver import Call, RawServer, error
from runnerapp import running, shell_task
from virtualfleet import FleetPlan, VirtualFleet, play

ROWS = 60
COUNTING = f"""
on: push
jobs:
  a:
    runs-on: linux
    steps: [{{run: 'for n in $(seq {ROWS}); do echo "row $n"; sleep 0.01; done'}}]
"""
ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"


def printed(run: Run) -> list[str]:
    return [row for row in run.log("a") if row.startswith("row ")]


def counted(last: int) -> list[str]:
    return [f"row {number}" for number in range(1, last + 1)]


def taken(played: PlayedRunner) -> int:
    task = played.fetch()
    assert task is not None
    return int(task["id"])


def test_f063_end_mark_without_rows_closes_the_log_and_one_ahead_of_the_rows_does_not() -> None:
    """The server looked at the end mark only when rows came with it, and such logs were never archived.

    An empty last call seals. One whose position is beyond what is stored does not: the missing rows are asked for.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        task = taken(played)
        assert played.log(task, "one", "two") == 2
        assert played.log(task, index=5, no_more=True) == 2
        assert played.log(task, "six", index=5, no_more=True) == 2
        assert not run.job("a")["task"]["is_log_sealed"]
        assert played.log(task, "three", "four", "five") == 5
        assert played.log(task, no_more=True) == 5
        played.report(task, "success")
        assert run.job("a")["task"]["is_log_sealed"]
        assert run.log("a") == ["one", "two", "three", "four", "five"]


@pytest.mark.parametrize("profile", ["gitea-1.20", "gitea-1.27", "forgejo-15"])
def test_f064_log_is_closed_on_every_server_even_if_all_its_rows_have_arrived_before(
    profile: str, tmp_path: Path
) -> None:
    """To send nothing when there is nothing to send also spared the end mark, and logs stayed open.

    When the job ends all rows have been acknowledged; the end is told in a way that old servers understand, too.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea(profile=profile) as server:
            run = server.enqueue(ONE.replace("echo hello", f"'until [ -e {gate} ]; do sleep 0.02; done'"))
            family = profile.partition("-")[0] if profile != "gitea-1.20" else "forgejo"
            async with running(server, tmp_path, known=server.new_runner(), family=family):
                await server.journal.wait_for_async("UpdateLog", outcome="ok")
                await server.journal.wait_for_async("UpdateTask", n=3)
                gate.touch()
                assert await run.wait_async() == "success"
            assert run.job("a")["task"]["is_log_sealed"]
            server.journal.assert_requests(method="UpdateLog", request={"no_more": True}, count=1)

    asyncio.run(scenario())


@pytest.mark.parametrize("lost", [-1, -1000])
def test_f065_rows_that_were_not_acknowledged_come_again_until_they_are(lost: int, tmp_path: Path) -> None:
    """A server acknowledged fewer rows than it had been sent, or none, and the rest was gone.

    Every second answer tells too little: all rows are sent from there again, and each is stored once, in order.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(COUNTING)
            server.faults.add("wrong-ack", method="UpdateLog", rows=lost, every=2)
            async with running(server, tmp_path, known=server.new_runner(), log_report_batch_size=10):
                assert await run.wait_async() == "success"
            assert printed(run) == counted(ROWS)
            assert run.log("a")[-1] == "Job succeeded"
            assert run.job("a")["task"]["is_log_sealed"]

    asyncio.run(scenario())


def test_f066_text_without_a_line_feed_at_its_end_is_kept_at_every_end(tmp_path: Path) -> None:
    """A last line without its line feed was dropped at the end of a step, and whole tails at a cancel.

    The tails of a step that ends, of one that fails and of one that is cancelled are all in the log, byte for byte.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(
                shell_task(1, "printf 'first\\ntail of success'", "printf 'tail of failure' >&2; exit 3")
            )
            server.tasks.append(
                shell_task(2, "trap 'printf \"tail of trap\"; exit' INT TERM; echo on; sleep 600 & wait")
            )

            def update(call: Call) -> pb.UpdateTaskResponse:
                cancels = "on" in server.rows.get(2, []) and call.message.state.id == 2
                result = pb.RESULT_CANCELLED if cancels else call.message.state.result
                server.default(call)
                return pb.UpdateTaskResponse(state=pb.TaskState(id=call.message.state.id, result=result))

            server.always("UpdateTask", update)
            async with running(server, tmp_path):
                await server.until(lambda: server.final(2))
            assert {"first", "tail of success", "tail of failure"} <= set(server.rows[1])
            assert "tail of trap" in server.rows[2]

    asyncio.run(scenario())


def test_f067_flood_against_a_slow_server_loses_no_row_in_the_middle(tmp_path: Path) -> None:
    """What came too fast was dropped in between, at random places in the middle of the log.

    Thirty thousand rows at once to a server that takes its time: every one arrives, in order, and few calls at a time.
    """
    flood = 30_000

    async def scenario() -> None:
        async with RawServer() as server:

            async def slowly(call: Call) -> object:
                await asyncio.sleep(0.05)  # latency of a played server
                return server.default(call)

            server.always("UpdateLog", slowly)  # type: ignore[arg-type]  # an awaitable answer
            server.tasks.append(shell_task(1, f"seq {flood}"))
            async with running(server, tmp_path, once=True, report_close_timeout="10s") as runner:
                assert await runner.ended() is Exit.OK
            rows = [row for row in server.rows[1] if row.isdecimal()]
            assert rows == [str(number) for number in range(1, flood + 1)]
            assert len(server.of("UpdateLog")) <= 30

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("ending", "named"),
    [("exit 3", "`FAILURE`: 3"), ("kill -9 $$", "`FAILURE`: 137"), ("exec /nonexistent/tool", "`FAILURE`: 127")],
)
def test_f068_rows_that_explain_a_failure_arrive_with_it(ending: str, named: str, tmp_path: Path) -> None:
    """The log was only flushed after a success, so failing commands lost the very lines that said why.

    However the command fails, what it wrote last is stored before the failure is told, and so is how it ended.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, f"echo begun; printf 'this is why' >&2; {ending}"))
            async with running(server, tmp_path, once=True) as runner:
                await runner.ended()
            assert server.final(1).result == pb.RESULT_FAILURE
            rows = server.rows[1]
            assert any(row.startswith("this is why") for row in rows)
            assert any(named in row for row in rows[rows.index("begun") :]), rows
            order = [call.method for call in server.calls if call.method.startswith("Update")]
            assert order[-2:] == ["UpdateLog", "UpdateTask"]

    asyncio.run(scenario())


def test_f069_rows_of_many_tasks_are_shown_in_the_order_of_their_index() -> None:
    """Rows were shown in the order of their database ids, so that logs of busy servers were interleaved.

    Pieces of several tasks that arrive in turns, repeated and overlapping, are each read back in their own order.
    """
    with MockGitea() as server:
        players = [server.new_runner(f"r{number}").play() for number in range(4)]
        runs = [server.enqueue(ONE, workflow_file=f"w{number}.yml") for number in range(4)]
        tasks = [taken(played) for played in players]
        sent: dict[int, list[str]] = {task: [] for task in tasks}
        for turn in range(15):
            for number, (played, task) in enumerate(zip(players, tasks, strict=True)):
                rows = sent[task]
                rows.extend(f"{task}-{len(rows) + more}" for more in range(1 + (turn + number) % 3))
                begin = max(0, len(rows) - 4) if turn % 4 else len(rows)
                begin = min(begin, played.log(task, index=0))
                played.log(task, *rows[begin:], index=begin)
        for played, task in zip(players, tasks, strict=True):
            played.finish(task)
            played.close()
        logs = {run.job("a")["task"]["id"]: run.log("a") for run in runs}
        assert logs == sent


@pytest.mark.parametrize(
    ("kind", "rule"),
    [
        ("reset", {"stage": "before"}),
        ("lose-answer", {}),
        ("partial-body", {}),
        ("truncate", {"kept_bytes": 1}),
    ],
)
def test_f070_broken_stream_is_taken_up_at_the_last_acknowledged_row(
    kind: str, rule: dict[str, object], tmp_path: Path
) -> None:
    """A stream of rows that broke was not opened again, and only the first lines of each step arrived.

    Whichever way every second call breaks, stored or not, the log is whole in the end and no row is in it twice.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(COUNTING)
            server.faults.add(kind, method="UpdateLog", every=2, **rule)
            async with running(
                server, tmp_path, known=server.new_runner(), log_report_batch_size=10, report_close_timeout="5s"
            ):
                assert await run.wait_async() == "success"
            assert printed(run) == counted(ROWS)
            assert run.job("a")["task"]["is_log_sealed"]
            assert [(one.rule, one.runner) for one in server.audit().findings] == []

    asyncio.run(scenario())


def test_f071_rows_that_will_never_be_taken_are_offered_once(tmp_path: Path) -> None:
    """A server refused the rows of a finished job, and each of the thousands that followed was tried in turn.

    The first refusal that is for good ends the uploads of that task, and its job; the state is still told, once.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            sealed = error(409, "already_exists", "log file has been archived")
            server.script("UpdateLog", server.default)
            server.always("UpdateLog", sealed)
            server.tasks.append(shell_task(1, "for n in $(seq 100000); do echo row $n; done"))
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert len(server.of("UpdateLog")) <= 2
            assert len([c for c in server.of("UpdateTask") if c.message.state.result]) == 1

    asyncio.run(scenario())


def test_f072_outage_of_many_minutes_costs_no_row() -> None:
    """Rows were given up after fifty seconds, so every longer outage cost a piece of the log.

    Twelve minutes without a server in the middle of a job that goes on printing: the whole log, and little traffic.
    """

    async def scene(fleet: VirtualFleet) -> tuple[list[str], list[str], int]:
        run = await fleet.enqueue("on: push\njobs:\n  a: {runs-on: linux, steps: [{run: rows 3000 over 1500}]}\n")
        await fleet.pass_time(60)
        fleet.faults.add_downtime(Downtime(name="away", kind=DownKind.REFUSED, duration_s=720))
        await fleet.pass_time(720)
        during = sum(60e6 <= one.began_us < 780e6 for one in fleet.wire)
        await fleet.pass_time(900)
        (execution,) = fleet.jobs.executions
        return await fleet.rows(run), execution.printed, during

    rows, said, during = play(scene, FleetPlan(runners=1, settings={"zombie_timeout_s": 1800}))
    assert len(said) == 3000
    assert [row for row in rows if row.startswith("a row ")] == said
    assert during <= 720 / 5 * 2 + 10


def test_f073_result_that_cannot_be_delivered_does_not_hold_its_slot(tmp_path: Path) -> None:
    """The last report failed for ever, was repeated for ever, and its slot was never free again.

    It is tried for a bounded time; then the log of the runner says what was given up, and the next task is taken.
    """

    async def scenario() -> None:
        async with RawServer() as server:

            def update(call: Call) -> object:
                state = call.message.state
                is_final = state.id == 1 and state.result
                return error(503, "unavailable", "no") if is_final else server.default(call)

            server.always("UpdateTask", update)  # type: ignore[arg-type]  # either kind of answer
            server.tasks.extend((shell_task(1, "echo one"), shell_task(2, "echo two")))
            with logged() as logs:
                async with running(server, tmp_path, report_close_timeout="300ms"):
                    await server.until(lambda: server.final(2))
            tries = [c for c in server.of("UpdateTask") if c.message.state.id == 1 and c.message.state.result]
            assert 2 <= len(tries) <= 10
            assert tries[-1].at - tries[0].at <= 0.9 + 0.3
            (given_up,) = [one for one in logs if one["event"] == "state_given_up"]
            assert (given_up["log_level"], given_up["task_id"]) == ("error", 1)

    asyncio.run(scenario())


def test_f074_bad_gateway_at_an_upload_is_followed_by_the_same_rows_again(tmp_path: Path) -> None:
    """A worker that was ended in mid-call meant a 502, and from then on the log stood still although the job went on.

    The next upload begins at the same row, and the log goes on from there while the job still runs.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(COUNTING)
            server.faults.add("refuse", name="gateway", method="UpdateLog", status=502, body="html", skip=1, times=2)
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            first, *refused, following = server.journal.calls(method="UpdateLog")[:4]
            assert [(call.outcome, call.fault) for call in refused] == [("refused", "gateway")] * 2
            assert int(following.request["index"]) == int(first.response["ack_index"]) > 0
            assert server.journal.calls(method="UpdateLog")[-1].request["index"] > following.request["index"]
            assert printed(run) == counted(ROWS)

    asyncio.run(scenario())


def test_f075_bytes_that_are_no_text_break_neither_the_log_nor_the_connection(tmp_path: Path) -> None:
    """Raw bytes in a tool's output could not be encoded, and the log ended there.

    The runner makes valid text of them. A server that gets invalid text refuses that call in words; the next works.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(ONE.replace("echo hello", r"""'printf "bad \377\376 bytes \360\237\n"; echo after'"""))
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            rows = run.log("a")
            assert "bad ? bytes ?" in rows
            assert "after" in rows

    asyncio.run(scenario())
    with MockGitea() as server:
        runner = server.new_runner()
        good = pb.UpdateLogRequest(task_id=1, rows=[pb.LogRow(content="XXXX")]).SerializeToString()
        headers = [("Content-Type", "application/proto"), *runner.headers.items()]
        path = "/api/actions/runner.v1.RunnerService/UpdateLog"
        with Connection("127.0.0.1", int(server.url.rpartition(":")[2])) as raw:
            bad = raw.request("POST", path, headers, good.replace(b"XXXX", b"\xff\xfe\xff\xfe"))
            after = raw.request("POST", path, headers, good)
        assert (bad.status, bad.json()["code"]) == (400, "invalid_argument")
        assert "does not exist" in after.json()["message"]
