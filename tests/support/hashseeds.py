"""Output of a script under different hash seeds and interpreters: what is deterministic has the same bytes in all."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HASH_SEEDS = ("1", "4242")
OTHER_PYTHON_ENV = "OTHER_PYTHON"
"""Path of an interpreter of another version that has the project's dependencies; `make lab-test` makes one."""
_PACKAGES = [str(Path(__file__).resolve().parents[2] / part) for part in ("server", "runner", "shared/python")]


def outputs_by_hash_seed(script: str, *, within_s: float) -> list[bytes]:
    """Run ``script`` in a fresh interpreter once for each seed and return what it printed."""
    return [output(script, sys.executable, seed, within_s=within_s) for seed in HASH_SEEDS]


def output(script: str, python: str, seed: str, *, within_s: float) -> bytes:
    """Run ``script`` once and return what it printed."""
    return subprocess.run(
        [python, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(_PACKAGES)},
        capture_output=True,
        check=True,
        timeout=within_s,
    ).stdout


def other_python(*modules: str) -> str:
    """Return an interpreter of another minor version that can import ``modules``; skips the test without one."""
    named = os.environ.get(OTHER_PYTHON_ENV)
    mine = f"python{sys.version_info.major}.{sys.version_info.minor}"
    names = [named] if named else [f"python3.{minor}" for minor in (13, 12, 11, 14)]
    for name in names:
        found = shutil.which(name)
        if found is None or (not named and Path(found).name == mine):
            continue
        check = f"import sys, {', '.join(modules)}; sys.exit(sys.version_info < (3, 11))"
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(_PACKAGES)}
        if subprocess.run([found, "-c", check], env=env, capture_output=True, check=False).returncode == 0:
            return found
        if named:
            raise AssertionError(f"{OTHER_PYTHON_ENV}={named} cannot import {', '.join(modules)}")
    pytest.skip(f"no other Python with the dependencies; set {OTHER_PYTHON_ENV}, or `make lab-test OTHER_PYTHON=...`")
