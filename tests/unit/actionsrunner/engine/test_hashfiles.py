import hashlib
from pathlib import Path

import pytest

from actionsrunner.engine.hashfiles import hash_files


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "workspace"
    for name in ("a.txt", "b.lock", "sub/c.txt", "sub/deep/d.txt", "sub/deep/e.lock", "x[1].txt", ".hidden/f.txt"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (tmp_path / "outside.txt").write_text("outside")
    (root / "link.txt").symlink_to(tmp_path / "outside.txt")
    (root / "loop").symlink_to(root)
    return root


def expected(workspace: Path, *names: str) -> str:
    digests = [hashlib.sha256((workspace / name).read_bytes()).digest() for name in names]
    return hashlib.sha256(b"".join(digests)).hexdigest()


@pytest.mark.parametrize(
    ("patterns", "names"),
    [
        (["a.txt"], ["a.txt"]),
        (["*.txt"], ["a.txt", "x[1].txt"]),
        (["**/*.lock"], ["b.lock", "sub/deep/e.lock"]),
        (["**/c.txt"], ["sub/c.txt"]),
        (["sub/*"], ["sub/c.txt", "sub/deep/d.txt", "sub/deep/e.lock"]),
        (["sub"], ["sub/c.txt", "sub/deep/d.txt", "sub/deep/e.lock"]),
        (["sub/**"], ["sub/c.txt", "sub/deep/d.txt", "sub/deep/e.lock"]),
        (["./a.txt"], ["a.txt"]),
        (["?.txt"], ["a.txt"]),
        (["[ab].*"], ["a.txt", "b.lock"]),
        (["[!a].*"], ["b.lock"]),
        (["b.lock", "a.txt"], ["a.txt", "b.lock"]),
        (["**/*.txt", "!sub/**"], [".hidden/f.txt", "a.txt", "x[1].txt"]),
        (["**/*.txt\n!sub/**", "sub/c.txt"], [".hidden/f.txt", "a.txt", "sub/c.txt", "x[1].txt"]),
        (["--follow-symbolic-links", "a.txt"], ["a.txt"]),
    ],
)
def test_hash_files_hashes_the_digests_of_matching_files(
    workspace: Path, patterns: list[str], names: list[str]
) -> None:
    assert hash_files(workspace, patterns) == expected(workspace, *names)


@pytest.mark.parametrize(
    "patterns", [["nope"], [""], ["!a.txt"], ["../outside.txt"], ["link.txt"], ["loop/a.txt"], ["["]]
)
def test_hash_files_without_a_match_is_empty(workspace: Path, patterns: list[str]) -> None:
    assert hash_files(workspace, patterns) == ""


def test_hash_files_takes_an_absolute_pattern_inside(workspace: Path) -> None:
    assert hash_files(workspace, [f"{workspace}/a.txt"]) == expected(workspace, "a.txt")
