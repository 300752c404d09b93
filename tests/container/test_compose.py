"""`docker compose up` as the README says: server, two runners, a few examples, and a page that shows them."""

import json
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from eventually import eventually

pytestmark = pytest.mark.container
ROOT = Path(__file__).resolve().parents[2]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)


def get(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return bytes(answer.read())


def test_compose_up_runs_the_examples_and_shows_them(compose: list[str]) -> None:
    up = run([*compose, "up", "--build", "--detach"])
    assert up.returncode == 0, up.stderr[-4000:]
    published = run([*compose, "port", "server", "3001"]).stdout.strip()
    control = f"http://{published}"

    def runs() -> list[Any]:
        return list(json.loads(get(f"{control}/control/v1/runs"))["runs"])

    done = eventually(
        runs, lambda seen: len(seen) >= 3 and all(one["status"] == "success" for one in seen), within_s=90
    )
    runners = json.loads(get(f"{control}/control/v1/runners"))["runners"]
    assert len(runners) == 2
    page = get(f"{control}/").decode()
    assert all(f"/runs/{one['id']}" in page for one in done)
