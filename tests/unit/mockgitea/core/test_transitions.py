"""The table of legal status changes, and the document that shows it."""

import re
from pathlib import Path

import pytest

from actionswire.result import FINAL, Status
from mockgitea.core.transitions import JOB, STEP, TASK, Machine, origins

DOCUMENT = Path(__file__).parents[4] / "docs" / "state-machines.md"


def documented(section: str) -> dict[Status, frozenset[Status]]:
    """Read the from-to table of one section."""
    text = DOCUMENT.read_text().partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    table = text.partition("| from | to |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| (\w+) \| (.+) \|$", table, re.MULTILINE)
    return {
        Status[start.upper()]: frozenset(Status[word.upper()] for word in following.split(", ") if word != "none")
        for start, following in rows
    }


@pytest.mark.parametrize(("section", "machine"), [("Job", JOB), ("Task", TASK), ("Step", STEP)])
def test_document_shows_exactly_the_tables_of_the_code(section: str, machine: Machine) -> None:
    assert documented(section) == dict(machine)


def test_document_gives_the_stored_numbers() -> None:
    numbers = dict(re.findall(r"(\d) (\w+)", DOCUMENT.read_text().partition("## Run")[0]))
    assert {int(number): word for number, word in numbers.items()} == {
        int(status): status.text for status in Status if status is not Status.UNKNOWN
    }


def test_tasks_end_once_and_steps_never_wait_again() -> None:
    assert all(not TASK[status] for status in FINAL)
    assert origins(STEP, Status.WAITING) == ()
    assert origins(JOB, Status.CANCELLED) == (5, 6, 7, 8)
    assert origins(JOB, Status.SUCCESS) == (6,)
    assert origins(TASK, Status.FAILURE) == (6,)
