"""Names of steps, and payloads that have none."""

import pytest

from mockgitea.core.claimed import AssignmentFailed
from mockgitea.core.step_names import step_names

PAYLOAD = b"""
jobs:
  build:
    steps:
      - name: Given
        run: echo
      - run: "\\n  first line  \\n second"
      - uses: actions/checkout@v4
        id: checkout
      - id: bare
      - run: 12
"""


def test_step_names_new_servers_say_run_and_the_first_line() -> None:
    names = step_names(PAYLOAD, "run-first-line")
    assert names == ("Given", "Run first line", "Run actions/checkout@v4", "Run bare", "Run 12")


def test_step_names_older_servers_take_the_first_that_is_not_empty() -> None:
    names = step_names(PAYLOAD, "first-non-empty")
    assert names == ("Given", "\n  first line  \n second", "actions/checkout@v4", "bare", "12")


def test_step_names_are_cut() -> None:
    (name,) = step_names(b"jobs: {a: {steps: [{name: " + b"x" * 300 + b"}]}}", "run-first-line")
    assert name == "x" * 255


@pytest.mark.parametrize("payload", [b"jobs: {a: {}}", b"jobs: {a: {steps: }}", b"jobs: {a: {steps: []}}"])
def test_step_names_job_without_steps_has_none(payload: bytes) -> None:
    assert step_names(payload, "run-first-line") == ()


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        (b"\xff", "payload: "),
        (b"a: [", "payload: "),
        (b"[]", "payload: must hold exactly one job"),
        (b"jobs: {a: {}, b: {}}", "payload: must hold exactly one job"),
        (b"jobs: {a: 1}", r"jobs\.a\.steps: must be a list"),
        (b"jobs: {a: {steps: text}}", r"jobs\.a\.steps: must be a list"),
        (b"jobs: {a: {steps: [1]}}", r"jobs\.a\.steps\[0\]: must be a mapping"),
    ],
)
def test_step_names_malformed_payload_says_what_is_wrong(payload: bytes, message: str) -> None:
    with pytest.raises(AssignmentFailed, match=message):
        step_names(payload, "run-first-line")
