"""Images built once per session where an engine is present; elsewhere every test here skips with the reason."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BASE_IMAGE = "MOCKGITEA_TEST_PYTHON_IMAGE"
BUILD_S_MAX = 600

# The reaper image cannot be pulled without a registry, so containers are stopped in `finally` instead.
os.environ.setdefault("TESTCONTAINERS_RYUK_DISABLED", "true")
if Path("/.dockerenv").exists():
    os.environ.setdefault("TESTCONTAINERS_CONNECTION_MODE", "docker_host")


def sh(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_S_MAX, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.fixture(scope="session")
def engine() -> str:
    """The engine's version; skips when there is none."""
    if shutil.which("docker") is None:
        pytest.skip("no docker client on this machine")
    version = sh("docker", "version", "--format", "{{.Server.Version}}")
    if version.returncode != 0:
        pytest.skip("no container engine answers on this machine")
    return version.stdout.strip()


@pytest.fixture(scope="session")
def base_image(engine: str) -> str:
    """A Python base image: named by the environment, else made from Debian packages."""
    assert engine
    if named := os.environ.get(BASE_IMAGE):
        return named
    if shutil.which("mmdebstrap") is None or os.geteuid() != 0:
        pytest.skip(f"no base image: set {BASE_IMAGE}, or run as root with mmdebstrap installed")
    made = sh("scripts/offline_base_image.sh")
    assert made.returncode == 0, made.stderr[-3000:]
    return made.stdout.strip()


@pytest.fixture(scope="session")
def images(base_image: str) -> dict[str, str]:
    """Both images under names of their own."""
    built = {}
    for name in ("server", "runner"):
        tag = f"mockgitea-test/{name}:local"
        done = sh(
            "docker", "build", "-f", f"{name}/Dockerfile", "-t", tag, "--build-arg", f"PYTHON_IMAGE={base_image}", "."
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
        built[name] = tag
    return built


@pytest.fixture
def compose(base_image: str, tmp_path: Path) -> Iterator[list[str]]:
    """The compose command with a project of its own, taken down afterwards."""
    if sh("docker", "compose", "version").returncode == 0:
        command = ["docker", "compose"]
    elif found := shutil.which("docker-compose"):
        command = [found]
    else:
        pytest.skip("no docker compose on this machine")
    environment = tmp_path / "compose.env"
    environment.write_text(f"PYTHON_IMAGE={base_image}\nMOCKGITEA_PORT=0\nMOCKGITEA_CONTROL_PORT=0\n")
    project = [*command, "--env-file", str(environment), "--project-name", f"mockgitea-test-{os.getpid()}"]
    yield project
    sh(*project, "down", "--volumes", "--timeout", "5")
