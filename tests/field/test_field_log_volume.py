"""F76 to F86: step ranges, bodies that are too large on the way, and what people see of a log while it grows."""

import asyncio
from pathlib import Path
from typing import Any

import httpx

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.testing import MockGitea, PlayedRunner, Run
from rawserver import Call, RawServer, page
from runnerapp import running, shell_task

HTTP_S = 30.0
"""Also for a machine that does other things meanwhile."""
ONE = "on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
DROPPING = """
on: push
jobs:
  a:
    runs-on: linux
    steps:
      - run: |
          echo before
          echo "::add-mask::hush-hush"
          echo "::debug::not shown"
          echo after
      - run: echo second
"""


def page_lines(server: MockGitea, run: Run, step: int, cursor: int | None = None) -> tuple[list[str], int]:
    """The lines that a browser gets for a step from a cursor on, and its next cursor; step 0 is the set-up."""
    url = f"{server.url}/demo/demo/actions/runs/{run.id}/jobs/{run.job('a')['id']}"
    asked = {"logCursors": [{"step": step, "cursor": cursor, "expanded": True}]}
    (shown,) = httpx.post(url, json=asked, timeout=HTTP_S).raise_for_status().json()["logs"]["stepsLog"]
    return [line["message"] for line in shown["lines"]], shown["cursor"]


def page_state(server: MockGitea, run: Run) -> Any:
    url = f"{server.url}/demo/demo/actions/runs/{run.id}/jobs/{run.job('a')['id']}"
    return httpx.post(url, json={"logCursors": []}, timeout=HTTP_S).raise_for_status().json()["state"]


def test_f076_step_ranges_rows_that_are_dropped_do_not_shift_them(tmp_path: Path) -> None:
    """Rows that never left the runner were counted, so steps showed lines of their neighbours.

    A step's range holds exactly its own rows, and a range beyond what is stored shows what there is.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(DROPPING)
            async with running(server, tmp_path, known=server.new_runner()):
                assert await run.wait_async() == "success"
            rows, steps = run.log("a"), run.job("a")["task"]["steps"]
            first, second = (rows[s["log_index"] : s["log_index"] + s["log_length"]] for s in steps)
            assert first[0].startswith("::group::Run echo before")
            assert first[-2:] == ["before", "after"]
            assert second[0].startswith("::group::Run echo second")
            assert second[-1] == "second"
            assert page_lines(server, run, 2)[0] == second

    asyncio.run(scenario())
    with MockGitea() as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        task = played.fetch()
        assert task is not None
        played.log(task["id"], "one", "two")
        played.report(task["id"], steps=[{"id": 0, "started_at": "2026-01-01T00:00:00Z", "log_length": 50}])
        assert page_lines(server, run, 1) == (["one", "two"], 2)


def limited(server: RawServer, bytes_max: int, refused: list[bytes]) -> None:
    """Refuse larger UpdateLog bodies as a proxy does, and keep what was refused."""

    def answer(call: Call) -> Any:
        if call.message.ByteSize() <= bytes_max:
            return server.default(call)
        refused.append(call.message.SerializeToString())
        return page(413)

    server.always("UpdateLog", answer)


def test_f079_body_limit_on_the_way_ends_in_smaller_calls_and_the_whole_log(tmp_path: Path) -> None:
    """A log was refused for its size and sent again unchanged, for ever.

    After a 413 the next call is smaller, so that every row arrives, once and in order.
    """

    async def scenario() -> None:
        refused: list[bytes] = []
        async with RawServer() as server:
            limited(server, 4096, refused)
            server.tasks.append(shell_task(1, "for n in $(seq 500); do echo row $n of a long log; done"))
            async with running(server, tmp_path, once=True) as runner:
                await runner.ended()
            assert server.final(1).result == pb.RESULT_SUCCESS
            assert refused
            assert len(set(refused)) == len(refused)
            sizes = [len(body) for body in refused]
            assert sizes == sorted(sizes, reverse=True)
            printed = [row for row in server.rows[1] if row.startswith("row ") and row.endswith("long log")]
            assert printed == [f"row {number} of a long log" for number in range(1, 501)]
            assert 1 in server.sealed

    asyncio.run(scenario())


def test_f080_stock_limit_of_a_proxy_one_huge_row_does_not_block_the_log(tmp_path: Path) -> None:
    """A proxy with its stock limit of one megabyte refused logs outright.

    Even a single row above the limit gets through, cut, and what follows it is complete.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            limited(server, 1_000_000, [])
            server.tasks.append(shell_task(1, "head -c 1048000 /dev/zero | tr '\\0' x\necho\necho tail"))
            async with running(server, tmp_path, once=True) as runner:
                await runner.ended()
            assert server.final(1).result == pb.RESULT_SUCCESS
            huge = next(row for row in server.rows[1] if row.startswith("xxx"))
            assert 65_536 < len(huge) < 1_000_000
            assert server.rows[1][server.rows[1].index(huge) + 1] == "tail"

    asyncio.run(scenario())


