"""`make demo`: example workflows on a fresh server with two runners, live progress, and a summary table.

Every job is watched through the page's own polling JSON, once a second, so the first-row latency shown is what a
person with the page open would have waited. Exit code 0 only if every run ended as its file says it should.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
from playground import EXAMPLES, ROOT, Playground
from rich.console import Console
from rich.live import Live
from rich.table import Table

from actionswire import workflow_yaml

FINAL = {"success", "failure", "cancelled", "skipped"}
PAGE_S = 1.0
DEMO_S_MAX = 240.0
COLOURS = {"success": "green", "failure": "red", "cancelled": "yellow", "running": "cyan"}
METHODS = ("FetchTask", "UpdateLog", "UpdateTask")


@dataclass
class Example:
    """One workflow file, what it should end as, and the run made of it."""

    path: Path
    expected: str
    event: str
    run: dict[str, Any] = field(default_factory=dict)


@dataclass
class Seen:
    """What a watcher of one job's page saw."""

    first_row_s: float | None = None


def load(paths: list[Path]) -> list[Example]:
    """Read the expectation in each file's first line and the event that triggers it."""
    examples = []
    for path in paths:
        text = path.read_text()
        first = text.splitlines()[0]
        if not first.startswith("# expect: "):
            raise SystemExit(f"{path}: the first line must be `# expect: success` or `# expect: failure`")
        trigger: Any = workflow_yaml.load(text)["on"]
        events = [trigger] if isinstance(trigger, str) else list(trigger)
        examples.append(Example(path, first.removeprefix("# expect: ").strip(), events[0]))
    return examples


def enqueue(ground: Playground, example: Example) -> list[int]:
    """Hand one workflow file to the server; returns its jobs' numbers."""
    body = {
        "repository": "demo/demo",
        "workflow_file": example.path.name,
        "workflow": example.path.read_text(),
        "event": example.event,
        "secrets": {"DEMO_SECRET": "a-secret-that-no-row-shows"},
        "vars": {"MOCKGITEA_CHECKOUT": str(ROOT)},
    }
    made = ground.control("POST", "/enqueue", json=body)
    example.run = {"id": made["run_id"], "number": made["run_number"], "status": "waiting", "jobs": []}
    return [job["id"] for job in made["jobs"]]


async def watch_job(client: httpx.AsyncClient, path: str, seen: Seen) -> None:
    """Poll one job's page until its run is done and one look longer, as a person who then opens a step would."""
    cursors: dict[int, int | None] = {}
    is_done = False
    while True:
        tick = time.monotonic()
        body = {"logCursors": [{"step": step, "cursor": at, "expanded": True} for step, at in cursors.items()]}
        answer = await client.post(path, json=body)
        if answer.is_success:
            page = answer.json()
            for log in page["logs"]["stepsLog"] or []:
                cursors[log["step"]] = log["cursor"]
                if log["lines"] and seen.first_row_s is None:
                    seen.first_row_s = time.time() - log["lines"][0]["timestamp"]
            for step in range(len(page["state"]["currentJob"]["steps"] or [])):
                cursors.setdefault(step, None)
            if is_done:
                return
            is_done = page["state"]["run"]["done"]
        await asyncio.sleep(max(0.0, PAGE_S - (time.monotonic() - tick)))


def progress(examples: list[Example]) -> Table:
    """The live view: one line a run."""
    table = Table(title="runs", title_justify="left")
    for column in ("run", "workflow", "status", "jobs"):
        table.add_column(column)
    for example in examples:
        jobs = example.run.get("jobs", [])
        done = sum(job["status"] in FINAL for job in jobs)
        table.add_row(
            f"#{example.run.get('number', '-')}",
            example.path.name,
            coloured(example.run.get("status", "")),
            f"{done}/{len(jobs)}",
        )
    return table


