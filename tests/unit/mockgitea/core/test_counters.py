from mockgitea.core.calls import Method, Outcome
from mockgitea.core.counters import DURATION_BOUNDS_S, Counters
from mockgitea.core.journal import Entry


def closed(method: Method, outcome: Outcome, *, runner: str = "", duration_s: float = 0.002) -> Entry:
    entry = Entry(1, 0, 0.0)
    entry.method, entry.outcome, entry.runner_uuid, entry.duration_s = method, outcome, runner, duration_s
    return entry


def test_count_moves_method_outcome_and_runner_once() -> None:
    counters = Counters()
    counters.count(closed(Method.FETCH_TASK, Outcome.EMPTY, runner="u"))
    counters.count(closed(Method.FETCH_TASK, Outcome.EMPTY, runner="u"))
    counters.count(closed(Method.PING, Outcome.OK))
    assert counters.snapshot() == {
        "total": 3,
        "calls": {"FetchTask": {"empty": 2}, "Ping": {"ok": 1}},
        "runners": {"u": {"FetchTask": {"empty": 2}}},
    }


def test_calls_sum_over_runners() -> None:
    counters = Counters()
    for runner in ("", "u", "v"):
        counters.count(closed(Method.FETCH_TASK, Outcome.EMPTY, runner=runner))
    assert counters.calls == {(Method.FETCH_TASK, Outcome.EMPTY): 3}
    assert sorted(counters.by_runner) == ["u", "v"]


def test_durations_fall_into_the_bucket_of_their_upper_bound() -> None:
    counters = Counters()
    for seconds in (0.0005, 0.0006, 1000.0):
        counters.count(closed(Method.PING, Outcome.OK, duration_s=seconds))
    durations = counters.durations[Method.PING]
    assert durations.buckets[0] == 1
    assert durations.buckets[1] == 1
    assert durations.buckets[len(DURATION_BOUNDS_S)] == 1
    assert durations.count == 3


def test_reset_starts_again_at_zero() -> None:
    counters = Counters()
    counters.count(closed(Method.PING, Outcome.OK, runner="u"))
    counters.reset()
    assert counters.snapshot() == {"total": 0, "calls": {}, "runners": {}}
    assert counters.durations[Method.PING].count == 0
