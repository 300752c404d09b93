import json
from collections.abc import Callable
from pathlib import Path

import pytest

from fakecontrol import FakeControl

ENTRY = {
    "number": 3, "at": "2026-01-01T00:00:00.000000Z", "method": "FetchTask", "verb": "POST", "path": "/x",
    "runner_uuid": "12345678-aaaa", "outcome": "refused", "status": 503, "code": "unavailable", "fault": "down",
    "duration_s": 0.0015, "request": None,
}  # fmt: skip
Run = Callable[..., int]


def answer(control: FakeControl) -> None:
    control.answer(
        "POST", "/journal/query", {"entries": [ENTRY], "matched": 1, "recorded": 9, "evicted_total": 2, "mark": 9}
    )


def test_journal_prints_one_line_a_call(
    control: FakeControl, run_command: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    answer(control)
    assert run_command("journal", "--method", "FetchTask", "--runner", "r1", "--task", "4", "--limit", "5") == 0
    assert capsys.readouterr().out.splitlines() == [
        "#3 2026-01-01T00:00:00.000000Z FetchTask POST /x 12345678 -> refused (503 unavailable) [fault down] 1.5 ms",
        "1 of 9 recorded calls; 2 were evicted",
    ]
    match = {"method": ["FetchTask"], "runner": "r1", "task": 4}
    assert control.calls == [("POST", "/control/v1/journal/query", {"match": match, "limit": 5})]


def test_journal_prints_json(control: FakeControl, run_command: Run, capsys: pytest.CaptureFixture[str]) -> None:
    answer(control)
    assert run_command("journal", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out) == [ENTRY]


def test_journal_exports_to_a_file(control: FakeControl, run_command: Run, tmp_path: Path) -> None:
    control.answer("GET", "/journal/export", {"log": {}})
    assert run_command("journal", "--format", "har", "--output", str(tmp_path / "a.har")) == 0
    assert json.loads((tmp_path / "a.har").read_text()) == {"log": {}}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--format", "har", "--runner", "r1"], "--format: har exports everything"),
        (["--output", "x"], "--output: only with --format jsonl or har"),
        (["--format", "jsonl", "--output", "/nonexistent/x"], "--output: cannot write"),
    ],
)
def test_journal_refuses_what_cannot_be(
    control: FakeControl, run_command: Run, capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    control.answer("GET", "/journal/export", {})
    assert run_command("journal", *arguments) == 1
    assert text in capsys.readouterr().err
