import json
from pathlib import Path

import pytest

from actionsrunner.engine.directories import DirectoryError, make_directories, remove_tree, safe_stem, write_event


def test_make_directories_are_private_and_never_the_same(tmp_path: Path) -> None:
    parent = tmp_path / "new" / "parent"
    first, second = (make_directories(parent, tool_cache_shared=False) for _ in range(2))
    assert first.root != second.root
    assert first.root.stat().st_mode & 0o777 == 0o700
    assert len(first.name) == 16
    for path in (first.workspace, first.scripts, first.temp, first.tool_cache):
        assert path.is_dir()
        assert path.is_relative_to(first.root)


def test_make_directories_resolve_links(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert make_directories(tmp_path / "link", tool_cache_shared=False).root.parent == (tmp_path / "real").resolve()


def test_make_directories_share_the_tool_cache_when_asked(tmp_path: Path) -> None:
    assert make_directories(tmp_path, tool_cache_shared=True).tool_cache == tmp_path.resolve() / "tool_cache"
    chosen = make_directories(tmp_path, tool_cache_shared=True, tool_cache=str(tmp_path / "mine"))
    assert chosen.tool_cache == tmp_path / "mine"


def test_make_directories_below_a_file_names_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DirectoryError, match="file"):
        make_directories(tmp_path / "file" / "x", tool_cache_shared=False)


@pytest.mark.parametrize(
    ("index", "step_id", "stem"),
    [
        (0, "0", "0"),
        (1, "build", "1-build"),
        (2, "../../etc/passwd", "2-etc_passwd"),
        (3, "a b\n\0c", "3-a_b_c"),
        (4, "日本", "4"),
        (5, "x" * 500, "5-" + "x" * 60),
        (6, "", "6"),
    ],
)
def test_safe_stem_makes_ids_harmless(index: int, step_id: str, stem: str) -> None:
    assert safe_stem(index, step_id) == stem


def test_remove_tree_takes_read_only_parts_and_leaves_what_links_point_at(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("")
    root = tmp_path / "root"
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "file").write_text("")
    (root / "link").symlink_to(outside)
    for path in (root / "a" / "b", root / "a"):
        path.chmod(0o500)
    remove_tree(root)
    assert not root.exists()
    assert (outside / "kept").exists()
    remove_tree(root)


def test_write_event_is_readable_json(tmp_path: Path) -> None:
    path = tmp_path / "event.json"
    write_event(path, {"a": "é\ud800"})
    assert json.loads(path.read_text()) == {"a": "é\ud800"}
    assert path.stat().st_mode & 0o777 == 0o644
