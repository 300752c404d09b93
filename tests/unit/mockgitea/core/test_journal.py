from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mockgitea.core.calls import Method, Outcome
from mockgitea.core.counters import Counters
from mockgitea.core.journal import BODY_KEPT_BYTES_MAX, Entry, Journal

CLOSED = sorted(set(Outcome) - {Outcome.OPEN})


def opened(journal: Journal, method: Method = Method.PING, runner: str = "") -> Entry:
    entry = journal.open(5, 1.0)
    entry.method = method
    entry.runner_uuid = runner
    return entry


def test_open_shows_the_call_before_anything_acts_on_it() -> None:
    journal = Journal(entries_max=3, bytes_max=100)
    entry = opened(journal)
    assert journal.entries() == [entry]
    assert entry.outcome is Outcome.OPEN
    assert journal.in_progress == 1


def test_close_of_an_entry_left_open_counts_as_abandoned() -> None:
    journal = Journal(entries_max=3, bytes_max=100)
    entry = opened(journal)
    journal.close(entry, 1.5)
    assert entry.outcome is Outcome.ABANDONED
    assert entry.duration_s == 0.5
    assert journal.in_progress == 0


def test_entries_are_found_by_method_and_runner_newest_last() -> None:
    journal = Journal(entries_max=10, bytes_max=100)
    first = opened(journal, Method.FETCH_TASK, "a")
    opened(journal, Method.PING)
    second = opened(journal, Method.FETCH_TASK, "b")
    third = opened(journal, Method.FETCH_TASK, "a")
    assert journal.entries(method="FetchTask") == [first, second, third]
    assert journal.entries(method="FetchTask", runner_uuid="a") == [first, third]
    assert journal.entries(limit=2) == [second, third]


def test_bodies_over_the_byte_budget_evict_the_oldest_entries() -> None:
    journal = Journal(entries_max=10, bytes_max=100)
    for _ in range(5):
        entry = opened(journal)
        entry.request = b"x" * 40
        journal.close(entry, 2.0)
    assert len(journal) == 2
    assert journal.bytes_kept == 80
    assert journal.evicted_total == 3


def test_a_long_body_is_cut_and_marked() -> None:
    journal = Journal(entries_max=10, bytes_max=10 * BODY_KEPT_BYTES_MAX)
    entry = opened(journal)
    entry.request = b"x" * (BODY_KEPT_BYTES_MAX + 1)
    journal.close(entry, 2.0)
    assert entry.is_cut
    assert len(entry.request) == BODY_KEPT_BYTES_MAX
    assert entry.request_bytes == BODY_KEPT_BYTES_MAX + 1


def test_an_entry_evicted_while_open_still_closes_and_holds_no_bytes() -> None:
    journal = Journal(entries_max=1, bytes_max=100)
    entry = opened(journal)
    opened(journal)
    entry.request = b"x" * 50
    journal.close(entry, 2.0)
    assert journal.bytes_kept == 0
    assert journal.closed_total == 1


def test_an_entry_opened_while_another_is_closed_and_cleared_keeps_the_budget_at_zero() -> None:
    journal = Journal(entries_max=5, bytes_max=100)
    entry = opened(journal)
    entry.request = b"x" * 50
    journal.close(entry, 2.0)
    journal.clear()
    assert (len(journal), journal.bytes_kept, journal.evicted_total) == (0, 0, 1)


def test_reset_keeps_only_calls_in_progress() -> None:
    journal = Journal(entries_max=5, bytes_max=100)
    journal.close(opened(journal), 2.0)
    still_open = opened(journal)
    journal.reset()
    assert journal.entries() == [still_open]
    assert (journal.opened_total, journal.evicted_total, journal.in_progress) == (1, 0, 1)
    journal.close(still_open, 2.0)
    assert journal.in_progress == 0


def test_reset_while_calls_are_open_keeps_numbers_unique_and_the_budget_right() -> None:
    journal = Journal(entries_max=5, bytes_max=100)
    for _ in range(3):
        journal.close(opened(journal), 2.0)
    still_open = opened(journal)
    journal.reset()
    later = opened(journal)
    later.request = b"x" * 60
    journal.close(later, 2.0)
    assert [entry.number for entry in journal] == [1, 2]
    assert journal.bytes_kept == 60
    journal.close(still_open, 2.0)
    journal.clear()
    assert journal.bytes_kept == 0


