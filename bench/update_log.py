"""How much of a raw sqlite3 writer's speed is left for UpdateLog, at 1, 10 and 100 rows a call?

Both store rows in a file with the same durability (WAL, synchronous NORMAL, acknowledged after the commit), behind the
same HTTP server, one process pinned to one core, the load from the other, taken alternately. The raw application reads
the message and hands the rows to one thread that takes everything queued, inserts one row per log row with one
`executemany`, commits and answers; it checks nothing, formats nothing and keeps no journal.
"""

import argparse
import asyncio
import json
import queue
import sqlite3
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, cast

import httpx
import uvloop
from _measuring import pin, process, summary, wait_for, write_result

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.supervise import Supervisor
from mockgitea.transport.listeners import Listener, bind

CONNECTIONS = 50
SERVER_CORE, CLIENT_CORE = 0, 1
PROMISE = 0.50
ROWS_PER_CALL = (1, 10, 100)
PATH = "/api/actions/runner.v1.RunnerService/UpdateLog"
CONTENT = "2023-11-14 compile: src/some/module/name.c: a line as a build prints it, ninety-five bytes of text"
BATCH_CALLS_MAX = 500

_Pending = tuple[int, int, list[str], "asyncio.Future[int]"]


class RawWriter:
    """One thread, one connection, natural group commit: the least that stores rows durably."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.queue: queue.SimpleQueue[_Pending] = queue.SimpleQueue()
        self.loop = asyncio.get_running_loop()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        conn = sqlite3.connect(self.path, isolation_level=None)
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA synchronous = NORMAL")
        conn.execute("CREATE TABLE row (task INTEGER, number INTEGER, content TEXT, PRIMARY KEY (task, number))")
        while True:
            batch = [self.queue.get()]
            while len(batch) < BATCH_CALLS_MAX and not self.queue.empty():
                batch.append(self.queue.get())
            conn.execute("BEGIN IMMEDIATE")
            rows = [(task, index + n, text) for task, index, texts, _ in batch for n, text in enumerate(texts)]
            conn.executemany("INSERT INTO row VALUES (?, ?, ?)", rows)
            conn.execute("COMMIT")
            self.loop.call_soon_threadsafe(self.answer, batch)

    @staticmethod
    def answer(batch: list[_Pending]) -> None:
        for _, index, texts, future in batch:
            future.set_result(index + len(texts))


def raw_app(writer: RawWriter) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            event = await receive()
            body += event.get("body", b"")
            more = event.get("more_body", False)
        request = pb.UpdateLogRequest.FromString(body)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        writer.queue.put((request.task_id, request.index, [row.content for row in request.rows], future))
        answer = pb.UpdateLogResponse(ack_index=await future).SerializeToString()
        headers = [(b"content-type", b"application/proto"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    return app


async def serve_raw(path: str) -> None:
    supervisor = Supervisor()
    listener = Listener(raw_app(RawWriter(path)), bind("127.0.0.1", 0, setting="port"))
    await listener.start(supervisor)
    print(json.dumps({"port": listener.port}), flush=True)
    await asyncio.Event().wait()


class Sender(asyncio.Protocol):
    """One keep-alive connection of one task: sends the next rows when the last ones are acknowledged."""

    def __init__(self, load: "Load", task: int) -> None:
        self.load = load
        self.task = task
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.send()

    def send(self) -> None:
        index = self.load.held.get(self.task, 0)
        body = pb.UpdateLogRequest(task_id=self.task, index=index).SerializeToString() + self.load.rows
        self.transport.write(self.load.head + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        if len(body) < int(length.partition(b":")[2]):
            return
        assert head.startswith(b"HTTP/1.1 200"), self.buffer
        self.buffer = b""
        ack = pb.UpdateLogResponse.FromString(body).ack_index
        assert ack == self.load.held.get(self.task, 0) + self.load.count, "rows were lost"
        self.load.held[self.task] = ack
        self.load.stored += self.load.count
        if self.load.is_running:
            self.send()
        else:
            self.transport.close()


class Load:
    """A fixed number of tasks that log as fast as they are acknowledged, for a fixed time."""

    def __init__(self, head: bytes, held: dict[int, int], count: int) -> None:
        row = pb.LogRow(content=CONTENT)
        row.time.seconds, row.time.nanos = 1_700_000_000, 512_345_600
        self.rows = pb.UpdateLogRequest(rows=[row] * count).SerializeToString()
        self.head = head
        self.held = held
        self.count = count
        self.stored = 0
        self.is_running = True

    async def run(self, port: int, tasks: list[int], seconds: float) -> float:
        """Return acknowledged rows per second, after a quarter of the time as warm-up."""
        loop = asyncio.get_running_loop()
        for task in tasks:
            await loop.create_connection(lambda one=task: Sender(self, one), "127.0.0.1", port)
        await asyncio.sleep(seconds / 4)
        before, started = self.stored, time.perf_counter()
        await asyncio.sleep(seconds)
        rate = (self.stored - before) / (time.perf_counter() - started)
        self.is_running = False
        await asyncio.sleep(0.3)
        assert rate, "nothing was acknowledged"
        return rate


class Target:
    """A server that takes rows, and how far each task's log has come there."""

    def __init__(self, port: int, tasks: list[int], **headers: str) -> None:
        fields = {"Host": "localhost", "Content-Type": "application/proto", "Connect-Protocol-Version": "1", **headers}
        lines = [f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), ""]
        self.head = "\r\n".join(lines).encode()
        self.port = port
        self.tasks = tasks
        self.held: dict[int, int] = {}

    def measure(self, count: int, seconds: float) -> float:
        load = Load(self.head, self.held, count)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(load.run(self.port, self.tasks, seconds))


