"""F116 to F128: connections that end, servers that are away or still starting, and calls in flight when one leaves."""

import asyncio
import functools
import socket
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from actionsrunner.app import build_client
from actionsrunner.edge.client import Identity
from actionsrunner.edge.clock import LoopClock
from actionsrunner.exits import Exit
from actionsrunner.loops.registering import RegistrationRequest, register
from enginejob import until
from eventlog import logged
from mockgitea.testing import MockGitea, Run
from rawserver import RawServer, error, page
from runnerapp import configuration, running, shell_task

COUNTING = """
on: push
jobs:
  a:
    runs-on: linux
    steps:
      - run: |
          n=0
          until [ -e {gate} ]; do n=$((n+1)); echo "row $n"; sleep 0.02; done
          echo $n > {gate}.rows
"""


def events(logs: Sequence[Any], *names: str) -> list[Any]:
    return [entry for entry in logs if entry["event"] in names]


def printed_rows(run: Run) -> list[str]:
    return [row for row in run.log("a") if row.startswith("row ")]


def test_f116_connections_that_the_server_closes_are_replaced_without_a_failure(tmp_path: Path) -> None:
    """Idle connections were refused their keep-alive, and the runner took no more jobs.

    A connection that was closed between two calls is simply replaced: nothing fails, and the next job is taken.
    """

    async def scenario() -> None:
        async with MockGitea() as server:
            with logged() as logs:
                async with running(server, tmp_path, known=server.new_runner()):
                    server.faults.add("restart", mode="graceful", method="FetchTask", every=2, times=6)
                    await server.journal.wait_for_async("FetchTask", n=16)
                    run = server.enqueue("on: push\njobs:\n  a:\n    runs-on: linux\n    steps: [{run: echo hello}]\n")
                    assert await run.wait_async() == "success"
            assert len({call.peer for call in server.journal.calls(method="FetchTask")}) >= 4
            assert not events(logs, "task_crashed")
            server.journal.assert_requests(method="FetchTask", outcome="task", count=1)

    asyncio.run(scenario())


def test_f117_server_that_cannot_be_reached_at_first_is_found_later(tmp_path: Path) -> None:
    """A host that could not be reached for a moment left the runner in errors from which it never came back.

    Refused and half-open connections are tried again with growing waits, and then the runner declares and works.
    """

    async def scenario() -> None:
        server = RawServer()
        with socket.socket() as claimed:
            claimed.bind(("127.0.0.1", 0))
            port = claimed.getsockname()[1]
            address = f"http://127.0.0.1:{port}"
            with logged() as logs:
                async with running(_At(address), tmp_path, once=True) as runner:
                    await until(lambda: len(events(logs, "declare_failed")) >= 3, "three failures to declare")
                    claimed.close()
                    await server.listen(port)
                    server.tasks.append(shell_task(1, "echo hello"))
                    assert await runner.ended() is Exit.OK
            await server.close()
        assert "hello" in server.rows[1]
        assert {entry["code"] for entry in events(logs, "declare_failed")} == {"unavailable"}

    asyncio.run(scenario())


class _At:
    """A server that is not there yet."""

    def __init__(self, url: str) -> None:
        self.url = url


