"""The commands that are one call each."""

from collections.abc import Callable
from typing import Any

import pytest

from fakecontrol import FakeControl

RUN = {"id": 4, "status": "cancelled", "jobs": [{"name": "build", "status": "cancelled", "failure_reason": ""}]}
TASK = {"id": 9, "status": "running", "updated_at": "2026-01-01T00:00:00.000000Z"}
CLOCK = {"mode": "manual", "now": "2026-01-01T00:10:00.000000Z", "now_us": 1}


@pytest.mark.parametrize(
    ("arguments", "call", "body", "answer", "shown"),
    [
        (["token"], ("POST", "/registration-tokens"), {"scope": {}, "reset": False}, {"token": "T"}, "T"),
        (
            ["token", "--scope", "octo", "--reset"],
            ("POST", "/registration-tokens"),
            {"scope": {"owner": "octo"}, "reset": True},
            {"token": "T"},
            "T",
        ),
        (["cancel", "4"], ("POST", "/runs/4/cancel"), {"force": False}, RUN, "run 4 cancelled"),
        (["cancel", "4", "--force"], ("POST", "/runs/4/cancel"), {"force": True}, RUN, "build: cancelled"),
        (["rerun", "4"], ("POST", "/runs/4/rerun"), {"job_id": None, "failed_only": False}, RUN, "run 4"),
        (["rerun", "4", "--failed"], ("POST", "/runs/4/rerun"), {"job_id": None, "failed_only": True}, RUN, "run 4"),
        (["rerun", "4", "--job", "8"], ("POST", "/runs/4/rerun"), {"job_id": 8, "failed_only": False}, RUN, "run 4"),
        (["clock", "advance", "10m"], ("POST", "/clock/advance"), {"seconds": 600.0}, CLOCK, "00:10:00"),
        (["clock", "show"], ("GET", "/clock"), None, CLOCK, "(manual)"),
        (["age-task", "9", "11m"], ("POST", "/tasks/9/age"), {"seconds": 660.0}, TASK, "task 9 running"),
        (["reset"], ("POST", "/reset"), None, None, "the server is as new"),
    ],
)
def test_command_makes_its_one_call_and_shows_the_answer(
    makes_one_call: Callable[..., None],
    arguments: list[str],
    call: tuple[str, str],
    body: Any,
    answer: Any,
    shown: str,
) -> None:
    makes_one_call(arguments, call, body, answer=answer, shown=shown)


def test_counters_are_shown_by_method_and_outcome(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    control.answer("GET", "/counters", {"total": 5, "calls": {"FetchTask": {"empty": 4, "task": 1}}, "runners": {}})
    assert run_command("counters") == 0
    shown = capsys.readouterr().out
    assert "FetchTask" in shown
    assert "empty" in shown
    assert "total" in shown


def test_clock_advance_by_no_duration_calls_nothing(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("clock", "advance", "later") == 1
    assert "DURATION: 'later' is not a duration" in capsys.readouterr().err
    assert control.calls == []
