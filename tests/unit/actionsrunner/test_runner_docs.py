"""docs/runner.md names every exit status, command, flag of `daemon` and variable that the code has."""

import re
from pathlib import Path

import pytest

from actionsrunner import cli, environment
from actionsrunner.exits import Exit

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "runner.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("status", Exit, ids=lambda status: status.name)
def test_exit_status_is_documented(status: Exit) -> None:
    assert re.search(rf"^\| {status.value} \| ", PAGE, re.M)


@pytest.mark.parametrize("command", cli._COMMANDS)
def test_command_is_documented(command: str) -> None:
    assert f"`actionsrunner {command}" in PAGE


def test_every_variable_is_documented_and_every_documented_variable_is_read() -> None:
    source = Path(environment.__file__).read_text(encoding="utf-8")
    read = set(re.findall(r'"((?:GITEA|RUNNER|CONFIG)_[A-Z_]+)"', source))
    table = PAGE.partition("## Starting unattended")[2].partition("## Stopping")[0]
    assert set(re.findall(r"`((?:GITEA|RUNNER|CONFIG)_[A-Z_]+)`", table)) == read
