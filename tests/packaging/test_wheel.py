"""What is shipped: three packages and nothing else, typed, with their data files, and commands that start."""

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {"mockgitea", "actionsrunner", "actionswire"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def test_wheel_holds_three_packages_and_nothing_else(unpacked: Path) -> None:
    names = {path.name for path in unpacked.iterdir()}
    assert {name for name in names if not name.endswith(".dist-info")} == PACKAGES
    assert all((unpacked / name / "py.typed").exists() for name in PACKAGES)


def test_wheel_holds_every_source_file(unpacked: Path) -> None:
    sources = {
        "mockgitea": ROOT / "server" / "mockgitea",
        "actionsrunner": ROOT / "runner" / "actionsrunner",
        "actionswire": ROOT / "shared" / "python" / "actionswire",
    }
    for name, folder in sources.items():
        wanted = {
            path.relative_to(folder) for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts
        }
        shipped = {path.relative_to(unpacked / name) for path in (unpacked / name).rglob("*") if path.is_file()}
        assert shipped == wanted


@pytest.mark.parametrize("package", ["mockgitea", "actionsrunner"])
def test_installed_command_tells_its_version(unpacked: Path, package: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); "
        f"from {package}.cli import main; sys.exit(main(['--version']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(rf"{package} \d+\.\d+\.\d+", done.stdout)


def test_generated_code_imports_outside_the_repository(unpacked: Path, tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(unpacked)!r}); from actionswire.gen.runner.v1 import runner_pb2; "
        "print(runner_pb2.__file__); print(runner_pb2.DESCRIPTOR.package)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    where, package = done.stdout.split()
    assert where.startswith(str(unpacked))
    assert package == "runner.v1"
