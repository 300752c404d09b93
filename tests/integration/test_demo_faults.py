"""`make demo-faults` with QUICK=1, as a process: it ends as narrated, tells its facts, and stops cleanly."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from eventually import eventually
from serverproc import scrubbed_environment

ROOT = Path(__file__).resolve().parents[2]
DEMO_S_MAX = 150.0
FACTS = (
    "a healthy fleet, every job running; seen: all rows flow",
    "requests per second: before ",
    "all 3 runners are back within 3 s; seen: 3 are back",
    "no herd: the busiest second after recovery is at most 3 times the mean before; seen: ",
    "3 of 3 succeeded, 3 logs have all ",
    "1 arrived, 1 request key",
    ": running, 0 reports",
    "the reaper fails the task; seen: failure",
    "the job ends cancelled; seen: cancelled",
    "2 of 2 processes ran before, 0 run now",
    "note (expected: its answer was lost)",
    "gitea-1.27: no rule broken but by the staged loss; seen: 0 unexpected findings",
    "forgejo-15: no rule broken but by the staged loss; seen: 0 unexpected findings",
    "▓",
    " as narrated",
)

pytestmark = pytest.mark.slow


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    environment = scrubbed_environment() | {"QUICK": "1", "TMPDIR": str(tmp_path), "PYTHONIOENCODING": "utf-8"}
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "scripts" / "demo_faults.py")],
        cwd=tmp_path, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, encoding="utf-8",
    )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_demo_faults_quick_ends_as_narrated(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    told, _ = demo.communicate(timeout=DEMO_S_MAX)
    assert demo.returncode == 0, told
    assert [fact for fact in FACTS if fact not in told] == [], told
    assert "  NO  " not in told
    assert "\x1b" not in told, "colours without a terminal"
    assert list(tmp_path.iterdir()) == []


def test_demo_faults_interrupted_ends_every_process(demo: subprocess.Popen[str], tmp_path: Path) -> None:
    assert demo.stdout is not None
    next(line for line in demo.stdout if line.startswith("Downtime"))
    children = psutil.Process(demo.pid).children(recursive=True)
    assert len(children) >= 6  # two servers and four runners
    os.kill(demo.pid, signal.SIGINT)
    told, _ = demo.communicate(timeout=60)
    assert demo.returncode == 130, told
    assert "stopped; every process that was started has ended" in told
    eventually(lambda: not any(child.is_running() for child in children))
    assert list(tmp_path.iterdir()) == []
