"""Delays of polling and of closing retries."""

import random

import pytest

from actionsrunner.core.backoff import poll_delay_us, retry_delay_us

S = 1_000_000


class Middle(random.Random):
    """Draws the middle, so that there is no jitter."""

    def random(self) -> float:
        return 0.5


@pytest.mark.parametrize(
    ("streak", "cap_s", "expected_s"),
    [(0, 5, 2), (1, 5, 2), (2, 5, 4), (3, 5, 5), (4, 5, 5), (6, 1000, 64), (7, 1000, 64), (50, 1000, 64), (3, 1, 2)],
)
def test_poll_delay_without_jitter_doubles_to_the_cap(streak: int, cap_s: int, expected_s: int) -> None:
    delay_us = poll_delay_us(streak=streak, base_us=2 * S, cap_us=cap_s * S, rng=Middle())
    assert delay_us == expected_s * S


def test_poll_delay_with_jitter_fills_twenty_percent_either_way() -> None:
    rng = random.Random(7)
    delays = [poll_delay_us(streak=1, base_us=S, cap_us=S, rng=rng) for _ in range(2000)]
    assert 0.8 * S <= min(delays) < 0.82 * S
    assert 1.18 * S < max(delays) <= 1.2 * S


def test_poll_delay_with_one_seed_is_reproducible() -> None:
    first, second = random.Random(3), random.Random(3)
    for streak in range(8):
        assert poll_delay_us(streak=streak, base_us=S, cap_us=60 * S, rng=first) == poll_delay_us(
            streak=streak, base_us=S, cap_us=60 * S, rng=second
        )


def test_retry_delay_doubles_from_the_first() -> None:
    delays = [retry_delay_us(failures=n, first_us=100, rng=Middle()) for n in (1, 2, 3, 4)]
    assert delays == [150, 250, 450, 850]
