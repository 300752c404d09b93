import os
from pathlib import Path

import pytest

from actionsrunner.engine.command_files import (
    COMMAND_FILE_BYTES_MAX,
    CommandFileError,
    CommandFiles,
    parse_lines,
    parse_pairs,
    read_text,
)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", {}),
        ("A=1", {"A": "1"}),
        ("A=1\nB=2\n", {"A": "1", "B": "2"}),
        ("A=1\r\nB=2\r\n", {"A": "1", "B": "2"}),
        ("A=\n", {"A": ""}),
        ("A=b=c<<d\n", {"A": "b=c<<d"}),
        ("\n  \nA=1\n\n", {"A": "1"}),
        ("A=1\nA=2\n", {"A": "2"}),
        ("A<<EOF\none\ntwo\nEOF\n", {"A": "one\ntwo"}),
        ("A<<EOF\nEOF\n", {"A": ""}),
        ("A<<EOF\n\nEOF\n", {"A": ""}),
        ("A<<EOF\n\n\nEOF\n", {"A": "\n"}),
        ("A<<EOF\nx=1\ny<<z\n EOF\nEOF2\nEOF\nB=2", {"A": "x=1\ny<<z\n EOF\nEOF2", "B": "2"}),
        ("A<<EOF\r\none\r\nEOF\r\n", {"A": "one"}),
        ("A<<E=F\none\nE=F", {"A": "one"}),
        ("A= spaced \n", {"A": " spaced "}),
        ("A<<EOF\na\rb\nEOF", {"A": "a\rb"}),
    ],
)
def test_parse_pairs_reads_the_syntax(text: str, pairs: dict[str, str]) -> None:
    assert parse_pairs(text) == pairs


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("no pair", "found `no pair`"),
        ("=1", "name is empty"),
        ("<<EOF\nx\nEOF", "name is empty"),
        ("A<<\nx\n", "delimiter is empty"),
        ("A<<EOF\nx\n", "`EOF` of `A` does not appear"),
        ("A<<EOF\nx\nEOF \n", "does not appear"),
        ("x" * 1000, "…"),
    ],
)
def test_parse_pairs_refuses_with_the_line(text: str, part: str) -> None:
    with pytest.raises(CommandFileError) as caught:
        parse_pairs(text)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 400


def test_parse_lines_drops_blank_ones() -> None:
    assert parse_lines("/a\r\n\n  \n/b c\n") == ["/a", "/b c"]


def test_command_files_are_fresh_empty_and_private(tmp_path: Path) -> None:
    files = CommandFiles.create(tmp_path, "0-one")
    assert {name: path.stat().st_size for name, path in files.paths.items()} == {
        "ENV": 0,
        "OUTPUT": 0,
        "STATE": 0,
        "PATH": 0,
        "STEP_SUMMARY": 0,
    }
    assert files.paths["ENV"].stat().st_mode & 0o777 == 0o600
    assert files.variables(("GITHUB_", "GITEA_"))["GITEA_ENV"] == str(files.paths["ENV"])
    with pytest.raises(FileExistsError):
        CommandFiles.create(tmp_path, "0-one")


def test_command_files_name_the_variable_in_an_error(tmp_path: Path) -> None:
    files = CommandFiles.create(tmp_path, "x")
    files.paths["OUTPUT"].write_text("broken\n")
    with pytest.raises(CommandFileError, match=r"\$GITHUB_OUTPUT"):
        files.pairs("OUTPUT")


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"\xef\xbb\xbfA=1", "A=1"),
        ("A=é".encode("utf-16"), "A=é"),
        ("A=1".encode("utf-16-be"), "\0A\0=\0001"),
        (b"A=\xff", "A=\ufffd"),
    ],
)
def test_read_text_decodes(tmp_path: Path, data: bytes, text: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    assert read_text(path) == text


def test_read_text_of_a_missing_file_is_empty(tmp_path: Path) -> None:
    assert read_text(tmp_path / "gone") == ""


def test_read_text_refuses_what_is_no_plain_file(tmp_path: Path) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/etc/passwd")
    for name in ("directory", "pipe", "link"):
        with pytest.raises(CommandFileError):
            read_text(tmp_path / name)


def test_read_text_refuses_a_file_above_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as file:
        file.truncate(COMMAND_FILE_BYTES_MAX + 1)
    with pytest.raises(CommandFileError, match="larger than"):
        read_text(path)
