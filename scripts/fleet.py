"""Small questions and orders to a running playground: runs, rows, recorded calls, processes; every wait is bounded.

Knows the control API through `Playground` and nothing of what is staged with it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playground import Playground

FINAL = {"success", "failure", "cancelled", "skipped"}
WAIT_S_MAX = 20.0
LOOK_S = 0.1
CALLS_MAX = 10_000


def until(probe: Callable[[], bool], within_s: float = WAIT_S_MAX) -> bool:
    """Look again and again until the probe holds; False when it never did."""
    deadline = time.monotonic() + within_s
    while not probe():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_S)
    return True


def enqueue(ground: Playground, name: str, script: str) -> int:
    """Hand in a run of one job with one step; returns the run's number in the API."""
    step = {"run": script}
    workflow = {"on": "push", "jobs": {"job": {"runs-on": "ubuntu-latest", "steps": [step]}}}
    body = {"repository": "demo/demo", "workflow_file": f"{name}.yml", "workflow": json.dumps(workflow)}
    return int(ground.control("POST", "/enqueue", json=body)["run_id"])


def status(ground: Playground, run_id: int) -> str:
    """The run's status."""
    return str(ground.control("GET", f"/runs/{run_id}")["status"])


def ended(ground: Playground, run_id: int) -> str:
    """Wait for the run's end; returns its status, which is not final when it took too long."""
    until(lambda: status(ground, run_id) in FINAL)
    return status(ground, run_id)


def task_of(ground: Playground, run_id: int) -> dict[str, Any]:
    """The latest task of the run's only job, empty while there is none."""
    return ground.control("GET", f"/runs/{run_id}")["jobs"][0]["task"] or {}


def rows_of(ground: Playground, run_id: int) -> list[str]:
    """The rows of the run's only job, without their times."""
    task = task_of(ground, run_id)
    if not task:
        return []
    text = ground.control_text(f"/tasks/{task['id']}/log")
    return [line.partition(" ")[2] for line in text.splitlines()]


def calls(ground: Playground, **match: Any) -> list[dict[str, Any]]:
    """The recorded calls that match, oldest first."""
    answer = ground.control("POST", "/journal/query", json={"match": match, "limit": CALLS_MAX})
    return list(answer["entries"])


def is_alive(pid: int) -> bool:
    """True while the process runs; one that has ended and was not waited for does not."""
    if not Path("/proc/self/stat").exists():
        return _is_known(pid)
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def _is_known(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's process
    return True
