"""The engine with real processes: what cancel, time limits, floods and stubborn children do to a job."""

import asyncio
import os
import re
import signal
import time
from pathlib import Path

import pytest

from actionsrunner.engine import run_job
from actionswire.result import Result
from enginejob import RecordingSink, Switch, left_over, options, run, task, until, workflow

pytestmark = pytest.mark.slow


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def pid_in(rows: list[str], name: str) -> int:
    found = re.search(rf"^{name}=(\d+)$", "\n".join(rows), re.MULTILINE)
    assert found is not None, f"no row {name}=<pid> in {rows}"
    return int(found[1])


async def cancel_at(part: str, sink: RecordingSink, switch: Switch) -> None:
    await sink.wait_for_row(part)
    switch.cancel()


def cancel_when(part: str):  # type: ignore[no-untyped-def] # the type is that of `script` in enginejob.run
    return lambda sink, switch: cancel_at(part, sink, switch)


def test_cancel_kills_the_tree_with_a_grandchild_in_its_own_session(tmp_path: Path) -> None:
    steps = """
    - run: |
        setsid sh -c 'echo away=$$; exec sleep 600' &
        sh -c 'echo child=$$; exec sleep 600' &
        sleep 0.3
        echo ready to be cancelled
        sleep 600
    - run: echo never
    - run: echo cleaned up
      if: always()
    - run: echo only when cancelled
      if: cancelled()
    - run: echo only on failure
      if: failure()
    """
    job = run(tmp_path, workflow(steps), script=cancel_when("ready to be cancelled"))
    assert job.result is Result.CANCELLED
    assert job.steps == [Result.CANCELLED, Result.CANCELLED, Result.SUCCESS, Result.SUCCESS, Result.CANCELLED]
    assert "cleaned up" in job.rows
    assert "only when cancelled" in job.rows
    assert "never" not in job.rows
    assert "##[error]stopped: Cancelled" in job.rows
    assert not alive(pid_in(job.rows, "away"))
    assert not alive(pid_in(job.rows, "child"))
    assert left_over(tmp_path) == []


def test_cancel_finds_an_orphan_that_left_the_session_earlier(tmp_path: Path) -> None:
    steps = """
    - run: |
        (setsid sh -c 'echo orphan=$$; exec sleep 600' &)
        sleep 0.3
        echo first step is over
    - run: echo second && sleep 600
    """
    job = run(tmp_path, workflow(steps), script=cancel_when("second"))
    assert job.result is Result.CANCELLED
    assert not alive(pid_in(job.rows, "orphan"))


def test_cancel_of_a_step_that_ignores_signals_ends_with_a_kill(tmp_path: Path) -> None:
    steps = """
    - shell: python
      run: |
        import signal
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda number, frame: print(f"got {number}", flush=True))
        print("stubborn", flush=True)
        while True:
            signal.pause()
    """
    started = time.monotonic()
    job = run(
        tmp_path,
        workflow(steps),
        script=cancel_when("stubborn"),
        interrupt_grace_s=0.3,
        terminate_grace_s=0.3,
    )
    assert job.result is Result.CANCELLED
    assert [row for row in job.rows if row.startswith("got ")] == ["got 2", "got 15"]
    assert time.monotonic() - started < 30


def test_cancel_lets_a_step_clean_up_after_the_interrupt(tmp_path: Path) -> None:
    steps = """
    - shell: python
      run: |
        import signal
        try:
            print("working", flush=True)
            signal.pause()
        except KeyboardInterrupt:
            print("tidied")
    """
    job = run(tmp_path, workflow(steps), script=cancel_when("working"))
    assert job.steps == [Result.CANCELLED]
    assert "tidied" in job.rows


def test_second_cancel_kills_at_once(tmp_path: Path) -> None:
    async def twice(sink: RecordingSink, switch: Switch) -> None:
        await sink.wait_for_row("trapping")
        switch.cancel()
        await sink.wait_for_row("heard the first")
        switch.force()

    steps = """
    - run: |
        trap 'echo heard the first' INT
        echo trapping
        while true; do sleep 0.1 || :; done
    - run: echo too late
      if: always()
    """
    started = time.monotonic()
    job = run(tmp_path, workflow(steps), script=twice, interrupt_grace_s=60.0)
    assert job.result is Result.CANCELLED
    assert job.steps == [Result.CANCELLED, Result.CANCELLED]
    assert "too late" not in job.rows
    assert time.monotonic() - started < 40


