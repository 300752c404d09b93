import re
from typing import Any

import pytest

from calls import UUID, Recording
from mockgitea.core.call_match import CallMatcher, Difference


def differences(call: Any, **match: Any) -> list[str]:
    return [str(each) for each in CallMatcher(**match).differences(call)]


def finished() -> Any:
    recording = Recording()
    recording.state(7, "success", steps=[{"id": "0", "result": "RESULT_SUCCESS"}])
    return recording.records[0]


@pytest.mark.parametrize(
    "match",
    [
        {},
        {"method": "UpdateTask", "runner": "r1", "outcome": "ok", "status": 200, "task": 7},
        {"runner": UUID},
        {"method": ("FetchTask", "UpdateTask"), "status": {200, 500}},
        {"request": {"state.result": "success", "state.steps.0.id": 0}},
        {"request": {"state": {"result": "success", "id": lambda number: number > 6}}},
        {"response": {"state.result": re.compile("^succ")}},
        {"header": {"X-Runner-UUID": UUID}},
        {"since": 0, "after_us": 0, "before_us": 2_000_000_000_000_000},
        {"path": re.compile("UpdateTask$")},
    ],
)
def test_matcher_without_a_difference_matches(match: dict[str, Any]) -> None:
    assert differences(finished(), **match) == []
    assert CallMatcher(**match).matches(finished())


@pytest.mark.parametrize(
    ("match", "shown"),
    [
        ({"method": "FetchTask"}, "method: got 'UpdateTask', wanted 'FetchTask'"),
        ({"runner": "r2"}, "runner: got 'r1', wanted 'r2'"),
        ({"task": 8}, "task: got 7, wanted 8"),
        ({"status": (404, 500)}, "status: got 200, wanted any of 404, 500"),
        ({"request": {"state.result": "failure"}}, "request.state.result: got 'success', wanted 'failure'"),
        ({"request": {"state": {"result": "failure"}}}, "request.state.result: got 'success', wanted 'failure'"),
        ({"request": {"state.nope": 1}}, "request.state.nope: got nothing, wanted 1"),
        ({"request": {"state.steps.4.id": 1}}, "request.state.steps.4.id: got nothing, wanted 1"),
        ({"header": {"user-agent": "curl"}}, "header.user-agent: got nothing, wanted 'curl'"),
        ({"response": {"state.id": re.compile("x")}}, "response.state.id: got 7, wanted /x/"),
        ({"since": 1}, "number: got 1, wanted 'above 1'"),
        ({"request": {"outputs": {"a": "b"}}}, "request.outputs.a: got nothing, wanted 'b'"),
    ],
)
def test_difference_names_field_got_and_wanted(match: dict[str, Any], shown: str) -> None:
    assert differences(finished(), **match) == [shown]


def test_time_range_is_half_open() -> None:
    call = finished()
    assert differences(call, after_us=call.at_us, before_us=call.at_us + 1) == []
    assert len(differences(call, before_us=call.at_us)) == 1
    assert len(differences(call, after_us=call.at_us + 1)) == 1


def test_predicate_is_shown_by_its_name() -> None:
    def is_long(value: str) -> bool:
        return len(value) > 100

    [difference] = CallMatcher(request={"state.result": is_long}).differences(finished())
    assert str(difference) == "request.state.result: got 'success', wanted what is_long accepts"
    assert isinstance(difference, Difference)


def test_open_call_matches_only_when_open_is_asked_for() -> None:
    held = Recording().fetch(outcome="open", duration_s=None, closed_after=0)
    assert differences(held, method="FetchTask") == ["outcome: got 'open', wanted 'an answer'"]
    assert differences(held, method="FetchTask", outcome="open") == []


@pytest.mark.parametrize(
    ("match", "text"),
    [
        ({"method": "FetchTasks"}, "method: unknown 'FetchTasks'; did you mean 'FetchTask'"),
        ({"outcome": ("ok", "zzz")}, "outcome: unknown 'zzz'; one of open, ok"),
    ],
)
def test_word_that_does_not_exist_is_refused(match: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        CallMatcher(**match)


def test_true_is_not_one() -> None:
    recording = Recording()
    recording.log(1, 0, 1, end=True)
    assert differences(recording.records[0], request={"no_more": True}) == []
    assert len(differences(recording.records[0], request={"no_more": 1})) == 1


def test_describe_tells_everything_that_matters() -> None:
    text = CallMatcher(method="FetchTask", request={"tasks_version": 0}, since=3).describe()
    assert text == "method='FetchTask' request.tasks_version=0 since=3"
    assert CallMatcher().describe() == "any call"
