"""Every snippet of docs/lab.md runs, and its tables list what there is."""

import dataclasses
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from mockgitea.cli import main
from mockgitea.lab.result import Result
from mockgitea.lab.run import run
from mockgitea.lab.scenario_reader import PRESETS, parse
from mockgitea.lab.shapes import SHAPE_NAMES
from serverproc import ServerProcess

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")
FULL, MORNING = re.findall(r"^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = re.findall(r"^mockgitea (lab[^#\n]*)", TEXT, re.MULTILINE)
SIMULATING = [command for command in COMMANDS if "compare" not in command and "--attach" not in command]


def section(title: str) -> str:
    return TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_commands_of_the_guide_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my-scenario.yaml").write_text(FULL)
    for command in SIMULATING:
        # One runner: the fleet's size is what makes them slow.
        assert main([*shlex.split(command), "--runners", "1"]) == 0, capsys.readouterr().err
        assert "all requests" in capsys.readouterr().out
    (compare,) = (command for command in COMMANDS if "compare" in command)
    assert main(shlex.split(compare)) == 0
    assert "0 figures differ, 0 are worse by more than 10%" in capsys.readouterr().out
    assert {path.name for path in tmp_path.iterdir()} == {
        "my-scenario.yaml", "report.html", "old.json", "old.csv", "new.json",
    }  # fmt: skip


def test_attach_recipe_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (serve,) = re.findall(r"^mockgitea serve (.*)$", TEXT, re.MULTILINE)
    (attach,) = (command for command in COMMANDS if "--attach" in command)
    server = ServerProcess(*serve.replace("3000", "0").replace("3001", "0").split())
    try:
        words = [server.ready["control_url"] if word.startswith("http") else word for word in shlex.split(attach)]
        assert main([*words, "--duration", "1s"]) == 0
    finally:
        server.stop()
    assert (tmp_path / "attached.html").exists()


def test_python_snippet_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = re.findall(r"^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(snippet, names)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["single", "current"]
    assert names["text"].startswith("{\n")


def test_the_scenario_with_faults_runs_and_its_jobs_end() -> None:
    scenario = parse(MORNING, name="test")
    tasks = run(scenario, scenario.strategies[0]).tasks
    assert tasks["closed"] > 0
    assert len(scenario.faults) == 4
    assert len(scenario.downtime) == 2


def test_guide_lists_exactly_the_presets_and_the_shapes() -> None:
    rows = re.findall(
        r"^\| (`[a-z0-9-]+`(?:, `[a-z0-9-]+`)*) \|", section("Scenario files").partition("\n### ")[0], re.MULTILINE
    )
    listed = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(listed) == sorted([*SHAPE_NAMES, "mixed", "recorded", *PRESETS])


def test_guide_explains_every_part_of_a_result() -> None:
    plain = {"format", "scenario", "strategy", "setup", "window"}
    explained = set(re.findall(r"`([a-z_]+)", section("Figures")))
    assert {field.name for field in dataclasses.fields(Result)} - plain <= explained