def prepare(ready: dict[str, Any]) -> Target:
    """Make a runner with one running task per connection."""
    control, runner_url = f"{ready['control_url']}/control/v1", ready["runner_url"]
    made = httpx.post(f"{control}/runners", json={"name": "bench", "labels": ["linux"]}).raise_for_status().json()
    workflow = f"on: push\njobs:\n  j:\n    strategy:\n      matrix:\n        n: {list(range(CONNECTIONS))}\n"
    workflow += "    runs-on: linux\n    steps:\n      - run: 'true'\n"
    body = {"repository": "demo/demo", "workflow_file": "ci.yaml", "workflow": workflow, "event": "push"}
    httpx.post(f"{control}/enqueue", json=body, timeout=30).raise_for_status()
    credentials = {"x-runner-uuid": made["uuid"], "x-runner-token": made["token"]}
    headers = {**credentials, "Content-Type": "application/proto"}
    url = f"{runner_url}/api/actions/runner.v1.RunnerService/FetchTask"
    with httpx.Client(headers=headers) as client:
        answers = [client.post(url, content=b"").content for _ in range(CONNECTIONS)]
    tasks = [pb.FetchTaskResponse.FromString(answer).task.id for answer in answers]
    assert all(tasks), "a task is missing"
    return Target(int(runner_url.rsplit(":", 1)[1]), tasks, **credentials)


def compare(folder: Path, *, runs: int, seconds: float) -> dict[str, Any]:
    ready, results = folder / "ready.json", {}
    mock = [
        sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0", "--log-level", "warning",
        "--database", str(folder / "mock.db"), "--ready-file", str(ready),
    ]  # fmt: skip
    raw = [sys.executable, __file__, "--serve-raw", str(folder / "raw.db")]
    with process(raw, core=SERVER_CORE) as raw_server, process(mock, core=SERVER_CORE):
        assert raw_server.stdout is not None
        raw_target = Target(json.loads(raw_server.stdout.readline())["port"], list(range(CONNECTIONS)))
        mock_target = prepare(wait_for(ready))
        for count in ROWS_PER_CALL:
            rates: dict[str, list[float]] = {"raw": [], "mock": []}
            for _ in range(runs):
                rates["raw"].append(raw_target.measure(count, seconds))
                rates["mock"].append(mock_target.measure(count, seconds))
            ratios = [mock / plain for plain, mock in zip(rates["raw"], rates["mock"], strict=True)]
            results[f"{count}_rows_per_call"] = {
                "raw_rows_per_s": summary(rates["raw"]),
                "update_log_rows_per_s": summary(rates["mock"]),
                "ratio": summary(ratios),
            }
            print(count, results[f"{count}_rows_per_call"], flush=True)
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve-raw", metavar="FILE", help=argparse.SUPPRESS)
    parser.add_argument("--smoke", action="store_true", help="one short iteration, no result file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    options = parser.parse_args()
    if options.serve_raw:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_raw(options.serve_raw))
        return
    pin(CLIENT_CORE)
    with tempfile.TemporaryDirectory() as name:
        runs, seconds = (1, 0.3) if options.smoke else (options.runs, options.seconds)
        results = compare(Path(name), runs=runs, seconds=seconds)
    worst = min(found["ratio"]["median"] for found in results.values())
    print(f"worst median ratio {worst:.2f} (promised {PROMISE})")
    if not options.smoke:
        print(write_result("update_log", {"promise_ratio": PROMISE, "connections": CONNECTIONS, "results": results}))


if __name__ == "__main__":
    main()
