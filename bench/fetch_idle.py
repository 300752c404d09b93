"""How much of a bare ASGI application's speed is left for FetchTask with nothing new?

Both run on the same HTTP server with the same settings, one process pinned to one core, the load from the other, taken
alternately. The poll passes everything it passes in earnest: authentication, journal, counters, fault check. The cost
must not depend on how many finished tasks the database holds, so the poll is measured at several numbers of them.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, cast

import httpx
import psutil
import uvloop
from _measuring import pin, process, summary, write_result

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.storage.database import DatabaseFile, open_schema
from mockgitea.storage.schema import job, run, task
from mockgitea.supervise import Supervisor
from mockgitea.transport.listeners import Listener, bind

CONNECTIONS = 50
SERVER_CORE, CLIENT_CORE = 0, 1
PROMISE = 0.60


class Poller(asyncio.Protocol):
    """One keep-alive connection that sends the next request when an answer is complete."""

    def __init__(self, load: "Load") -> None:
        self.load = load
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.write(self.load.request)

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, separator, body = self.buffer.partition(b"\r\n\r\n")
        if not separator or len(body) < self.load.body_bytes:
            return
        assert head.startswith(b"HTTP/1.1 200"), self.buffer
        self.buffer = b""
        self.load.done += 1
        if self.load.is_running:
            self.transport.write(self.load.request)
        else:
            self.transport.close()


class Load:
    """A fixed number of connections for a fixed time."""

    def __init__(self, request: bytes, body_bytes: int) -> None:
        self.request = request
        self.body_bytes = body_bytes
        self.done = 0
        self.is_running = True

    async def run(self, port: int, seconds: float) -> float:
        """Return answered requests per second, after a quarter of the time as warm-up."""
        loop = asyncio.get_running_loop()
        for _ in range(CONNECTIONS):
            await loop.create_connection(lambda: Poller(self), "127.0.0.1", port)
        await asyncio.sleep(seconds / 4)
        before, started = self.done, time.perf_counter()
        await asyncio.sleep(seconds)
        rate = (self.done - before) / (time.perf_counter() - started)
        self.is_running = False
        await asyncio.sleep(0.1)
        assert rate, "nothing was answered"
        return rate


def request_bytes(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode() + body


def poll_request(uuid: str, token: str, version: int) -> bytes:
    headers = {
        "User-Agent": "gitea-runner/v3.3.0", "Connect-Protocol-Version": "1", "Content-Type": "application/proto",
        "Accept-Encoding": "gzip", "Connect-Timeout-Ms": "5000", "x-runner-uuid": uuid, "x-runner-token": token,
    }  # fmt: skip
    body = pb.FetchTaskRequest(tasks_version=version).SerializeToString()
    return request_bytes("/api/actions/runner.v1.RunnerService/FetchTask", body, headers)


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The least an ASGI application can do: one constant answer, the request unread."""
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


async def serve_bare() -> None:
    supervisor = Supervisor()
    listener = Listener(bare, bind("127.0.0.1", 0, setting="port"))
    await listener.start(supervisor)
    print(json.dumps({"port": listener.port}), flush=True)
    await asyncio.Event().wait()


def make_database(path: Path, finished: int) -> None:
    """Write a database that holds ``finished`` finished tasks, each with its job and run."""
    file = DatabaseFile(str(path))
    conn, _ = open_schema(file.engine(role="writer"), str(path))
    source = b"on: push\njobs: {j: {runs-on: linux, steps: [{run: 'true'}]}}\n"
    ids = range(1, finished + 1)
    shared = {"owner_id": 1, "repo_id": 1, "status": 1, "created_us": 1, "updated_us": 1, "stopped_us": 2}
    runs = {"workflow_file": "ci.yaml", "workflow_source": source, "event": "push", **shared}
    jobs = {"name": "j", "job_id": "j", "payload": source, **shared}
    tasks = {"runner_id": 1, "token_hash": "0" * 64, "token_salt": "s", "token_last_eight": "0" * 8, **shared}
    if finished:
        conn.execute(run.insert(), [{"id": n, "number": n, **runs} for n in ids])
        conn.execute(job.insert(), [{"id": n, "run_id": n, "task_id": n, **jobs} for n in ids])
        conn.execute(task.insert(), [{"id": n, "job_id": n, **tasks} for n in ids])
    conn.commit()
    conn.close()