def test_cancel_before_the_start_runs_only_what_asks_for_it(tmp_path: Path) -> None:
    async def go() -> None:
        sink = RecordingSink()
        outcome = await run_job(
            task(workflow("- run: echo no\n- run: echo yes\n  if: always()")),
            options(tmp_path),
            sink,
            Switch("shutdown"),
        )
        assert outcome.result is Result.CANCELLED
        assert outcome.last_words == "shutdown"
        assert sink.results == {0: Result.CANCELLED, 1: Result.SUCCESS}
        assert "yes" in sink.rows

    asyncio.run(go())


def test_steps_after_a_cancel_have_a_bounded_budget(tmp_path: Path) -> None:
    steps = """
    - run: echo working && sleep 600
    - run: echo cleaning && sleep 600
      if: always()
    - run: echo beyond the budget
      if: always()
    """
    job = run(tmp_path, workflow(steps), script=cancel_when("working"), post_task_grace_s=3.0)
    assert job.result is Result.CANCELLED
    assert job.steps == [Result.CANCELLED] * 3
    assert "cleaning" in job.rows
    assert any("3 s for steps after an interruption are over" in row for row in job.rows)


def test_step_timeout_fails_the_step_and_the_job_goes_on(tmp_path: Path) -> None:
    steps = """
    - run: (sleep 600; echo never) & sleep 600
      timeout-minutes: 0.005
    - run: echo skipped
    - run: echo after ${{ job.status }}
      if: failure()
    """
    job = run(tmp_path, workflow(steps))
    assert job.result is Result.FAILURE
    assert job.steps == [Result.FAILURE, Result.SKIPPED, Result.SUCCESS]
    assert any("0.005 minutes (timeout-minutes)" in row for row in job.output_of(0))
    assert "after failure" in job.rows


def test_job_timeout_is_a_failure_that_names_the_limit(tmp_path: Path) -> None:
    steps = """
    - run: sleep 600
    - run: echo still ran ${{ job.status }}
      if: always()
    """
    job = run(tmp_path, workflow(steps, job="timeout-minutes: ${{ 0.01 }}"))
    assert job.result is Result.FAILURE
    assert job.steps == [Result.CANCELLED, Result.SUCCESS]
    assert "still ran cancelled" in job.rows
    assert any("0.01 minutes (timeout-minutes)" in row for row in job.rows[-3:])


