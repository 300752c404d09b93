"""`mockgitea fault` and `mockgitea downtime`: what they ask of the control API, and what they print."""

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from fakecontrol import FakeControl
from mockgitea.commands import downtime, fault
from mockgitea.core.downtime import Downtime
from mockgitea.core.faults import table

RULE = {
    "name": "lost", "kind": "lose-answer", "method": "FetchTask", "transports": ["http"], "hits": 2, "seen": 3,
    "left": 1, "expires_at": None,
}  # fmt: skip
WINDOW = {"name": "d", "kind": "refused", "duration_s": 5.0, "is_open": False, "starts_at": "T1", "ends_at": "T2"}


@pytest.mark.parametrize(
    ("arguments", "call", "body", "answer", "shown"),
    [
        (
            ["fault", "add", "lost", "lose-answer", "--method", "FetchTask", "--times", "1"],
            ("POST", "/faults"),
            {"name": "lost", "kind": "lose-answer", "method": "FetchTask", "times": 1},
            RULE,
            '"hits": 2',
        ),
        (
            ["fault", "add", "swap", "reorder", "--swap", "--wait-s", "2.5"],
            ("POST", "/faults"),
            {"name": "swap", "kind": "reorder", "swap": True, "wait_s": 2.5},
            RULE,
            "lost",
        ),
        (["fault", "list"], ("GET", "/faults"), None, {"faults": [RULE]}, "lost  lose-answer  2 hits, 1 left"),
        (["fault", "list", "--json"], ("GET", "/faults"), None, {"faults": [RULE]}, '"name": "lost"'),
        (["fault", "remove", "lost"], ("DELETE", "/faults/lost"), None, None, "fault lost is removed"),
        (["fault", "release", "lost"], ("POST", "/faults/lost/release"), None, None, "go on"),
        (["fault", "reset"], ("DELETE", "/faults"), None, None, "no fault and no downtime is left"),
        (
            ["downtime", "add", "d", "refused", "--duration-s", "5", "--cuts"],
            ("POST", "/downtime"),
            {"name": "d", "kind": "refused", "duration_s": 5.0, "cuts": True},
            WINDOW,
            '"T1"',
        ),
        (["downtime", "list"], ("GET", "/downtime"), None, {"downtimes": [WINDOW]}, "d  refused  next from T1"),
        (["downtime", "remove", "d"], ("DELETE", "/downtime/d"), None, None, "downtime d is removed"),
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


def test_a_refused_rule_is_one_line(
    control: FakeControl, run_command: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    error = {"error": {"code": "invalid_argument", "message": "rows: not 0", "field": "rows"}}
    control.answer("POST", "/faults", error, status=400)
    assert run_command("fault", "add", "f", "wrong-ack") == 1
    assert capsys.readouterr().err == "mockgitea fault: rows: not 0\n"


@pytest.mark.parametrize(
    ("command", "fields"), [(fault, set(table())), (downtime, set(Downtime.__slots__))], ids=["fault", "downtime"]
)
def test_add_has_a_flag_for_every_field(command: Any, fields: set[str]) -> None:
    subparsers = argparse.ArgumentParser().add_subparsers()
    command.add_parser(subparsers)
    actions = next(iter(subparsers.choices.values()))._subparsers
    parser = actions._group_actions[0].choices["add"]  # type: ignore[union-attr,index,call-overload]
    assert {action.dest.removeprefix("field_") for action in parser._actions} - {"help", "server"} == fields