def start_mock(database: str, ready: Path) -> list[str]:
    return [
        sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0", "--log-level", "warning",
        "--database", database, "--ready-file", str(ready),
    ]  # fmt: skip


def wait_for(path: Path) -> dict[str, Any]:
    for _ in range(2000):
        if path.exists():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        time.sleep(0.02)
    raise SystemExit(f"{path} did not appear")


def register(ready: dict[str, Any]) -> tuple[int, bytes]:
    """Create a runner, learn the current version, and return port and the request that finds nothing new."""
    made = httpx.post(f"{ready['control_url']}/control/v1/runners", json={"name": "bench", "labels": ["linux"]}).json()
    headers = {"x-runner-uuid": made["uuid"], "x-runner-token": made["token"], "Content-Type": "application/proto"}
    url = f"{ready['runner_url']}/api/actions/runner.v1.RunnerService/FetchTask"
    version = pb.FetchTaskResponse.FromString(httpx.post(url, headers=headers, content=b"").content).tasks_version
    port = int(ready["runner_url"].rsplit(":", 1)[1])
    return port, poll_request(made["uuid"], made["token"], version)


def measure(port: int, request: bytes, server: psutil.Process, seconds: float) -> tuple[float, float]:
    """Return requests per second, and the server's processor time per request in microseconds."""
    load = Load(request, 2)
    before = sum(server.cpu_times()[:2])
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        rate = runner.run(load.run(port, seconds))
    return rate, (sum(server.cpu_times()[:2]) - before) / load.done * 1e6


def compare(database: str, folder: Path, *, runs: int, seconds: float) -> dict[str, Any]:
    """Measure the bare application and the poll alternately over one database."""
    ready = folder / "ready.json"
    ready.unlink(missing_ok=True)
    rates: dict[str, list[float]] = {"bare": [], "fetch": []}
    costs: dict[str, list[float]] = {"bare": [], "fetch": []}
    with (
        process([sys.executable, __file__, "--serve-bare"], core=SERVER_CORE) as bare_server,
        process(start_mock(database, ready), core=SERVER_CORE) as mock_server,
    ):
        assert bare_server.stdout is not None
        bare_port = json.loads(bare_server.stdout.readline())["port"]
        port, poll = register(wait_for(ready))
        targets = {
            "bare": (bare_port, psutil.Process(bare_server.pid)),
            "fetch": (port, psutil.Process(mock_server.pid)),
        }
        for _ in range(runs):
            for name, (where, server) in targets.items():
                rate, cost_us = measure(where, poll, server, seconds)
                rates[name].append(rate)
                costs[name].append(cost_us)
    return {
        "bare_requests_per_s": summary(rates["bare"]),
        "fetch_requests_per_s": summary(rates["fetch"]),
        "ratio": summary([fetch / plain for plain, fetch in zip(rates["bare"], rates["fetch"], strict=True)]),
        "bare_cpu_us": summary(costs["bare"]),
        "fetch_cpu_us": summary(costs["fetch"]),
        "cpu_ratio": summary([plain / fetch for plain, fetch in zip(costs["bare"], costs["fetch"], strict=True)]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve-bare", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--smoke", action="store_true", help="one short iteration, no result file")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--finished", type=int, nargs="*", default=[10, 10_000, 200_000])
    options = parser.parse_args()
    if options.serve_bare:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve_bare())
        return
    if options.smoke:
        options.runs, options.seconds, options.finished = 1, 0.2, []
    pin(CLIENT_CORE)
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for finished in (None, *options.finished):
            database = ":memory:" if finished is None else str(folder / f"{finished}.db")
            if finished is not None:
                make_database(Path(database), finished)
            found = compare(database, folder, runs=options.runs, seconds=options.seconds)
            results["memory" if finished is None else f"{finished}_finished_tasks"] = found
            print(
                f"{finished or 'memory'}: {found['fetch_requests_per_s']['median']:.0f} of "
                f"{found['bare_requests_per_s']['median']:.0f} requests/s, ratio {found['ratio']['median']:.2f}, "
                f"processor time {found['fetch_cpu_us']['median']:.1f} against {found['bare_cpu_us']['median']:.1f} us",
                flush=True,
            )
    worst = min(found["ratio"]["median"] for found in results.values())
    print(f"worst median ratio {worst:.2f} (promised {PROMISE})")
    if not options.smoke:
        print(write_result("fetch_idle", {"promise_ratio": PROMISE, "connections": CONNECTIONS, "results": results}))


if __name__ == "__main__":
    main()
