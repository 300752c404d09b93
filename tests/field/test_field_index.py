"""The table of README.md and the tests agree: nobody looks for a story that is not there."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
STORIES_MIN = 40


def listed() -> dict[str, str]:
    """The tests of the tables by name, with their F number."""
    rows = re.findall(
        r"^\| F(\d+) \|[^|]+\| (.+?) \|", (FOLDER / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    return {name: number for number, names in rows for name in re.findall(r"`(test_\w+)`", names)}


def written() -> set[str]:
    """The tests that tell a story, by name."""
    sources = (path.read_text(encoding="utf-8") for path in FOLDER.glob("test_field_*.py"))
    return {name for source in sources for name in re.findall(r"^def (test_f\d{3}_\w+)\(", source, re.MULTILINE)}


def test_every_story_is_in_the_table_and_every_row_has_its_test() -> None:
    assert set(listed()) == written()


def test_tests_carry_the_number_of_their_row() -> None:
    assert [name for name, number in listed().items() if not name.startswith(f"test_f{int(number):03d}_")] == []


def test_there_are_enough_stories() -> None:
    assert len(set(listed().values())) >= STORIES_MIN
