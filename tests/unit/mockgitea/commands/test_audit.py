import json
from collections.abc import Callable
from pathlib import Path

import pytest

from calls import UUID, Recording
from fakecontrol import FakeControl
from mockgitea.verify.session import KnownRunner, Session

Run = Callable[..., int]
CLEAN = {"findings": [], "notes": ["a note"], "calls": 3, "tasks": 1, "runners": 1}
FINDING = {
    "rule": "log-gap", "runner": "r1", "task": 7, "entries": [2, 3], "message": "3 missing", "correct": "sends all",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An exported journal of a runner that fetched while it was full."""
    recording = Recording()
    recording.fetch(7)
    recording.fetch()
    path = tmp_path / "session.jsonl"
    path.write_text("".join(Session(views=recording.views, runners={UUID: KnownRunner("r1")}).lines()))
    return path


def test_audit_of_a_server_is_clean_or_exits_with_1(
    control: FakeControl, run_command: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("GET", "/audit", CLEAN)
    assert run_command("audit", "--capacity", "r1=2", "--stopped", "r1=40") == 0
    assert capsys.readouterr().out.splitlines() == ["note: a note", "no rule was broken (3 calls, 1 tasks, 1 runners)"]
    control.answer("GET", "/audit", CLEAN | {"findings": [FINDING]})
    assert run_command("audit") == 1
    shown = capsys.readouterr().out.splitlines()
    assert shown[:2] == ["log-gap: r1 task 7: 3 missing (#2, #3)", "    a correct peer sends all"]
    assert run_command("audit", "--json") == 1
    assert json.loads(capsys.readouterr().out)["findings"] == [FINDING]


def test_audit_of_a_file_asks_no_server(
    control: FakeControl, run_command: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("audit", str(file)) == 0
    assert "note: task 7 of r1 has no result yet" in capsys.readouterr().out
    assert run_command("audit", str(file), "--capacity", "r1=1") == 1
    assert "fetch-while-full: r1: fetched while it held 1 of 1 tasks (#1, #2)" in capsys.readouterr().out
    assert control.calls == []


@pytest.mark.parametrize(
    ("content", "text"),
    [("", "the file is empty"), ("{", "line 1: no JSON"), (b"\xff", "not UTF-8"), (None, "No such file")],
)
def test_audit_of_a_broken_file_says_what_is_wrong(
    run_command: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes | None, text: str
) -> None:
    path = tmp_path / "broken.jsonl"
    if isinstance(content, str):
        path.write_text(content)
    elif content is not None:
        path.write_bytes(content)
    assert run_command("audit", str(path)) == 1
    assert text in capsys.readouterr().err


def test_audit_refuses_a_capacity_without_a_number(
    run_command: Run, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("audit", str(file), "--capacity", "r1") == 1
    assert "--capacity: write RUNNER=NUMBER, got 'r1'" in capsys.readouterr().err
