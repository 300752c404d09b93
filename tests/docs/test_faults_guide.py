"""Every snippet of docs/faults.md runs: commands against a real server, JSON as rules, Python against an App."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from faultcase import SEED, FaultCase
from mockgitea.clock import MovableClock
from mockgitea.transport.fault_gate import FaultGate
from serverproc import ServerProcess

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "faults.md").read_text(encoding="utf-8")


def snippets(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", GUIDE, flags=re.MULTILINE | re.DOTALL)


def rules() -> list[dict[str, Any]]:
    return [json.loads(line) for text in snippets("json") for line in text.splitlines()]


@pytest.fixture(scope="module")
def guide_server() -> Iterator[FaultCase]:
    case = FaultCase(ServerProcess("--port", "0", "--control-port", "0", "--seed", SEED), "gitea-1.27")
    yield case
    case.server.stop()


def test_the_guide_has_snippets_of_every_language() -> None:
    assert all(len(snippets(language)) > 0 for language in ("sh", "json", "python"))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule["name"])
def test_json_snippets_are_rules(guide_server: FaultCase, rule: dict[str, Any]) -> None:
    guide_server.heal()
    path = "/downtime" if "duration_s" in rule else "/faults"
    made = guide_server.control("POST", path, rule)
    assert {name: made[name] for name in rule} == rule


@pytest.mark.slow
@pytest.mark.parametrize("text", snippets("sh"), ids=lambda text: " ".join(text.split()[:3]))
def test_shell_snippets_run(guide_server: FaultCase, text: str) -> None:
    guide_server.heal()
    control = guide_server.ready["control_url"]
    environment = {**os.environ, "MOCKGITEA_CONTROL_URL": control, "NO_PROXY": "*"}
    command = f'set -e\nmockgitea() {{ {shlex.quote(sys.executable)} -m mockgitea "$@"; }}\n{text}'
    command = command.replace("curl -s localhost:3001", f"curl -sf {control}")
    done = subprocess.run(
        ["bash", "-c", command], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_python_snippets_run() -> None:
    async def main() -> None:
        app = SimpleNamespace(faults=FaultGate(MovableClock("manual")))
        for text in snippets("python"):
            exec(compile(text, "docs/faults.md", "exec"), {"app": app})
        assert not app.faults.is_active

    asyncio.run(main())
