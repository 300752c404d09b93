"""The Go, TypeScript and Rust recipes of examples/clients run where their toolchain is installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CLIENTS = Path(__file__).resolve().parents[2] / "examples" / "clients"
TIMEOUT_S = 300
STRIPS_TYPES_FROM = 22
"""First major version of Node that runs TypeScript by itself."""


def run(folder: Path, *command: str, tmp_path: Path) -> str:
    """Run a recipe's command with our own server as `mockgitea`; its output is the failure's text."""
    mockgitea = Path(sys.executable).with_name("mockgitea")
    # Go's own cache is left to it: without one it compiles its standard library first, for most of a minute.
    private = {"GOPATH": "go", "CARGO_TARGET_DIR": "target", "GOFLAGS": "-mod=mod"}
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MOCKGITEA", "GITEA"))}
    environment |= {name: value if "=" in value else str(tmp_path / value) for name, value in private.items()}
    environment |= {"MOCKGITEA": str(mockgitea), "GOTOOLCHAIN": "local", "GOPROXY": "off"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-8000:]
    return output


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"{program} is not installed")


@pytest.mark.slow
@needs("go")
def test_go_recipe_passes(tmp_path: Path) -> None:
    assert "--- PASS: TestRunnerFinishesItsTask" in run(
        CLIENTS / "go", "go", "test", "-count=1", "-v", "./...", tmp_path=tmp_path
    )


def without_types(source: str) -> str:
    """Take the few type annotations of the recipe away, for a Node that cannot."""
    source = re.sub(r"^type Json = .*\n", "", source, flags=re.MULTILINE)
    source = source.replace("{ type ChildProcess, spawn }", "{ spawn }")
    source = re.sub(r"^let (\w+): .*;$", r"let \1;", source, flags=re.MULTILINE)
    source = re.sub(r": Promise<\w+>", "", source)
    return re.sub(r"(\w+)\??: (?:Json|string|Record<string, string>)(?=[,) ])", r"\1", source)


@pytest.mark.slow
@needs("node")
def test_typescript_recipe_passes(tmp_path: Path) -> None:
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if int(version.strip().lstrip("v").partition(".")[0]) >= STRIPS_TYPES_FROM:
        command = ["node", "--experimental-strip-types", "--test", "mock.test.ts"]
        output = run(CLIENTS / "typescript", *command, tmp_path=tmp_path)
    else:
        source = (CLIENTS / "typescript" / "mock.test.ts").read_text(encoding="utf-8")
        (tmp_path / "mock.test.mjs").write_text(without_types(source), encoding="utf-8")
        output = run(tmp_path, "node", "--test", "mock.test.mjs", tmp_path=tmp_path)
    assert re.search(r"# pass 1|pass 1", output), output


@pytest.mark.slow
@needs("cargo")
def test_rust_recipe_passes(tmp_path: Path) -> None:
    folder = tmp_path / "rust"
    shutil.copytree(CLIENTS / "rust", folder, ignore=shutil.ignore_patterns("target"))
    output = run(folder, "cargo", "run", "--offline", "--quiet", tmp_path=tmp_path)
    assert "the audit is clean" in output
