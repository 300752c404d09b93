import asyncio
import os
import subprocess
from pathlib import Path

from actionsrunner.engine import proctree
from actionsrunner.engine.directories import make_directories
from actionsrunner.engine.leftovers import OWNER_FILE, clear_leftovers, owned


def abandoned(parent: Path) -> Path:
    """A job directory as a killed runner leaves it."""
    root = make_directories(parent, tool_cache_shared=False).root
    with owned(root):
        pass
    return root


def test_directories_and_processes_of_a_killed_runner_are_cleared(tmp_path: Path) -> None:
    root = abandoned(tmp_path)
    (root / "hostexecutor" / "read-only").mkdir(mode=0o500)
    mark = {**os.environ, proctree.MARK_VARIABLE: f"{root.name}-0"}
    with subprocess.Popen(["sleep", "600"], env=mark, start_new_session=True) as left:
        assert asyncio.run(clear_leftovers(tmp_path)) == 1
        assert left.wait(20) == -9
    assert list(tmp_path.iterdir()) == []


def test_directory_of_a_living_runner_stays(tmp_path: Path) -> None:
    root = make_directories(tmp_path, tool_cache_shared=False).root
    with owned(root):
        assert asyncio.run(clear_leftovers(tmp_path)) == 0
        assert (root / OWNER_FILE).exists()
    assert asyncio.run(clear_leftovers(tmp_path)) == 1


def test_what_is_no_job_directory_stays(tmp_path: Path) -> None:
    (tmp_path / "tool_cache").mkdir()
    (tmp_path / "0123456789abcdef").mkdir()  # right name, but nobody's file in it
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    secret = abandoned(elsewhere) / OWNER_FILE
    (tmp_path / "fedcba9876543210").mkdir()
    (tmp_path / "fedcba9876543210" / OWNER_FILE).symlink_to(secret)
    assert asyncio.run(clear_leftovers(tmp_path)) == 0
    assert secret.exists()
    assert len(list(tmp_path.iterdir())) == 4


def test_a_parent_that_is_not_there_is_no_error(tmp_path: Path) -> None:
    assert asyncio.run(clear_leftovers(tmp_path / "nowhere")) == 0


def test_a_directory_that_cannot_be_marked_can_still_be_used(tmp_path: Path) -> None:
    with owned(tmp_path / "nowhere"):
        assert not (tmp_path / "nowhere").exists()
