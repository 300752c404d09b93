"""Durations as the pages write them."""

import pytest

from actionswire.result import Status
from mockgitea.core.durations import duration_text, seconds_text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (3, "3s"), (59, "59s"), (60, "1m0s"), (62, "1m2s"), (3600, "1h0m0s"), (90_061, "25h1m1s"), (-5, "0s")],
)
def test_seconds_are_written_like_go_does(seconds: int, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(
    ("started", "stopped", "status", "now", "text"),
    [
        (0, 0, Status.WAITING, 9_000_000, "0s"),
        (1_900_000, 0, Status.RUNNING, 4_100_000, "3s"),
        (1_900_000, 4_100_000, Status.SUCCESS, 99_000_000, "3s"),
        (1_900_000, 0, Status.CANCELLED, 99_000_000, "0s"),
    ],
)
def test_duration_counts_whole_seconds_until_the_end_or_now(
    started: int, stopped: int, status: Status, now: int, text: str
) -> None:
    assert duration_text(started, stopped, status, now) == text