@given(
    st.integers(0, 5),
    st.integers(0, 200),
    st.lists(
        st.tuples(st.sampled_from(["open", "close", "clear"]), st.sampled_from(CLOSED), st.integers(0, 80)), max_size=60
    ),
)
def test_calls_are_the_sum_of_outcomes_and_of_entries_kept_and_evicted(
    entries_max: int, bytes_max: int, steps: list[tuple[str, Outcome, int]]
) -> None:
    journal = Journal(entries_max=entries_max, bytes_max=bytes_max)
    counters = Counters()
    open_now: list[Entry] = []
    outcomes: Counter[str] = Counter()

    def close(entry: Entry, outcome: Outcome, size: int) -> None:
        entry.outcome = outcome
        entry.response = b"x" * size
        journal.close(entry, 2.0)
        counters.count(entry)
        outcomes[outcome.value] += 1

    for what, outcome, size in steps:
        if what == "open":
            open_now.append(opened(journal))
        elif what == "clear":
            journal.clear()
        elif open_now:
            close(open_now.pop(size % len(open_now)), outcome, size)
        assert journal.opened_total == len(journal) + journal.evicted_total
        assert journal.opened_total == counters.total + journal.in_progress
        assert len(journal) <= entries_max
        assert journal.bytes_kept <= bytes_max
    for entry in open_now:
        close(entry, Outcome.OK, 0)
    assert journal.opened_total == counters.total == sum(outcomes.values()) == len(journal) + journal.evicted_total
    assert counters.snapshot()["calls"].get("Ping", {}) == dict(outcomes)
    kept = sum(len(entry.request) + len(entry.response) for entry in journal)
    assert journal.bytes_kept == kept


def test_watcher_hears_every_close_until_it_is_taken_off() -> None:
    journal = Journal(entries_max=2, bytes_max=100)
    heard: list[int] = []

    def watcher() -> None:
        heard.append(journal.closed_total)

    journal.watch(watcher)
    journal.close(journal.open(0, 0.0), 1.0)
    assert heard == [1]
    journal.unwatch(watcher)
    journal.close(journal.open(0, 0.0), 1.0)
    assert heard == [1]


def test_closed_after_counts_the_calls_that_had_begun() -> None:
    journal = Journal(entries_max=9, bytes_max=100)
    first, second = journal.open(0, 0.0), journal.open(0, 0.0)
    journal.close(first, 1.0)
    third = journal.open(0, 0.0)
    assert (first.closed_after, second.closed_after, third.number) == (2, 0, 3)


def test_headers_count_as_kept_bytes_and_leave_with_their_entry() -> None:
    journal = Journal(entries_max=9, bytes_max=10)
    for _ in range(2):
        entry = journal.open(0, 0.0)
        entry.headers = [(b"abc", b"defgh")]
        journal.close(entry, 1.0)
    assert (len(journal), journal.bytes_kept) == (1, len(entry.head))


def test_headers_of_a_call_that_is_not_kept_are_not_kept_either() -> None:
    journal = Journal(entries_max=0, bytes_max=1000)
    entry = journal.open(0, 0.0)
    entry.headers = [(b"abc", b"defgh")]
    journal.close(entry, 1.0)
    assert (entry.headers, journal.bytes_kept) == ([], 0)


def test_a_call_that_is_open_or_has_just_ended_is_in_doubt_and_one_that_took_no_time_long_ago_is_not() -> None:
    journal = Journal(entries_max=10, bytes_max=1000)
    instant, recent, still_open = (journal.open(0, opened_s) for opened_s in (1.0, 8.9, 2.0))
    for entry, closed_s in ((instant, 1.0), (recent, 9.0)):
        entry.outcome = Outcome.OK
        journal.close(entry, closed_s)
    assert journal.in_doubt(9.1) == [recent, still_open]
