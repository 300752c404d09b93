"""Counting by interval, by runner and by second."""

from mockgitea.core.calls import Method, Outcome
from mockgitea.lab.tally import Series, Tally, busiest_second

SECOND = 1_000_000


def test_series_counts_into_half_open_intervals() -> None:
    series = Series(SECOND)
    for at_us in (0, SECOND - 1, SECOND, 5 * SECOND):
        series.count(at_us)
    assert series.between(0, 7 * SECOND) == [2, 1, 0, 0, 0, 1, 0]
    assert series.total(SECOND, 7 * SECOND) == 2


def test_tally_adds_up_by_method_outcome_and_runner() -> None:
    tally = Tally()
    for at_us in range(0, 4 * SECOND, SECOND // 2):
        tally.count(Method.FETCH_TASK, Outcome.EMPTY, "one", at_us)
    tally.count(Method.UPDATE_TASK, Outcome.OK, "two", SECOND)
    tally.count(Method.FETCH_TASK, Outcome.TASK, "two", 3 * SECOND)
    tally.count(Method.PAGE, Outcome.OK, "", SECOND)
    assert tally.total(0, 4 * SECOND) == 10
    assert tally.total(SECOND, 2 * SECOND) == 3
    assert tally.total(0, 4 * SECOND, method=Method.FETCH_TASK, outcome=Outcome.TASK) == 1
    assert tally.per_second(Method.FETCH_TASK, 0, 4 * SECOND) == [2, 2, 2, 3]
    assert sum(tally.arrivals.between(0, 4 * SECOND)) == 10
    assert list(tally.fetches["two"]) == [3 * SECOND]
    assert tally.by_runner["two"] == {
        (Method.UPDATE_TASK, Outcome.OK): 1,
        (Method.FETCH_TASK, Outcome.TASK): 1,
    }


def test_the_busiest_second_may_begin_anywhere() -> None:
    tenths = [0] * 30
    tenths[7], tenths[8], tenths[15] = 3, 4, 5
    assert busiest_second(tenths) == 12
    assert busiest_second([1, 2]) == 3
    assert busiest_second([]) == 0
