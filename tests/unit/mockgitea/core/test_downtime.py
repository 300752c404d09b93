import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mockgitea.core.downtime import WINDOWS_MAX, DownKind, Downtime, Downtimes
from mockgitea.core.errors import Conflict, LimitExceeded, NotFound

S = 1_000_000


def downtime(name: str = "d", kind: DownKind = DownKind.REFUSED, **fields: Any) -> Downtime:
    return Downtime(name=name, kind=kind, **{"duration_s": 5.0, **fields})


def with_rules(*rules: Downtime, seed: int = 1) -> Downtimes:
    downtimes = Downtimes()
    for rule in rules:
        downtimes.add(rule, now_us=0, rng=random.Random(seed))
    return downtimes


def test_a_window_is_half_open() -> None:
    downtimes = with_rules(downtime(start_s=1.0))
    found = [downtimes.current(now) is not None for now in (0, S - 1, S, 6 * S - 1, 6 * S)]
    assert found == [False, False, True, True, False]
    assert downtimes.next_change_us(6 * S) is None


def test_rounds_repeat_and_end() -> None:
    downtimes = with_rules(downtime(every_s=10.0, rounds=3))
    open_at = [second for second in range(40) if downtimes.current(second * S)]
    assert open_at == [*range(5), *range(10, 15), *range(20, 25)]


def test_rounds_without_end_go_on() -> None:
    downtimes = with_rules(downtime(every_s=10.0))
    assert downtimes.current(100_003 * S) is None or downtimes.current(100_003 * S).start_us == 100_000 * S  # type: ignore[union-attr]
    assert downtimes.next_change_us(100_007 * S) == 100_010 * S


def test_next_change_is_the_nearest_start_or_end() -> None:
    downtimes = with_rules(downtime("a", start_s=10.0), downtime("b", start_s=2.0))
    seen = [0]
    while (following := downtimes.next_change_us(seen[-1])) is not None:
        seen.append(following)
    assert seen == [0, 2 * S, 7 * S, 10 * S, 15 * S]


def test_of_overlapping_windows_the_first_rule_counts() -> None:
    downtimes = with_rules(downtime("a", DownKind.PLANNED, start_s=2.0), downtime("b"))
    kinds = [downtimes.current(second * S) for second in (1, 3, 8)]
    assert [window.downtime.name if window else "" for window in kinds] == ["b", "a", ""]


@given(seed=st.integers(), jitter_s=st.floats(0.1, 4.9))
def test_jitter_is_the_seeds_and_stays_within_its_round(seed: int, jitter_s: float) -> None:
    one, other = (with_rules(downtime(every_s=10.0, rounds=20, jitter_s=jitter_s), seed=seed) for _ in range(2))
    starts = []
    for number in range(20):
        window = one.states(round((number * 10 + 4.99) * S))[0].window
        assert window == other.states(round((number * 10 + 4.99) * S))[0].window
        assert window is not None
        starts.append(window.start_us)
        assert number * 10 * S <= window.start_us <= (number * 10 + jitter_s) * S + 1
    assert len(set(starts)) == 20


@pytest.mark.parametrize(
    ("kind", "cuts", "last"),
    [(DownKind.REFUSED, False, 2 * S), (DownKind.PLANNED, False, -1), (DownKind.BLACK_HOLE, True, 2 * S)],
)
def test_connections_are_cut_at_the_start_where_the_rule_does(kind: DownKind, cuts: bool, last: int) -> None:
    downtimes = with_rules(downtime(kind=kind, cuts=cuts, start_s=2.0))
    assert downtimes.last_cut_us(2 * S - 1) == -1
    assert downtimes.last_cut_us(2 * S) == last
    assert downtimes.last_cut_us(900 * S) == last, "also when nobody looked during the window"


def test_add_remove_and_reset() -> None:
    downtimes = with_rules(downtime())
    with pytest.raises(Conflict):
        downtimes.add(downtime(), now_us=0, rng=random.Random(1))
    downtimes.remove("d")
    assert not downtimes.is_active
    with pytest.raises(NotFound):
        downtimes.remove("d")
    for number in range(WINDOWS_MAX):
        downtimes.add(downtime(str(number)), now_us=0, rng=random.Random(1))
    with pytest.raises(LimitExceeded):
        downtimes.add(downtime("more"), now_us=0, rng=random.Random(1))
    downtimes.reset()
    assert (downtimes.is_active, downtimes.states(0), downtimes.current(0)) == (False, (), None)