def test_f118_outage_while_idle_says_when_it_begins_and_when_it_ends(tmp_path: Path) -> None:
    """Endless retries filled the log and said neither what was wrong nor that it was over.

    A dozen failures in a row are one warning, and one line says that the server is back.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.script("FetchTask", *(page(503) for _ in range(12)))
            with logged() as logs:
                async with running(server, tmp_path):
                    await server.until(lambda: len(server.of("FetchTask")) >= 14)
            (begin,) = [entry for entry in events(logs, "fetch_failed") if entry["log_level"] == "warning"]
            (end,) = events(logs, "fetch_recovered")
            assert begin["code"] == "unavailable"
            assert (end["log_level"], end["failed_fetches"]) == ("info", 12)
            assert logs.index(begin) < logs.index(end)

    asyncio.run(scenario())


def test_f119_stopping_server_does_not_wait_for_calls_that_would_never_end() -> None:
    """A server could not be stopped while runners had long calls open.

    The stop is bounded by its grace, and each of those callers learns that it has to come again.
    """
    server = MockGitea(graceful_stop_s=0.2)
    server.start()
    failures: list[BaseException] = []
    with server.new_runner().play() as played:
        server.faults.add("hang", method="FetchTask")

        def fetch() -> None:
            try:
                played.fetch()
            except Exception as lost:
                failures.append(lost)

        fetching = threading.Thread(target=fetch)
        fetching.start()
        server.wait_until(lambda: server.journal.calls(method="FetchTask", outcome="open"))
        begin = time.monotonic()
        server.close()
        assert time.monotonic() - begin < 5
        fetching.join(5)
    assert not fetching.is_alive()
    assert len(failures) == 1


@pytest.mark.parametrize("away", ["planned", "refused", "black-hole"])
def test_f120_job_goes_on_while_the_server_is_away_and_catches_up_in_order(away: str, tmp_path: Path) -> None:
    """People asked what becomes of a job while its server is away.

    It runs on, and when the server is back every row is there, once and in order, whichever way it was away.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(COUNTING.format(gate=gate))
            async with running(server, tmp_path, known=server.new_runner(), report_close_timeout="10s"):
                await server.wait_until_async(lambda: "row 5" in run.log("a"))
                down = server.faults.add_downtime(away, duration_s=3600, cuts=True)
                stored = printed_rows(run)
                gate_rows = gate.with_name("gate.rows")
                begin = time.monotonic()
                await server.wait_until_async(lambda: time.monotonic() - begin > 0.5)
                gate.touch()
                await server.wait_until_async(gate_rows.exists)
                server.faults.remove_downtime(down)
                assert await run.wait_async() == "success"
            printed = int(await server.wait_until_async(gate_rows.read_text))
            assert printed_rows(run) == [f"row {number}" for number in range(1, printed + 1)]
            assert printed > len(stored)

    asyncio.run(scenario())


def test_f122_server_that_is_still_starting_is_waited_for_at_every_first_call(tmp_path: Path) -> None:
    """A runner lived through bad gateways at its first call, registered, and then never got the job that waited.

    Ping, Declare and the first fetch are each repeated, and the waiting job is taken by the first good fetch.
    """

    async def scenario() -> None:
        async with RawServer() as server:
            server.tasks.append(shell_task(1, "echo hello"))
            for method in ("Ping", "Declare", "FetchTask"):
                server.script(method, page(502))
            client = build_client(configuration(tmp_path, {}), server.url, Identity())
            request = RegistrationRequest(instance=server.url, token="T", name="r1", labels=["linux:host"])
            made = await register(client, LoopClock(), request)
            await client.close()
            assert made.uuid
            async with running(server, tmp_path, once=True) as runner:
                assert await runner.ended() is Exit.OK
            assert [len(server.of(method)) for method in ("Ping", "Register", "Declare", "FetchTask")] == [2, 1, 2, 2]
            assert "hello" in server.rows[1]

    asyncio.run(scenario())


def test_f126_runner_that_waits_for_a_retry_leaves_at_once(tmp_path: Path) -> None:
    """A sleep between two tries went on after the order to stop.

    A runner whose next try is an hour away ends at once.
    """

    async def scenario() -> None:
        for method in ("Declare", "FetchTask"):
            async with RawServer() as server:
                server.always(method, error(503, "unavailable", "later"))
                async with running(server, tmp_path, fetch_interval="1h", fetch_interval_max="1h") as runner:
                    await server.until(functools.partial(server.of, method))
                    runner.requests.ask()
                    assert await runner.ended(10) is Exit.OK

    asyncio.run(scenario())


def test_f127_announced_maintenance_is_no_failure_of_the_job_and_makes_no_noise(tmp_path: Path) -> None:
    """Maintenance answers were taken for failures of jobs.

    Through such a window the job and the idle polling go on, with one warning each and no error.
    """
    gate = tmp_path / "gate"

    async def scenario() -> None:
        async with MockGitea() as server:
            run = server.enqueue(COUNTING.format(gate=gate))
            with logged() as logs:
                async with running(server, tmp_path, known=server.new_runner(), capacity=2, report_close_timeout="10s"):
                    await server.wait_until_async(lambda: "row 5" in run.log("a"))
                    down = server.faults.add_downtime("planned", duration_s=3600, retry_after_s=30)
                    await server.journal.wait_for_async("UpdateLog", n=3, outcome="refused")
                    await server.journal.wait_for_async("FetchTask", n=3, outcome="refused")
                    server.faults.remove_downtime(down)
                    gate.touch()
                    assert await run.wait_async() == "success"
            loud = [entry["event"] for entry in logs if entry["log_level"] in ("warning", "error")]
            assert sorted(event for event in loud if event.endswith("_failed")) == ["fetch_failed", "report_failed"]
            refused = server.journal.calls(outcome="refused")
            assert {call.status for call in refused} == {503}

    asyncio.run(scenario())
