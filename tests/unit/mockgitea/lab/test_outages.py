"""When the server will be down: every round of every rule, as the rules will say it."""

import random

from mockgitea.core.downtime import DownKind, Downtime, Downtimes
from mockgitea.lab.outages import Outage, outages

START = 1_000_000_000
S = 1_000_000


def rules(*downtimes: Downtime) -> Downtimes:
    found = Downtimes()
    for one in downtimes:
        found.add(one, now_us=START, rng=random.Random(1))
    return found


def refused(name: str, start_s: float, duration_s: float, **fields: float) -> Downtime:
    return Downtime(name=name, kind=DownKind.REFUSED, start_s=start_s, duration_s=duration_s, **fields)  # type: ignore[arg-type]  # rounds is whole


def until(downtimes: Downtimes, end_s: int) -> tuple[Outage, ...]:
    return outages(downtimes, start_us=START, end_us=START + end_s * S)


def test_no_rule_means_no_outage() -> None:
    assert until(rules(), 100) == ()


def test_rounds_are_listed_until_the_end_and_the_one_that_is_open_then_is_not() -> None:
    found = until(rules(refused("a", 10, 5, every_s=20)), 53)
    assert found == (Outage(DownKind.REFUSED, 10 * S, 15 * S), Outage(DownKind.REFUSED, 30 * S, 35 * S))


def test_a_window_that_begins_at_once_is_listed() -> None:
    assert until(rules(refused("a", 0, 5)), 100) == (Outage(DownKind.REFUSED, 0, 5 * S),)


def test_where_windows_overlap_the_first_rule_counts() -> None:
    planned = Downtime(name="p", kind=DownKind.PLANNED, start_s=12, duration_s=10)
    found = until(rules(refused("a", 10, 5), planned), 100)
    assert found == (Outage(DownKind.REFUSED, 10 * S, 15 * S), Outage(DownKind.PLANNED, 15 * S, 22 * S))


def test_windows_of_one_kind_that_touch_are_one_outage() -> None:
    found = until(rules(refused("a", 10, 5), refused("b", 12, 10)), 100)
    assert found == (Outage(DownKind.REFUSED, 10 * S, 22 * S),)


def test_asking_draws_nothing_from_the_rules_themselves() -> None:
    jittery = rules(refused("a", 10, 5, every_s=60, jitter_s=40))
    first = until(jittery, 600)
    assert len(first) > 5
    assert until(jittery, 600) == first
    for one in first:
        assert jittery.current(START + one.start_us) is not None
        assert jittery.current(START + one.end_us) is None
