"""What every benchmark here shares: the machine's description, pinned processes, medians and result files."""

import contextlib
import importlib.metadata
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("uvicorn", "uvloop", "httptools", "protobuf", "sqlalchemy", "fastapi")


def machine() -> dict[str, Any]:
    """Describe where and with what was measured."""
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "sqlite": sqlite3.sqlite_version,
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES},
    }


def commit() -> str:
    """Return the short commit, or `uncommitted` where there is none."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "uncommitted"


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return median, extremes and every value, rounded."""
    return {
        "median": round(statistics.median(values), 4),
        "min": round(min(values), 4),
        "max": round(max(values), 4),
        "values": [round(value, 4) for value in values],
    }


def write_result(name: str, content: dict[str, Any]) -> Path:
    """Write one result file and return its path."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{name}-{now:%Y-%m-%d}-{commit()}.json"
    full = {"benchmark": name, "at": now.isoformat(timespec="seconds"), "machine": machine(), **content}
    path.write_text(json.dumps(full, indent=2) + "\n")
    return path


def wait_for(path: Path) -> dict[str, Any]:
    """Return the content of a ready file once it is there."""
    for _ in range(2000):
        if path.exists():
            found: dict[str, Any] = json.loads(path.read_text())
            return found
        time.sleep(0.02)
    raise SystemExit(f"{path} did not appear")


def pin(core: int, pid: int = 0) -> None:
    """Keep a process (default: this one) on one core, where the system can and there is more than one."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > 1:
        os.sched_setaffinity(pid, {core})


@contextlib.contextmanager
def process(command: Sequence[str], *, core: int) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a child process pinned to a core, and end it."""
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    pin(core, child.pid)
    try:
        yield child
    finally:
        child.terminate()
        child.wait(20)
