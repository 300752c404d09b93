import pytest

from calls import Recording
from mockgitea.core.call_checks import CallChecks, UnexpectedCalls
from mockgitea.core.call_match import CallMatcher

FETCH = CallMatcher(method="FetchTask")
DONE = CallMatcher(method="UpdateTask", request={"state.result": "success"})


def session() -> Recording:
    recording = Recording()
    recording.fetch()
    recording.fetch(7)
    recording.log(7, 0, 2)
    recording.state(7, "failure")
    return recording


def failure(check: object, *arguments: object, **numbers: object) -> str:
    with pytest.raises(UnexpectedCalls) as caught:
        check(*arguments, **numbers)  # type: ignore[operator]  # a bound check
    return str(caught.value)


def test_requests_without_numbers_wants_at_least_one() -> None:
    checks = CallChecks(session().records)
    assert [call.number for call in checks.requests(FETCH)] == [1, 2]
    assert "expected at least 1 call of: method='UpdateTask' request.state.result='success'" in failure(
        checks.requests, DONE
    )


@pytest.mark.parametrize("numbers", [{"count": 2}, {"at_least": 1, "at_most": 2}, {"at_most": 2}, {"at_least": 2}])
def test_requests_accepts_numbers_that_hold(numbers: dict[str, int]) -> None:
    assert len(CallChecks(session().records).requests(FETCH, **numbers)) == 2


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ({"count": 1}, "expected 1 call of: method='FetchTask'\nbut there were 2"),
        ({"at_least": 3}, "expected at least 3 calls of"),
        ({"at_most": 1}, "expected at most 1 call of"),
        ({"at_least": 3, "at_most": 4}, "expected 3 to 4 calls of"),
        ({"count": 0}, "expected 0 calls of"),
    ],
)
def test_requests_refuses_numbers_that_do_not_hold(numbers: dict[str, int], text: str) -> None:
    assert text in failure(CallChecks(session().records).requests, FETCH, **numbers)


def test_failure_shows_nearest_misses_and_what_arrived_instead() -> None:
    assert failure(CallChecks(session().records, evicted=9).requests, DONE).splitlines() == [
        "expected at least 1 call of: method='UpdateTask' request.state.result='success'",
        "but there was none",
        "",
        "nearest misses:",
        "  #4 00:00:04.000 UpdateTask r1 task 7 result failure -> ok",
        "      request.state.result: got 'failure', wanted 'success'",
        "",
        "4 calls were recorded (9 older ones were evicted from the journal): "
        "FetchTask empty 1, FetchTask task 1, UpdateLog ok 1, UpdateTask ok 1",
        "the newest:",
        "  #1 00:00:01.000 FetchTask r1 tasks_version 0 -> empty",
        "  #2 00:00:02.000 FetchTask r1 task 7 tasks_version 0 -> task",
        "  #3 00:00:03.000 UpdateLog r1 task 7 index 0 rows 2 -> ok",
        "  #4 00:00:04.000 UpdateTask r1 task 7 result failure -> ok",
    ]


def test_failure_over_an_empty_journal_asks_for_the_url() -> None:
    assert "no call was recorded; does the runner use the right URL?" in failure(CallChecks([]).requests, FETCH)


def test_failure_names_fault_code_and_page_path() -> None:
    recording = Recording()
    recording.fetch(outcome="refused", status=503, code="unavailable", fault="down")
    recording.add("page", verb="GET", path="/demo", runner_uuid="", outcome="not_found", status=404)
    text = failure(CallChecks(recording.records).requests, DONE)
    assert "-> refused (503 unavailable) [fault down]" in text
    assert "page nobody GET /demo -> not_found" in text


def test_long_journal_is_cut_in_the_text() -> None:
    recording = Recording()
    for _ in range(30):
        recording.fetch()
    assert "  … 20 before" in failure(CallChecks(recording.records).requests, DONE)


def test_order_finds_steps_one_after_the_other() -> None:
    update = CallMatcher(method="UpdateTask")
    assert [call.number for call in CallChecks(session().records).order(FETCH, FETCH, update)] == [1, 2, 4]


def test_order_failure_tells_how_far_it_came_and_that_it_came_earlier() -> None:
    text = failure(CallChecks(session().records).order, CallMatcher(method="UpdateLog"), FETCH)
    assert "expected in order, 2 of 2: method='FetchTask'" in text
    assert "after\n  #3 00:00:03.000 UpdateLog" in text
    assert "it came earlier: #1, #2" in text


def test_rate_looks_at_every_span() -> None:
    recording = Recording()
    for after_s in (10.0, 0.25, 0.25, 10.0):
        recording.fetch(after_s=after_s)
    checks = CallChecks(recording.records)
    assert len(checks.rate(FETCH, at_most=3, per_s=1)) == 4
    assert len(checks.rate(FETCH, at_most=1, per_s=0.25)) == 4  # half-open: a call exactly one span later is outside
    text = failure(checks.rate, FETCH, at_most=2, per_s=1)
    assert "expected at most 2 in any 1 s" in text
    assert "there were 3 within 0.500 s, from #1 to #3" in text


def test_no_gap_names_the_two_calls_around_the_gap() -> None:
    recording = Recording()
    for after_s in (1.0, 1.0, 30.0):
        recording.state(7, after_s=after_s)
    checks = CallChecks(recording.records)
    matcher = CallMatcher(method="UpdateTask", task=7)
    assert len(checks.no_gap(matcher, longest_s=30)) == 3
    text = failure(checks.no_gap, matcher, longest_s=10)
    assert "30.000 s passed between\n  #2 00:00:02.000 UpdateTask" in text


def test_no_gap_needs_two_calls() -> None:
    assert "expected at least 2 calls" in failure(CallChecks(session().records).no_gap, DONE, longest_s=1)
