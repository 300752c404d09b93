"""Fifty runners claim five thousand jobs at once: is any job handed out twice, is any lost, and how fast does it go?

Over HTTP against a real server process on a database file. The answer counts; the speed is recorded beside it.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import psutil
import uvloop
from _measuring import pin, process, wait_for, write_result

from actionswire.gen.runner.v1 import runner_pb2 as pb

CLAIMERS = 50
JOBS = 5000
JOBS_PER_RUN = 250
SERVER_CORE, CLIENT_CORE = 0, 1
PATH = "/api/actions/runner.v1.RunnerService/FetchTask"
EMPTY_POLLS_MAX = 3000
"""A claimer gives up after this many answers without a task in a row; throttled answers are such."""
LAST_POLLS = 3
"""How often each claimer asks once more when as many jobs as there are have been claimed: is one handed out twice?"""
PAUSE_S = 0.02
"""After an answer without a task; else the claimers that are throttled take the server from those that are not."""


class Claimer:
    """One keep-alive connection of one runner that fetches until nothing is left."""

    def __init__(self, port: int, uuid: str, token: str, jobs: int) -> None:
        self.port = port
        self.jobs = jobs
        self.claimed: list[tuple[int, str]] = []
        self.calls = 0
        self.last_at = 0.0
        self.head = (
            f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\nContent-Length: 0\r\n"
            f"x-runner-uuid: {uuid}\r\nx-runner-token: {token}\r\n\r\n"
        ).encode()

    async def run(self, everything: list[int]) -> None:
        """Claim until nothing is left; ``everything`` gathers the task ids of all claimers."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        empty = 0
        while empty < (LAST_POLLS if len(everything) >= self.jobs else EMPTY_POLLS_MAX):
            writer.write(self.head)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
            answer = pb.FetchTaskResponse.FromString(await reader.readexactly(int(length.partition(b":")[2])))
            self.calls += 1
            if not answer.HasField("task"):
                empty += 1
                await asyncio.sleep(PAUSE_S)
                continue
            empty = 0
            self.last_at = time.perf_counter()
            context = answer.task.context
            everything.append(answer.task.id)
            self.claimed.append((answer.task.id, f"{context['run_id']}/{answer.task.workflow_payload.decode()}"))
        writer.close()


def enqueue(ready: dict[str, Any], jobs: int) -> None:
    """Make ``jobs`` waiting jobs in runs of a matrix each."""
    while jobs > 0:
        count = min(jobs, JOBS_PER_RUN)
        workflow = f"on: push\njobs:\n  j:\n    strategy:\n      matrix:\n        n: {list(range(count))}\n"
        workflow += "    runs-on: linux\n    steps:\n      - run: 'true'\n"
        body = {"repository": "demo/demo", "workflow_file": "ci.yaml", "workflow": workflow, "event": "push"}
        httpx.post(f"{ready['control_url']}/control/v1/enqueue", json=body, timeout=60).raise_for_status()
        jobs -= count


def make_claimers(ready: dict[str, Any], jobs: int) -> list[Claimer]:
    port = int(ready["runner_url"].rsplit(":", 1)[1])
    url = f"{ready['control_url']}/control/v1/runners"
    with httpx.Client() as client:
        made = [client.post(url, json={"name": f"r{n}", "labels": ["linux"]}).json() for n in range(CLAIMERS)]
    return [Claimer(port, one["uuid"], one["token"], jobs) for one in made]


async def race(claimers: list[Claimer]) -> float:
    """Return the seconds until the last job was claimed."""
    everything: list[int] = []
    started = time.perf_counter()
    await asyncio.gather(*(claimer.run(everything) for claimer in claimers))
    return max(claimer.last_at for claimer in claimers) - started


def measure(folder: Path, jobs: int) -> dict[str, Any]:
    ready_file = folder / "ready.json"
    mock = [
        sys.executable, "-m", "mockgitea", "serve", "--port", "0", "--control-port", "0", "--log-level", "warning",
        "--database", str(folder / "mock.db"), "--ready-file", str(ready_file),
    ]  # fmt: skip
    with process(mock, core=SERVER_CORE) as server:
        ready = wait_for(ready_file)
        enqueue(ready, jobs)
        claimers = make_claimers(ready, jobs)
        used = psutil.Process(server.pid).cpu_times()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            seconds = runner.run(race(claimers))
        used_after = psutil.Process(server.pid).cpu_times()
    claimed = [one for claimer in claimers for one in claimer.claimed]
    return {
        "jobs": jobs,
        "claimers": CLAIMERS,
        "claimed": len(claimed),
        "twice": len(claimed) - min(len({task for task, _ in claimed}), len({job for _, job in claimed})),
        "lost": jobs - len({job for _, job in claimed}),
        "calls": sum(claimer.calls for claimer in claimers),
        "seconds": round(seconds, 2),
        "claims_per_s": round(len(claimed) / seconds, 1),
        "cpu_ms_per_claim": round((sum(used_after[:2]) - sum(used[:2])) / len(claimed) * 1e3, 2),
        "idle_claimers": sum(not claimer.claimed for claimer in claimers),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--smoke", action="store_true", help="few jobs, no result file")
    options = parser.parse_args()
    pin(CLIENT_CORE)
    with tempfile.TemporaryDirectory() as name:
        result = measure(Path(name), 200 if options.smoke else JOBS)
    print(result)
    if not options.smoke:
        print(write_result("claims", result))
    raise SystemExit(bool(result["twice"] or result["lost"]))


if __name__ == "__main__":
    main()