def test_runner_timeout_is_a_failure_that_names_the_limit(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: sleep 600"), job_timeout_s=0.4)
    assert job.result is Result.FAILURE
    assert any("runner's limit of 0.4 s" in row for row in job.rows[-3:])


def test_flood_of_output_is_complete_and_leaves_the_loop_free(tmp_path: Path) -> None:
    ticks: list[float] = []

    async def tick(sink: RecordingSink, switch: Switch) -> None:
        while True:
            await asyncio.sleep(0.01)  # poll interval
            ticks.append(time.monotonic())

    job = run(tmp_path, workflow("- run: seq 1 200000"), script=tick)
    assert job.result is Result.SUCCESS
    assert job.output_of(0) == [str(number) for number in range(1, 200001)]
    assert len(ticks) >= 10, "the event loop was blocked"


def test_pipe_held_by_a_background_process_does_not_hang_the_step(tmp_path: Path) -> None:
    steps = """
    - run: |
        sleep 600 &
        echo background=$!
        echo "PID=$!" >> $GITHUB_ENV
        echo last words
    - run: kill -0 $PID && echo it still lives
    """
    started = time.monotonic()
    job = run(tmp_path, workflow(steps))
    assert job.result is Result.SUCCESS
    assert "last words" in job.rows
    assert "it still lives" in job.rows
    assert not alive(pid_in(job.rows, "background"))
    assert time.monotonic() - started < 30


def test_background_writer_gets_no_broken_pipe_after_its_step(tmp_path: Path) -> None:
    steps = """
    - run: |
        sh -c 'trap "" PIPE; while :; do echo noise || echo broke > broke; sleep 0.02; done' &
    - run: sleep 0.3; test ! -e broke
    """
    job = run(tmp_path, workflow(steps), pipe_grace_s=0.2)
    assert job.steps == [Result.SUCCESS, Result.SUCCESS]


def test_kill_of_the_step_itself_is_a_failure_that_names_the_signal(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: kill -9 $$"))
    assert job.steps == [Result.FAILURE]
    assert "##[error]exit with `FAILURE`: 137 (SIGKILL)" in job.rows


def test_failing_exit_is_reported_with_its_code(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: exit 42"))
    assert job.output_of(0) == ["##[error]exit with `FAILURE`: 42"]
    assert job.rows[-1] == "Job failed"


def test_deleted_and_replaced_command_files_do_not_hang_the_job(tmp_path: Path) -> None:
    steps = """
    - run: rm $GITHUB_ENV $GITHUB_OUTPUT $GITHUB_PATH $GITHUB_STATE $GITHUB_STEP_SUMMARY
    - run: rm $GITHUB_OUTPUT && mkfifo $GITHUB_OUTPUT
      continue-on-error: true
    - run: ln -sf /etc/passwd $GITHUB_ENV
    """
    job = run(tmp_path, workflow(steps))
    assert job.steps == [Result.SUCCESS, Result.SUCCESS, Result.FAILURE]
    assert any("$GITHUB_OUTPUT" in row and "no regular file" in row for row in job.rows)
    assert any("$GITHUB_ENV" in row and "link" in row for row in job.rows)
    assert not any("root:" in row for row in job.rows)


def test_stdin_is_empty(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: cat; echo read to the end"))
    assert job.output_of(0) == ["read to the end"]


def test_stdout_and_stderr_come_in_order_and_the_last_row_needs_no_line_feed(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: for i in 1 2 3; do echo o$i; echo e$i >&2; done; printf 'end\\r'"))
    assert job.output_of(0) == ["o1", "e1", "o2", "e2", "o3", "e3", "end"]


def test_bytes_that_are_no_utf8_become_valid_rows(tmp_path: Path) -> None:
    job = run(tmp_path, workflow(r"- run: printf 'a\xff\xfeb\n\xe2\x82\xac\n'"))
    assert job.output_of(0) == ["a?b", "€"]


def test_an_endless_line_is_split_into_bounded_rows(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: head -c 2500000 /dev/zero | tr '\\0' x"))
    assert [len(row) for row in job.output_of(0)] == [1048576, 1048576, 402848]


def test_read_only_trees_are_removed_too(tmp_path: Path) -> None:
    steps = "- run: mkdir -p cache/deep && touch cache/deep/file && chmod -R a-w cache"
    job = run(tmp_path, workflow(steps))
    assert job.result is Result.SUCCESS
    assert left_over(tmp_path) == []


def test_two_jobs_at_once_share_no_directory(tmp_path: Path) -> None:
    async def go() -> list[RecordingSink]:
        sinks = [RecordingSink(), RecordingSink()]
        payload = workflow("""
        - run: touch here && echo workspace=$GITHUB_WORKSPACE && echo temp=$RUNNER_TEMP && sleep 0.3 && ls | wc -l
        """)
        async with asyncio.TaskGroup() as group:
            for sink in sinks:
                group.create_task(run_job(task(payload), options(tmp_path), sink, Switch()))
        return sinks

    first, second = asyncio.run(go())
    assert "1" in first.rows
    assert "1" in second.rows
    for name in ("workspace=", "temp="):
        places = [next(row for row in sink.rows if row.startswith(name)) for sink in (first, second)]
        assert places[0] != places[1]
    assert left_over(tmp_path) == []


def test_cancelled_coroutine_leaves_no_process_and_no_directory(tmp_path: Path) -> None:
    async def go() -> list[str]:
        sink = RecordingSink()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(
                run_job(task(workflow("- run: echo me=$$ && sleep 600")), options(tmp_path), sink, Switch())
            )
            await sink.wait_for_row("me=")
            running.cancel()
        assert running.cancelled()
        pid = pid_in(sink.rows, "me")
        await until(lambda: not alive(pid), "the step's process to end")
        return sink.rows

    asyncio.run(go())
    assert left_over(tmp_path) == []


def test_a_step_that_stops_itself_with_sigstop_can_still_be_cancelled(tmp_path: Path) -> None:
    async def stop_it(sink: RecordingSink, switch: Switch) -> None:
        await sink.wait_for_row("me=")
        pid = pid_in(sink.rows, "me")
        os.kill(pid, signal.SIGSTOP)
        switch.cancel()

    job = run(
        tmp_path,
        workflow("- run: echo me=$$ && sleep 600"),
        script=stop_it,
        interrupt_grace_s=0.3,
        terminate_grace_s=0.3,
    )
    assert job.result is Result.CANCELLED
    assert not alive(pid_in(job.rows, "me"))
