import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakecontrol import FakeControl

TOKEN = "0123456789abcdef0123456789abcdef01234567"


def _made() -> dict[str, Any]:
    return {
        "id": 3,
        "uuid": "8a3b0c1e-0000-4000-8000-000000000003",
        "token": TOKEN,
        "name": "r1",
        "labels": ["ubuntu-latest", "linux"],
        "address": "http://127.0.0.1:3000",
        "is_ephemeral": True,
    }


def test_runner_new_prints_a_file_that_a_runner_can_use(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/runners", _made(), status=201)
    labels = "ubuntu-latest:docker://node:20,linux"
    assert run_command("runner", "new", "--name", "r1", "--labels", labels, "--ephemeral", "--scope", "octo/app") == 0
    [(_, _, body)] = control.calls
    assert body == {
        "name": "r1",
        "labels": ["ubuntu-latest", "linux"],
        "scope": {"repository": "octo/app"},
        "ephemeral": True,
    }
    file = json.loads(capsys.readouterr().out)
    assert list(file) == ["WARNING", "id", "uuid", "name", "token", "address", "labels", "ephemeral"]
    assert file["labels"] == ["ubuntu-latest:docker://node:20", "linux:host"]
    assert (file["id"], file["token"], file["address"], file["ephemeral"]) == (3, TOKEN, "http://127.0.0.1:3000", True)


def test_runner_new_with_output_writes_a_private_file_and_shows_no_token(
    control: FakeControl, run_command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/runners", _made(), status=201)
    path = tmp_path / ".runner"
    assert run_command("runner", "new", "--name", "r1", "--output", str(path)) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    assert json.loads(path.read_text())["token"] == TOKEN
    assert TOKEN not in capsys.readouterr().out
    assert [entry.name for entry in tmp_path.iterdir()] == [".runner"]


def test_runner_new_that_cannot_write_keeps_no_runner(
    control: FakeControl, run_command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/runners", _made(), status=201)
    control.answer("DELETE", "/runners/3", None, status=204)
    assert run_command("runner", "new", "--output", str(tmp_path / "absent" / ".runner")) == 1
    assert "no runner was kept" in capsys.readouterr().err
    assert [verb for verb, _, _ in control.calls] == ["POST", "DELETE"]


def test_runner_list_shows_names_as_text_not_as_markup(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    runner = {
        "id": 1, "name": "[red]r1[/red]", "status": "idle", "labels": ["a"], "version": "v1", "is_disabled": True
    }  # fmt: skip
    control.answer("GET", "/runners", {"runners": [runner]})
    assert run_command("runner", "list") == 0
    shown = capsys.readouterr().out
    assert "[red]r1[/red]" in shown
    assert "idle (disabled)" in shown


def test_runner_rm_removes_each(control: FakeControl, run_command: Callable[..., int]) -> None:
    control.answer("DELETE", "/runners/1", None, status=204)
    control.answer("DELETE", "/runners/2", None, status=204)
    assert run_command("runner", "rm", "1", "2") == 0
    assert [path for _, path, _ in control.calls] == ["/control/v1/runners/1", "/control/v1/runners/2"]