def follow(server: MockGitea, run: Run, shown: list[str], cursor: int | None) -> int:
    lines, cursor = page_lines(server, run, 1, cursor)
    shown += lines
    return cursor


def started(played: PlayedRunner) -> int:
    task = played.fetch()
    assert task is not None
    return int(task["id"])


def test_f081_page_opened_in_mid_step_shows_every_row_once() -> None:
    """Whoever opened a running step saw only the rows that came later.

    A viewer gets the rows from the first one on and then follows, without a gap or a repeat, to the end.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        task = started(played)
        rows = [f"row {number}" for number in range(60)]
        shown: list[str] = []
        cursor = None
        for batch in range(0, 60, 10):
            played.log(task, *rows[batch : batch + 10])
            step = {"id": 0, "started_at": "2026-01-01T00:00:00Z", "log_length": batch + 10}
            played.report(task, steps=[step])
            if batch >= 30:
                cursor = follow(server, run, shown, cursor)
        step["result"] = "RESULT_SUCCESS"
        played.log(task, no_more=True)
        played.report(task, "success", steps=[step])
        follow(server, run, shown, cursor)
        assert shown == rows


def test_f083_acknowledged_rows_are_seen_at_once_wherever_one_looks() -> None:
    """Uploads were answered well and the page showed nothing.

    Whatever has been acknowledged is on the page and in the download in the same moment, before and after the end.
    """
    with MockGitea() as server, server.new_runner().play() as played:
        run = server.enqueue(ONE)
        task = started(played)
        for number in range(1, 9):
            assert played.log(task, f"row {number}") == number
            stored = run.log("a")
            assert stored == [f"row {each}" for each in range(1, number + 1)]
            assert run.job("a")["task"]["log_rows"] == len(stored)
            assert page_lines(server, run, 0)[0] == stored  # no step has begun yet
        played.finish(task)
        assert run.log("a") == stored


def test_f086_stop_time_that_is_missing_or_too_early_shows_no_absurd_duration() -> None:
    """A stop time of zero, or one before the start, made durations of minus some centuries.

    Nothing that people look at is negative or longer than the job can have taken.
    """
    zero, late = "0001-01-01T00:00:00Z", "2026-06-01T12:00:00Z"
    for times in ({"started_at": late}, {"started_at": late, "stopped_at": zero}, {"stopped_at": late}):
        with MockGitea() as server, server.new_runner().play() as played:
            run = server.enqueue(ONE)
            task = started(played)
            played.log(task, "row", no_more=True)
            state = {"id": task, "result": "RESULT_FAILURE", **times}
            step = {"id": 0, "result": "RESULT_FAILURE", **times}
            played.call("UpdateTask", {"state": {**state, "steps": [step]}})
            assert run.wait(within=5) == "failure"
            shown = page_state(server, run)
            durations = [each["duration"] for each in (*shown["run"]["jobs"], *shown["currentJob"]["steps"])]
            assert not [text for text in durations if "-" in text or "h" in text], (times, durations)
