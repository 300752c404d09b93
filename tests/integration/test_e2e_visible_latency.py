"""How soon a person sees a row: the page's JSON is polled once a second exactly as the page does."""

import time
from collections.abc import Callable
from typing import Any

from runnerproc import RunnerProcess
from serverproc import Mock

Serve = Callable[..., Mock]
Runners = Callable[..., RunnerProcess]

WORKFLOW = """
on: push
jobs:
  talk:
    runs-on: linux
    steps:
      - run: |
          echo "at the start"
          sleep 2
          echo "in the middle"
          sleep 8
          echo "right before the end"
      - run: |
          for n in $(seq 1 120); do echo "burst $n"; done
          sleep 7
"""
PAGE_S = 1.0
SLACK_S = 1.0
"""Answer times, process start and a noisy machine; the bounds themselves are 1 s and 6 s with the page's second."""
# The header row comes with the step's start and is sent at once; what the process prints milliseconds later is a row
# in mid-step, which the state ticker covers.
BOUND_S = {
    '::group::Run echo "at the start"': 1.0 + PAGE_S,
    "at the start": 5.0 + PAGE_S,
    "in the middle": 5.0 + PAGE_S,
    "right before the end": 1.0 + PAGE_S,
    "burst 1": 5.0 + PAGE_S,
    "burst 120": 5.0 + PAGE_S,
}


def watch(mock: Mock, run_id: int) -> dict[str, float]:
    """Poll like the page until the run is done; returns message -> seconds from the row's time to its first answer."""
    job = mock.job(run_id, "talk")
    path = f"/demo/demo/actions/runs/{run_id}/jobs/{job['id']}"
    cursors: dict[int, int | None] = {}
    seen: dict[str, float] = {}
    deadline = time.monotonic() + 90
    while time.monotonic() < deadline:
        tick = time.monotonic()
        body = {"logCursors": [{"step": step, "cursor": at, "expanded": True} for step, at in cursors.items()]}
        answer: Any = mock.web(path, body).json()
        arrived = time.time()
        for log in answer["logs"]["stepsLog"]:
            cursors[log["step"]] = log["cursor"]
            for line in log["lines"]:
                seen.setdefault(line["message"], arrived - line["timestamp"])
        for step in range(len(answer["state"]["currentJob"]["steps"])):
            cursors.setdefault(step, None)
        if answer["state"]["run"]["done"]:
            return seen
        time.sleep(max(0.0, PAGE_S - (time.monotonic() - tick)))  # poll interval of the page
    raise AssertionError(f"run not done; seen {seen}")


def test_rows_are_visible_within_the_bounds_of_the_defaults(serve: Serve, runners: Runners) -> None:
    mock = serve()
    runners(mock)
    seen = watch(mock, mock.enqueue(WORKFLOW)["run_id"])
    late = {
        message: (round(seen[message], 2), bound)
        for message, bound in BOUND_S.items()
        if seen[message] > bound + SLACK_S
    }
    assert not late, f"seen later than allowed (seconds, bound): {late}"
