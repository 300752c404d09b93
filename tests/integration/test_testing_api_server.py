"""`MockGitea` as a test uses it: life, work, waits, gates, faults, several at once, async, nothing left behind."""

import asyncio
import gc
import json
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.settings import SettingError
from mockgitea.testing import CallRefused, MockGitea, NotInTime, PlayedRunner, ServerClosed, UnexpectedCalls

WORKFLOW = "on: push\njobs:\n  build:\n    runs-on: linux\n    steps: [{run: echo hello}]\n"
START_S_MAX = 0.1
STARTS = 7
"""The best of so many starts is judged: a busy machine makes single ones slow, never fast."""


@pytest.fixture
def server() -> Iterator[MockGitea]:
    with MockGitea(seed=5) as running:
        yield running


@pytest.fixture
def played(server: MockGitea) -> Iterator[PlayedRunner]:
    with server.new_runner("r1").play() as runner:
        yield runner


# --- life
def test_server_is_ready_when_start_returns_and_quickly() -> None:
    took_s = []
    for _ in range(STARTS):
        began_s = time.perf_counter()
        with MockGitea() as running:
            took_s.append(time.perf_counter() - began_s)
            with running.new_runner("r1").play() as runner:
                assert runner.call("Ping", {"data": "x"}) == {"data": "Hello, x!"}
    assert min(took_s) < START_S_MAX, f"starts took {took_s}"


def test_control_api_and_pages_are_there_when_somebody_asks(server: MockGitea) -> None:
    with urllib.request.urlopen(f"{server.control_url}/control/v1/version") as answer:
        assert json.load(answer)["runner_url"] == server.url
    request = urllib.request.Request(
        f"{server.url}/api/v1/version", headers={"Authorization": f"token {server.api_token}"}
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_nothing_is_left_behind() -> None:
    def use() -> None:
        with MockGitea(grpc_port=0) as running, running.new_runner("r1").play() as runner:
            runner.fetch()
            urllib.request.urlopen(f"{running.control_url}/control/v1/version").close()

    use()
    gc.collect()
    threads, files = threading.active_count(), open_files()
    for _ in range(3):
        use()
    gc.collect()
    assert (threading.active_count(), open_files()) == (threads, files)


def test_close_is_idempotent_and_what_follows_says_so(server: MockGitea) -> None:
    journal = server.journal
    server.close()
    server.close()
    for use in (lambda: server.url, lambda: server.enqueue(WORKFLOW), journal.calls):
        with pytest.raises(ServerClosed):
            use()


def test_use_before_the_start_says_what_to_do() -> None:
    with pytest.raises(ServerClosed, match="`with` or `async with`"):
        _ = MockGitea().url
    with pytest.raises(ServerClosed):
        MockGitea().journal.mark()


def test_close_ends_waits_in_other_threads(server: MockGitea) -> None:
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(server.journal.wait_for, "Ping", within=60)
        server.wait_until(lambda: server._thread.app.journal._watchers, within=20)
        server.close()
        with pytest.raises(ServerClosed, match="meanwhile"):
            waiting.result(20)


def test_failure_of_a_part_is_raised_at_the_end() -> None:
    async def break_a_part(running: MockGitea) -> None:
        async def breaking() -> None:
            raise OSError("disk gone")

        running._thread.app._supervisor.start(breaking(), name="breaking")

    running = MockGitea().start()
    running._thread.call(break_a_part(running))
    with pytest.raises(RuntimeError, match="a part of the server failed") as caught:
        running.close()
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"profiles": "gitea-1.27"}, "profiles: there is no such setting"),
        ({"profile": "gitea-9"}, "profile .* is none of"),
        ({"port": -1}, "port .* is below 0"),
        ({"tls_cert": "x"}, "tls_key: missing"),
    ],
)
def test_wrong_setting_is_refused_by_name(settings: dict[str, object], text: str) -> None:
    with pytest.raises(SettingError, match=text):
        MockGitea(**settings)


