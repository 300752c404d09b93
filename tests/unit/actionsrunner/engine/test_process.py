from pathlib import Path

import pytest

from actionsrunner.engine.process import EndedBy, Ending, find_program


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("bin/tool", "own/tool"):
        path = tmp_path / name
        path.parent.mkdir()
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    (tmp_path / "bin" / "text").write_text("")
    return tmp_path


def test_find_program_takes_the_first_place_in_the_path(place: Path) -> None:
    assert find_program("tool", f"{place}/own:{place}/bin", place) == f"{place}/own/tool"


def test_find_program_reads_relative_places_from_the_working_directory(place: Path) -> None:
    assert find_program("tool", "none::bin", place) == f"{place}/bin/tool"
    assert find_program("own/tool", "", place) == f"{place}/own/tool"


@pytest.mark.parametrize("name", ["text", "missing", "bin/text", "bin", "a\0b", "x" * 5000, "./" + "y" * 5000])
def test_find_program_without_an_executable_is_none(place: Path, name: str) -> None:
    assert find_program(name, f"{place}/bin", place) is None
    assert find_program(name, "", place) is None


@pytest.mark.parametrize(
    ("code", "exit_code", "signal_name"), [(0, 0, ""), (3, 3, ""), (-9, 137, "SIGKILL"), (-100, 228, "signal 100")]
)
def test_ending_counts_signals_as_shells_do(code: int, exit_code: int, signal_name: str) -> None:
    ending = Ending(code, EndedBy.ITSELF)
    assert (ending.exit_code, ending.signal_name) == (exit_code, signal_name)
