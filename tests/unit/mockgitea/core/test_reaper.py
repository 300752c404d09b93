"""Cadences and ages."""

from mockgitea.core.reaper import CADENCES, CLEAN_UP, STOP_ZOMBIES, cutoff_us

S = 1_000_000
DAY = 86_400 * S


def test_next_time_is_one_interval_later() -> None:
    assert CADENCES[STOP_ZOMBIES].next_us(7) == 7 + 300 * S


def test_next_midnight_is_always_in_the_future() -> None:
    midnight = CADENCES[CLEAN_UP]
    assert midnight.next_us(0) == DAY
    assert midnight.next_us(DAY - 1) == DAY
    assert midnight.next_us(DAY) == 2 * DAY


def test_cutoff_is_the_timeout_before_now() -> None:
    assert cutoff_us(700 * S, 600.0) == 100 * S
