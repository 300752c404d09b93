"""The command line: start-up, exit statuses, messages. Commands that run jobs are covered by the conformance cases."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from actionsrunner.cli import main
from actionsrunner.commands.generate_config import render_config
from actionsrunner.config import load_config, parse_config
from actionsrunner.exits import Exit
from actionsrunner.settings import KEYS
from actionsrunner.strategy_keys import STRATEGY_KEYS

HEAVY = ("httpx", "fastapi", "sqlalchemy", "grpc", "google.protobuf", "mockgitea", "actionsrunner.engine", "structlog")


def run(folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITEA_", "RUNNER_"))}
    return subprocess.run(
        [sys.executable, "-m", "actionsrunner", *arguments], cwd=folder, env={**kept, **variables},
        capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom actionsrunner.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([m for m in sys.modules if m.startswith({HEAVY!r})], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "daemon" in done.stdout
    assert done.stderr.strip() == "[]"


def test_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("actionsrunner ")


def test_no_command_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == Exit.USAGE
    assert "usage:" in capsys.readouterr().err


def test_generated_config_gives_the_defaults_without_a_warning() -> None:
    config = parse_config(render_config(), "generated")
    assert config.values == load_config(None).values
    assert config.warnings == ()
    # What a strategy takes by itself stays its own business, so those keys are there as comments.
    assert config.given == {key.name for key in KEYS} - {key.name for key in STRATEGY_KEYS}


def test_generated_config_without_its_comment_marks_is_valid_too() -> None:
    text = re.sub(r"^( *)#(?=\w)", r"\1", render_config(), flags=re.MULTILINE)
    config = parse_config(text, "generated")
    assert config.values == load_config(None).values
    assert config.given == {key.name for key in KEYS}


def test_generated_config_says_what_has_no_effect() -> None:
    text = " ".join(line.strip().removeprefix("# ") for line in render_config().splitlines())
    for key in KEYS:
        if key.idle:
            assert f"(no effect: {key.idle})" in text


def test_config_may_stand_before_or_after_the_command(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("runner: {capacity: x}")
    for arguments in (["-c", "c.yaml", "daemon"], ["daemon", "--config", "c.yaml"]):
        done = run(tmp_path, *arguments)
        assert done.returncode == Exit.FAILED
        assert "`runner.capacity`" in done.stderr
        assert "Traceback" not in done.stderr


def test_daemon_without_registration_says_what_to_do(tmp_path: Path) -> None:
    done = run(tmp_path, "daemon")
    assert done.returncode == Exit.FAILED
    assert "actionsrunner register" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--instance", "x"], "--instance"),
        (["--instance", "http://127.0.0.1:1"], "--token"),
        (["--instance", "http://127.0.0.1:1", "--token-file", "none"], "token file none"),
        (["--instance", "http://127.0.0.1:1", "--token", "t", "--labels", ":host"], "is not a label"),
    ],
)
def test_register_with_something_missing_names_the_flag(tmp_path: Path, arguments: list[str], words: str) -> None:
    done = run(tmp_path, "register", "--no-interactive", *arguments)
    assert done.returncode == Exit.FAILED
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_interactive_register_without_anybody_to_ask_ends(tmp_path: Path) -> None:
    done = run(tmp_path, "register")
    assert done.returncode == Exit.FAILED
    assert "--no-interactive" in done.stderr


def test_broken_registration_is_explained(tmp_path: Path) -> None:
    (tmp_path / ".runner").write_text(json.dumps({"uuid": "u"}))
    done = run(tmp_path, "daemon")
    assert done.returncode == Exit.FAILED
    assert "`token` is missing" in done.stderr


WORKFLOW = """
on: push
jobs:
  a:
    runs-on: x
    outputs: {v: "${{ steps.s.outputs.v }}"}
    steps:
      - {id: s, run: 'echo v=42 >> $GITHUB_OUTPUT; echo "hush ${{ secrets.S }}"'}
  b:
    needs: a
    runs-on: x
    strategy: {matrix: {n: [1, 2]}}
    steps:
      - run: echo got ${{ needs.a.outputs.v }} ${{ matrix.n }} $E ${{ vars.V }}; exit $CODE
"""


@pytest.mark.parametrize(("code", "status"), [("0", Exit.OK), ("3", Exit.FAILED)])
def test_exec_runs_a_file_in_order(tmp_path: Path, code: str, status: Exit) -> None:
    (tmp_path / "w.yaml").write_text(WORKFLOW)
    (tmp_path / "c.yaml").write_text(json.dumps({"host": {"workdir_parent": str(tmp_path / "jobs")}}))
    flags = ("-s", "S", "--env", "E=e", "--env", f"CODE={code}", "--var", "V=v")
    done = run(tmp_path, "-c", "c.yaml", "exec", "w.yaml", *flags, S="geheim")
    assert done.returncode == status, done.stderr
    lines = done.stdout.splitlines()
    assert "a | hush ***" in lines
    assert lines.index("b (1) | got 42 1 e v") < lines.index("b (2) | got 42 2 e v")
    assert "geheim" not in done.stdout
    assert lines[-3:] == ["a      success", *(f"b ({n})  {'success' if code == '0' else 'failure'}" for n in (1, 2))]


def test_exec_of_a_broken_file_is_explained(tmp_path: Path) -> None:
    (tmp_path / "w.yaml").write_text("jobs: {a: {needs: z}}")
    done = run(tmp_path, "exec", "w.yaml")
    assert done.returncode == Exit.FAILED
    assert "w.yaml: jobs.a.needs: there is no job `z`" in done.stderr
    assert "Traceback" not in done.stderr


def test_exec_of_a_missing_file_is_explained(tmp_path: Path) -> None:
    done = run(tmp_path, "exec", "none.yaml")
    assert done.returncode == Exit.FAILED
    assert "none.yaml" in done.stderr
