import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fakecontrol import FakeControl

SECRET = "s3cret-from-the-environment"


def _made(run_id: int = 1) -> dict[str, Any]:
    jobs = [{"id": 1, "job_id": "build", "name": "build", "status": "waiting"}]
    return {"run_id": run_id, "run_number": 7, "repository": "demo/demo", "status": "waiting", "jobs": jobs}


def _run(status: str, job: str) -> dict[str, Any]:
    return {"id": 1, "status": status, "jobs": [{"name": "build", "status": job, "failure_reason": ""}]}


@pytest.fixture
def workflow(tmp_path: Path) -> Path:
    path = tmp_path / "ci.yaml"
    path.write_text("on: push\njobs: {build: {runs-on: x, steps: [{run: 'true'}]}}\n")
    return path


def test_enqueue_sends_the_file_with_everything_around_it(
    control: FakeControl, run_command: Callable[..., int], workflow: Path
) -> None:
    control.answer("POST", "/enqueue", _made(), status=201)
    code = run_command(
        "enqueue", str(workflow), "--event", "workflow_dispatch", "--input", "a=1=2", "--secret", "TOKEN",
        "--secret", "PLAIN=x", "--var", "V=w", "--ref", "refs/tags/v1", "--repository", "octo/app",
        "--create-repository", "--actor", "mona", environ={"TOKEN": SECRET},
    )  # fmt: skip
    assert code == 0
    [(_, path, body)] = control.calls
    assert path == "/control/v1/enqueue"
    assert body == {
        "repository": "octo/app",
        "workflow_file": "ci.yaml",
        "workflow": workflow.read_text(),
        "event": "workflow_dispatch",
        "inputs": {"a": "1=2"},
        "secrets": {"TOKEN": SECRET, "PLAIN": "x"},
        "vars": {"V": "w"},
        "create_repository": True,
        "actor": "mona",
        "ref": "refs/tags/v1",
    }


def test_enqueue_prints_run_and_jobs_and_no_secret(
    control: FakeControl, run_command: Callable[..., int], workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/enqueue", _made(), status=201)
    assert run_command("enqueue", str(workflow), "--secret", f"TOKEN={SECRET}") == 0
    captured = capsys.readouterr()
    assert captured.out == "run 1 (#7 of demo/demo) waiting: build\n"
    assert SECRET not in captured.out + captured.err


@pytest.mark.parametrize(("status", "code"), [("success", 0), ("skipped", 0), ("failure", 1), ("cancelled", 1)])
def test_enqueue_with_wait_ends_with_the_runs_result(
    control: FakeControl, run_command: Callable[..., int], workflow: Path, status: str, code: int
) -> None:
    control.answer("POST", "/enqueue", _made(), status=201)
    control.answer("GET", "/runs/1", _run(status, status))
    assert run_command("enqueue", str(workflow), "--wait") == code


def test_enqueue_with_wait_gives_up_at_the_timeout(
    control: FakeControl, run_command: Callable[..., int], workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/enqueue", _made(), status=201)
    control.answer("GET", "/runs/1", _run("running", "running"))
    assert run_command("enqueue", str(workflow), "--wait", "--timeout", "0") == 1
    assert "run 1 is still running" in capsys.readouterr().err


def test_enqueue_as_json_prints_one_document(
    control: FakeControl, run_command: Callable[..., int], workflow: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("POST", "/enqueue", _made(), status=201)
    assert run_command("enqueue", str(workflow), "--json") == 0
    assert json.loads(capsys.readouterr().out) == [_made()]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "novalue"], "--input: write KEY=VALUE, got 'novalue'"),
        (["--var", "=x"], "--var: write KEY=VALUE"),
        (["--secret", "ABSENT"], "--secret: the environment has no variable ABSENT"),
        (["--secret", "=x"], "--secret: write KEY=VALUE, or KEY"),
        (["--timeout", "soon"], "--timeout: 'soon' is not a duration"),
    ],
)
def test_enqueue_with_a_bad_option_names_it_and_calls_nothing(
    control: FakeControl,
    run_command: Callable[..., int],
    workflow: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    assert run_command("enqueue", str(workflow), *arguments) == 1
    assert message in capsys.readouterr().err
    assert control.calls == []


def test_enqueue_of_an_unreadable_file_calls_nothing(
    control: FakeControl, run_command: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe")
    assert run_command("enqueue", str(tmp_path / "absent.yaml")) == 1
    assert run_command("enqueue", str(tmp_path / "binary.yaml")) == 1
    captured = capsys.readouterr().err
    assert "absent.yaml: No such file or directory" in captured
    assert "binary.yaml: not UTF-8 text" in captured
    assert control.calls == []