def test_start_that_fails_leaves_nothing(server: MockGitea) -> None:
    taken = int(server.url.rpartition(":")[2])
    threads = threading.active_count()
    with pytest.raises(SettingError, match="port: cannot listen"):
        MockGitea(port=taken).start()
    assert threading.active_count() == threads


def test_several_servers_live_side_by_side() -> None:
    with ThreadPoolExecutor(4) as pool:
        servers = list(pool.map(lambda seed: MockGitea(seed=seed).start(), range(4)))
    try:
        assert len({each.url for each in servers}) == 4
        for number, each in enumerate(servers):
            for _ in range(number):
                each.enqueue(WORKFLOW)
        assert [len(each.snapshot()["runs"]) for each in servers] == [0, 1, 2, 3]
    finally:
        for each in servers:
            each.close()


def test_process_that_forgets_to_close_ends_all_the_same() -> None:
    code = "from mockgitea.testing import MockGitea; print(MockGitea().start().url)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("http://127.0.0.1:")
    assert done.stdout.count("\n") == 1, "the server's log went to stdout"


# --- work
def test_run_goes_from_enqueue_to_its_log(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    assert (run.status, run.log("build")) == ("waiting", [])
    task = played.fetch()
    assert task is not None
    played.finish(task["id"], "success", "one", "two words")
    assert run.wait() == "success"
    assert run.log("build") == ["one", "two words"]
    assert run.job("build")["task"]["id"] == task["id"]
    with pytest.raises(NotFound, match="has no 'nope'; it has build"):
        run.job("nope")


def test_workflow_may_be_a_file(server: MockGitea, tmp_path: Path) -> None:
    (tmp_path / "ci.yaml").write_text(WORKFLOW)
    assert server.enqueue(tmp_path / "ci.yaml").state()["workflow_file"] == "ci.yaml"


def test_wrong_workflow_and_unknown_repository_are_refused_by_name(server: MockGitea) -> None:
    with pytest.raises(InvalidInput) as wrong:
        server.enqueue("on: push\njobs:\n  a:\n    needs: b\n    runs-on: x\n    steps: [{run: x}]\n")
    assert wrong.value.field == "jobs.a.needs[0]"
    with pytest.raises(NotFound, match="team/app"):
        server.enqueue(WORKFLOW, repository="team/app")
    server.create_repository("team/app")
    assert server.enqueue(WORKFLOW, repository="team/app").state()["repository"] == "team/app"


def test_scoped_runner_gets_only_its_scope(server: MockGitea) -> None:
    server.create_repository("team/app")
    server.enqueue(WORKFLOW)
    for scope in ({"repository": "team/app"}, {"owner": "team"}):
        with server.new_runner("scoped", **scope).play() as runner:
            assert runner.fetch() is None
    with pytest.raises(NotFound, match="owner: there is no 'nobody'"):
        server.new_runner("scoped", owner="nobody")


def test_wait_that_gives_up_shows_run_and_calls(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW.replace("linux", "solaris"))
    played.fetch()
    with pytest.raises(
        NotInTime, match=r"build waiting \(wants \['solaris'\]\)\n1 calls were recorded: FetchTask empty 1"
    ):
        run.wait(within=0)


def test_cancel_reaches_the_runner(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    task = played.fetch()
    assert task is not None
    run.cancel()
    assert played.report(task["id"]) == "cancelled"
    played.finish(task["id"], "cancelled")
    assert run.wait() == "cancelled"


def test_clock_moves_and_everything_due_has_happened(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    played.fetch()
    before_us = server.clock.now_us
    assert server.clock.advance(900) >= before_us + 900_000_000
    assert run.status == "failure"
    with MockGitea(clock="system") as other, pytest.raises(ValueError, match="mode is system"):
        other.clock.advance(1)


def test_manual_clock_stands_still() -> None:
    with MockGitea(clock="manual") as still:
        assert (still.clock.mode, still.clock.now_us) == ("manual", still.clock.now_us)


def test_one_task_is_aged_and_reaped(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    task = played.fetch()
    assert task is not None
    server.age_task(task["id"], 660)
    assert server.maintenance("stop_zombie_tasks") == {"stopped": 1}
    server.settle()
    assert run.status == "failure"


def test_deleted_runner_is_unregistered(server: MockGitea, played: PlayedRunner) -> None:
    server.delete_runner(played.runner)
    with pytest.raises(CallRefused, match="unregistered runner"):
        played.fetch()


def test_reset_makes_it_new_and_the_registration_token_stays(server: MockGitea, played: PlayedRunner) -> None:
    fresh, token = server.snapshot(), server.registration_token
    server.enqueue(WORKFLOW)
    played.fetch()
    server.faults.add("refuse")
    server.reset()
    assert [server.snapshot()[name] for name in ("runs", "runners", "faults")] == [[], [], []]
    assert server.snapshot()["repositories"] == fresh["repositories"]
    answer = played.call("Register", {"name": "again", "token": token})
    assert answer["runner"]["name"] == "again"


def test_equal_seeds_give_equal_snapshots() -> None:
    taken = []
    for _ in range(2):
        with MockGitea(seed=11) as running, running.new_runner("r1").play() as runner:
            running.enqueue(WORKFLOW)
            task = runner.fetch()
            assert task is not None
            runner.finish(task["id"])
            running.settle()
            taken.append(running.snapshot())
    assert taken[0] == taken[1]
    assert taken[0]["runs"][0]["status"] == "success"
    json.dumps(taken[0])


# --- gates and faults
def test_gate_holds_the_answer_after_the_work(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    with ThreadPoolExecutor() as pool, server.gate("FetchTask") as gate:
        fetching = pool.submit(played.fetch)
        [held] = gate.wait(within=20)
        assert (held.method, run.status, fetching.done()) == ("FetchTask", "running", False)
        gate.open()
        assert fetching.result(20) is not None
    assert gate.held() == []
    assert server.faults.list() == ()


def test_gate_before_the_work_leaves_the_job_waiting(server: MockGitea, played: PlayedRunner) -> None:
    run = server.enqueue(WORKFLOW)
    with ThreadPoolExecutor() as pool:
        with server.gate("FetchTask", stage="before") as gate:
            fetching = pool.submit(played.fetch)
            gate.wait(within=20)
            assert run.status == "waiting"
        assert fetching.result(20) is not None


def test_gate_for_one_runner_lets_the_others_pass(server: MockGitea, played: PlayedRunner) -> None:
    with server.new_runner("r2").play() as other, server.gate("FetchTask", runner=other.runner) as gate:
        played.fetch()
        assert gate.held() == []


def test_gate_that_nobody_reaches_says_what_came_instead(server: MockGitea, played: PlayedRunner) -> None:
    played.call("Ping", {"data": ""})
    with server.gate("FetchTask") as gate, pytest.raises(UnexpectedCalls, match="1 calls were recorded: Ping ok 1"):
        gate.wait(within=0)


def test_faults_are_added_listed_removed_and_reset(server: MockGitea, played: PlayedRunner) -> None:
    name = server.faults.add("refuse", method="FetchTask", code="unavailable", times=1)
    with pytest.raises(CallRefused) as refused:
        played.fetch()
    assert (refused.value.status, refused.value.code) == (503, "unavailable")
    assert [(state.fault.name, state.hits) for state in server.faults.list()] == [(name, 1)]
    server.faults.remove(name)
    server.faults.add("delay", name="slow", delay_s=3600, runner=played.runner)
    server.faults.reset()
    assert played.fetch() is None
    with pytest.raises(InvalidInput, match="method: unknown 'Fetch'"):
        server.faults.add("refuse", method="Fetch")
    with pytest.raises(NotFound):
        server.faults.remove("nobody")


def test_downtime_is_added_and_removed(server: MockGitea, played: PlayedRunner) -> None:
    name = server.faults.add_downtime("planned", duration_s=3600)
    with pytest.raises(CallRefused) as refused:
        played.fetch()
    assert refused.value.status == 503
    assert [state.downtime.name for state in server.faults.list_downtimes()] == [name]
    server.faults.remove_downtime(name)
    assert played.fetch() is None
    with pytest.raises(InvalidInput, match="kind: unknown 'nap'"):
        server.faults.add_downtime("nap", duration_s=1)


# --- async
def test_async_block_and_awaitable_waits() -> None:
    async def main() -> None:
        async with MockGitea() as running:
            run = running.enqueue(WORKFLOW)
            with running.new_runner("r1").play() as runner:
                async with asyncio.TaskGroup() as group:
                    fetched = group.create_task(running.journal.wait_for_async("FetchTask", "r1", within=20))
                    task = await asyncio.to_thread(runner.fetch)
                assert fetched.result()[0].outcome == "task"
                with running.gate("UpdateTask") as gate:
                    async with asyncio.TaskGroup() as group:
                        group.create_task(asyncio.to_thread(runner.finish, task["id"]))
                        await gate.wait_async(within=20)
                        gate.open()
            assert await run.wait_async(within=20) == "success"
            assert await running.wait_until_async(lambda: run.status == "success")

    asyncio.run(main())


def test_blocking_waits_refuse_to_stop_the_callers_loop() -> None:
    async def main() -> None:
        async with MockGitea() as running:
            run = running.enqueue(WORKFLOW)
            for wait in (running.journal.wait_for, lambda: running.wait_until(lambda: True), run.wait):
                with pytest.raises(RuntimeError, match="_async"):
                    wait()

    asyncio.run(main())


def test_sync_block_works_while_a_loop_runs() -> None:
    async def main() -> str:
        with MockGitea() as running:
            return running.enqueue(WORKFLOW).status

    assert asyncio.run(main()) == "waiting"


# --- verification
def test_wait_for_counts_from_a_mark(server: MockGitea, played: PlayedRunner) -> None:
    played.fetch()
    mark = server.journal.mark()
    with pytest.raises(UnexpectedCalls):
        server.journal.wait_for("FetchTask", within=0, since=mark)
    played.fetch()
    assert [call.number for call in server.journal.wait_for("FetchTask", played.runner, since=mark)] == [mark + 1]


def test_exports_hold_no_secret(server: MockGitea, played: PlayedRunner, tmp_path: Path) -> None:
    server.enqueue(WORKFLOW, secrets={"PASSWORD": "hunter2"})
    made = played.call("Register", {"name": "r2", "token": server.registration_token})
    played.fetch()
    server.journal.export_jsonl(tmp_path / "session.jsonl")
    server.journal.export_har(tmp_path / "session.har")
    for name in ("session.jsonl", "session.har"):
        text = (tmp_path / name).read_text()
        assert played.runner.uuid in text
        for secret in ("hunter2", played.runner.token, made["runner"]["token"], server.registration_token):
            assert secret not in text


def test_audit_of_a_careless_runner_names_everything(server: MockGitea, played: PlayedRunner) -> None:
    server.enqueue(WORKFLOW)
    server.enqueue(WORKFLOW)
    first = played.fetch()
    mark = server.journal.mark()
    assert first is not None
    played.log(first["id"], "one", "two")
    played.log(first["id"], "two", index=1)
    played.fetch()
    played.report(first["id"], "success")
    report = server.audit(capacity={"r1": 1}, stopped={"r1": mark})
    assert sorted(finding.rule for finding in report.findings) == [
        "fetch-while-full", "log-repeat", "over-capacity", "poll-after-stop", "result-before-log",
    ]  # fmt: skip


def test_clear_drops_calls(server: MockGitea, played: PlayedRunner) -> None:
    played.fetch()
    server.journal.clear()
    assert server.journal.calls() == []
