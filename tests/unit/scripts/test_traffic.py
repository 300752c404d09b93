"""Figures and plot of `make demo-faults` out of times of calls."""

import pytest
from traffic import PLAIN_INK, Window, measure, plot

WINDOW = Window(down_s=2.0, up_s=4.0, end_s=6.0)


def test_measure_steady_calls_gives_the_same_rate_in_all_parts() -> None:
    figures = measure([number / 4 for number in range(24)], WINDOW)
    assert (figures.before, figures.during, figures.after, figures.busiest) == (4.0, 4.0, 4.0, 4)
    assert figures.herd == 1.0


def test_measure_burst_after_recovery_is_the_busiest_second() -> None:
    figures = measure([0.0, 1.0, 4.0, 4.1, 4.2, 4.999, 5.0, 5.1], WINDOW)
    assert (figures.busiest, figures.herd) == (4, 4.0)


def test_measure_parts_are_half_open_and_calls_outside_do_not_count() -> None:
    figures = measure([-0.1, 2.0, 4.0, 6.0], WINDOW)
    assert (figures.before, figures.during, figures.after) == (0.0, 0.5, 0.5)


def test_measure_seconds_count_from_the_recovery() -> None:
    figures = measure([0.0, 4.6, 5.4], Window(down_s=2.5, up_s=4.5, end_s=6.5))
    assert figures.busiest == 2


@pytest.mark.parametrize("times", [[], [4.0]])
def test_measure_without_calls_before_the_herd_is_infinite(times: list[float]) -> None:
    assert measure(times, WINDOW).herd == float("inf")


def test_plot_draws_bars_and_shades_the_window() -> None:
    lines = plot([0.5, 1.5, 2.5, 4.1, 4.2, 5.5], WINDOW, PLAIN_INK)
    assert lines == [
        "  2.0 |      ......###",
        "  1.0 |######===...######",
        "      +------------------",
        "       0 s   down  up, 4 s",
    ]


def test_plot_without_calls_shades_the_window_alone() -> None:
    assert plot([], WINDOW, PLAIN_INK)[0] == "  1.0 |      ......"


def test_plot_shows_the_busiest_second_that_measure_counts() -> None:
    window = Window(down_s=2.5, up_s=4.5, end_s=6.5)
    times = [0.6, 4.6, 5.4, 5.6]
    assert plot(times, window)[0].split("|")[0].strip() == f"{measure(times, window).busiest:.1f}"


@pytest.mark.parametrize("end_s", [54.0, 500.0])
def test_plot_of_a_long_time_keeps_its_width_and_height(end_s: float) -> None:
    lines = plot([number / 50 for number in range(2000)], Window(12.0, 42.0, end_s))
    assert len(lines) == 10
    assert max(map(len, lines)) <= 110
