"""The server is killed or stopped while everybody calls: acknowledged rows are there once, no task goes out twice."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from rawhttp import Connection
from serverproc import BASE, PROTO, RUNNER_SERVICE, VERSION, Identity, Mock, ServerProcess

SEED = 20_261_202
ROUNDS = 25 if os.environ.get("FUZZ_EXAMPLES") else 3
RUNNERS = 5
WORKFLOW = """\
on: push
jobs:
  j:
    runs-on: linux
    strategy: {matrix: {n: [1, 2, 3, 4, 5, 6, 7, 8]}}
    steps: [{run: echo}]
"""


class Fleet:
    """Clients that fetch, report and finish without pause, and what they were told."""

    def __init__(self, mock: Mock) -> None:
        self.mock = mock
        self.sent: dict[int, list[str]] = {}
        self.acknowledged: dict[int, int] = {}
        self.finished: set[int] = set()
        self.wrong: list[str] = []
        self.calls = 0
        """Answers so far, of all clients."""
        self._over = threading.Event()
        self._lock = threading.Lock()
        runners = [mock.runner(name=f"r{number}") for number in range(RUNNERS)]
        self._threads = [threading.Thread(target=self._work, args=(who, n)) for n, who in enumerate(runners)]

    def __enter__(self) -> "Fleet":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join(60)

    def _work(self, who: Identity, number: int) -> None:
        rng = random.Random(SEED + number)
        task, at = 0, 0
        while not self._over.is_set():
            try:
                with Connection(self.mock.server.host, self.mock.server.port) as connection:
                    call = self._caller(connection, who)
                    while not self._over.is_set():
                        task, at = self._step(call, task, at, rng)
            except (OSError, ValueError):
                self._over.wait(0.02)  # the server is away

    def _caller(self, connection: Connection, who: Identity) -> Callable[[str, Any, Any], Any]:
        def call(method: str, message: Any, answer: Any) -> Any:
            path, headers = f"{BASE}/{RUNNER_SERVICE}/{method}", [PROTO, VERSION, *who.headers]
            reply = connection.request("POST", path, headers, message.SerializeToString())
            self.calls += 1
            if reply.status != 200:
                self.wrong.append(f"{method}: {reply.status} {reply.body[:200]!r}")
                raise OSError
            return answer.FromString(reply.body)

        return call

    def _step(self, call: Callable[[str, Any, Any], Any], task: int, at: int, rng: random.Random) -> tuple[int, int]:
        if not task:
            answer = call("FetchTask", pb.FetchTaskRequest(), pb.FetchTaskResponse)
            if not answer.HasField("task"):
                self._over.wait(0.02)
                return 0, 0
            task = answer.task.id
            with self._lock:
                if task in self.sent:
                    self.wrong.append(f"task {task} went out twice")
                self.sent[task] = [f"{task}-{row}" for row in range(rng.randrange(1, 300))]
            return task, 0
        rows = self.sent[task]
        if at < len(rows):
            part = self.mock.rows(*rows[at : at + rng.choice([1, 3, 50])])
            log = call("UpdateLog", pb.UpdateLogRequest(task_id=task, index=at, rows=part), pb.UpdateLogResponse)
            if log.ack_index < at:
                self.wrong.append(f"task {task}: ack index fell from {at} to {log.ack_index}")
            self.acknowledged[task] = log.ack_index
            return task, log.ack_index
        call("UpdateLog", pb.UpdateLogRequest(task_id=task, index=at, no_more=True), pb.UpdateLogResponse)
        call("UpdateTask", pb.UpdateTaskRequest(state=pb.TaskState(id=task, result=1)), pb.UpdateTaskResponse)
        self.finished.add(task)
        return 0, 0

    def get_busy(self, calls: int, *, within_s: float = 30.0) -> None:
        """Wait until so many more calls were answered, or for so long."""
        goal, deadline = self.calls + calls, time.monotonic() + within_s
        while self.calls < goal and time.monotonic() < deadline:
            self._over.wait(0.001)

    def check(self) -> None:
        """Compare what the clients were told with what the server holds."""
        assert self.wrong == []
        assert self.acknowledged, "nobody got anything done"
        for task, rows in self.sent.items():
            held = [line.split(" ", 1)[1] for line in self.mock.log(task).splitlines()]
            assert held == rows[: len(held)], f"task {task}"
            assert len(held) >= self.acknowledged.get(task, 0), f"task {task}"
        for task in self.finished:
            assert self.mock.control("GET", f"/tasks/{task}")["status"] == "success", f"task {task}"


@pytest.fixture
def started(tmp_path: Path) -> Any:
    """A server on a file, with fixed ports so that clients find it again."""
    process = ServerProcess("--port", "0", "--control-port", "0", "--database", "x.db", folder=tmp_path)
    ports = ["--port", str(process.port), "--control-port", str(process.control_port)]
    process.arguments = (*ports, "--database", "x.db", "--zombie-timeout-s", "86400")
    yield process
    process.kill()


def enqueue(mock: Mock) -> None:
    for _ in range(3):
        mock.enqueue(WORKFLOW)


def test_nothing_acknowledged_is_lost_however_often_the_server_is_killed(started: ServerProcess) -> None:
    print(f"seed {SEED}")
    rng = random.Random(SEED)
    mock = Mock(started, "gitea-1.27")
    with Fleet(mock) as fleet:
        for _ in range(ROUNDS):
            enqueue(mock)
            fleet.get_busy(rng.randrange(1, 400))
            started.kill()
            started.start()
    mock.settle()
    fleet.check()
    assert "Traceback" not in started.log_text()


@pytest.mark.parametrize("storm", [1, 40])
def test_a_server_asked_to_stop_under_load_exits_with_zero(started: ServerProcess, storm: int) -> None:
    mock = Mock(started, "gitea-1.27")
    with Fleet(mock) as fleet:
        enqueue(mock)
        fleet.get_busy(200)
        for number in range(storm):
            if started.process.poll() is not None:
                break
            started.process.send_signal(signal.SIGINT if number % 2 else signal.SIGTERM)
            fleet.get_busy(1, within_s=0.01)
        assert started.process.wait(30) == 0
        started.start()
    fleet.check()
    assert "Traceback" not in started.log_text()