def coloured(status: str) -> str:
    """A status in its colour."""
    colour = COLOURS.get(status)
    return f"[{colour}]{status}[/{colour}]" if colour else status


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Seconds from one ISO time to another, None when either is missing."""
    if not start or not end:
        return None
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


def text(value: float | None) -> str:
    """A duration for the table."""
    return "-" if value is None else f"{value:.1f} s"


async def follow(ground: Playground, examples: list[Example], console: Console) -> dict[int, Seen]:
    """Enqueue everything, poll the runs twice a second, and watch every job's page from the moment it exists."""
    seen: dict[int, Seen] = {}
    watchers: list[asyncio.Task[None]] = []
    deadline = time.monotonic() + DEMO_S_MAX
    shown: dict[int, str] = {}
    async with httpx.AsyncClient(base_url=ground.runner_url, timeout=10) as client:

        def watch(run_id: int, job_ids: list[int]) -> None:
            for job_id in job_ids:
                if job_id not in seen:
                    seen[job_id] = Seen()
                    path = f"/demo/demo/actions/runs/{run_id}/jobs/{job_id}"
                    watchers.append(asyncio.ensure_future(watch_job(client, path, seen[job_id])))

        for example in examples:
            job_ids = await asyncio.to_thread(enqueue, ground, example)
            watch(example.run["id"], job_ids)
        with Live(progress(examples), console=console, refresh_per_second=4, transient=True) as live:
            while time.monotonic() < deadline and not ground.server_ended():
                for example in examples:
                    example.run = await asyncio.to_thread(ground.control, "GET", f"/runs/{example.run['id']}")
                    watch(example.run["id"], [job["id"] for job in example.run["jobs"]])
                    if not console.is_terminal and shown.get(example.run["id"]) != example.run["status"]:
                        shown[example.run["id"]] = example.run["status"]
                        console.print(f"#{example.run['number']} {example.path.name}: {example.run['status']}")
                live.update(progress(examples))
                if all(example.run["status"] in FINAL for example in examples):
                    break
                await asyncio.sleep(0.5)
        await asyncio.wait_for(asyncio.gather(*watchers, return_exceptions=True), 10 * PAGE_S)
    return seen


def requests_by_task(ground: Playground) -> dict[str, dict[str, int]]:
    """Count the journal's UpdateLog and UpdateTask calls of every task."""
    counts: dict[str, dict[str, int]] = {}
    for method in ("UpdateLog", "UpdateTask"):
        for entry in ground.control("GET", "/journal", params={"method": method, "limit": 1000})["entries"]:
            request = entry.get("request") or {}
            task = str(request.get("taskId") or (request.get("state") or {}).get("id") or "")
            counts.setdefault(task, {}).setdefault(method, 0)
            counts[task][method] += 1
    return counts


def summary(ground: Playground, examples: list[Example], seen: dict[int, Seen]) -> Table:
    """The table at the end: run, job, result, pickup time, first-row latency, requests by method."""
    counts = requests_by_task(ground)
    table = Table(title="summary", title_justify="left")
    for column in (
        "run",
        "workflow",
        "job",
        "result",
        "expected run",
        "pickup",
        "first row after",
        "UpdateLog",
        "UpdateTask",
    ):
        table.add_column(
            column, justify="right" if column in {"pickup", "first row after", "UpdateLog", "UpdateTask"} else "left"
        )
    for example in examples:
        for position, job in enumerate(example.run["jobs"]):
            task = job["task"] or {}
            count = counts.get(str(task["id"]), {}) if task else {}
            verdict = ""
            if position == 0:
                good = example.run["status"] == example.expected
                verdict = f"{example.expected} {'[green]yes[/green]' if good else '[red]NO[/red]'}"
            table.add_row(
                f"#{example.run['number']}" if position == 0 else "",
                example.path.name if position == 0 else "",
                job["name"],
                coloured(job["status"]),
                verdict,
                text(seconds_between(job["created_at"], task.get("created_at"))),
                text(seen.get(job["id"], Seen()).first_row_s),
                str(count.get("UpdateLog", "-")),
                str(count.get("UpdateTask", "-")),
            )
    return table


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("workflows", nargs="*", type=Path, help="workflow files; default: all examples")
    options = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "150")))
    examples = load(options.workflows or sorted(EXAMPLES.glob("*.yml")))
    began = time.monotonic()
    console.print("starting a fresh server and two runners ...")
    with Playground(
        2, serve_arguments=["--port", "0", "--control-port", "0"], runner_settings={"capacity": 3}
    ) as ground:
        console.print(
            f"page: {ground.control_url}/   profile: {ground.ready['profile']}   seed: {ground.ready['seed']}"
        )
        seen = asyncio.run(follow(ground, examples, console))
        console.print(summary(ground, examples, seen))
        calls = ground.control("GET", "/counters")["calls"]
        elapsed = time.monotonic() - began
        line = ", ".join(f"{method} {sum(calls.get(method, {}).values())}" for method in METHODS)
        console.print(f"requests of both runners in {elapsed:.0f} s: {line}")
        wrong = [example for example in examples if example.run["status"] != example.expected]
        for example in wrong:
            console.print(f"[red]{example.path.name}: {example.run['status']}, expected {example.expected}[/red]")
        if wrong:
            console.print(ground.tail("server", 2000) + ground.tail("runner-1", 2000))
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
