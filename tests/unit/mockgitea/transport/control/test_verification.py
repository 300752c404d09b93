import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from asyncwait import until
from controlapi import Api
from mockgitea.core.calls import Method, Outcome
from mockgitea.verify.har import check_har
from mockgitea.verify.session import Session


def seen(
    api: Api,
    method: Method,
    outcome: Outcome = Outcome.OK,
    request: bytes = b"",
    response: bytes = b"",
    at_s: float = 1.0,
) -> None:
    """Record one call, as admission does."""
    journal = api.server.journal
    entry = journal.open(api.services.clock.now_us(), at_s)
    entry.method, entry.outcome, entry.path, entry.status = method, outcome, "/x", 200
    entry.content_type, entry.request, entry.response = "application/proto", request, response
    journal.close(entry, at_s + 0.01)


LOG = bytes.fromhex("08091004")  # task 9, index 4


def test_query_shows_what_matches_and_no_misses(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        for _ in range(3):
            seen(api, Method.UPDATE_LOG, request=LOG)
        seen(api, Method.PING)
        match = {"method": "UpdateLog", "task": 9, "request": {"index": 4}}
        found = await api.call("POST", "/journal/query", json={"match": match, "limit": 2})
        assert [entry["number"] for entry in found["entries"]] == [2, 3]
        assert (found["matched"], found["recorded"], found["mark"], found["nearest_misses"]) == (3, 4, 4, [])
        several = await api.call(
            "POST", "/journal/query", json={"match": {"method": ["Ping", "UpdateLog"], "since": 2}}
        )
        assert [entry["method"] for entry in several["entries"]] == ["UpdateLog", "Ping"]
        assert (await api.call("POST", "/journal/query", json={}))["matched"] == 4

    with_api(body)


def test_query_without_a_match_shows_the_nearest_misses(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        seen(api, Method.UPDATE_LOG, request=LOG)
        match = {"method": "UpdateLog", "status": [404, 500], "request": {"index": 5, "nope": 1}}
        found = await api.call("POST", "/journal/query", json={"match": match})
        assert found["nearest_misses"] == [
            {
                "number": 1,
                "differences": [
                    {"field": "status", "got": 200, "wanted": "any of 404, 500"},
                    {"field": "request.index", "got": 4, "wanted": 5},
                    {"field": "request.nope", "got": "nothing", "wanted": 1},
                ],
            }
        ]

    with_api(body)


def test_wait_returns_when_the_call_ends_and_explains_when_it_does_not(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        wish = {"match": {"method": "Ping"}, "n": 1, "within_s": 20}
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(api.call("POST", "/journal/wait", json=wish))
            await until(lambda: api.server.journal._watchers)
            seen(api, Method.PING)
        assert waiting.result() == {"is_met": True, "entries": [1], "explanation": ""}
        late = await api.call("POST", "/journal/wait", json=wish | {"n": 2, "within_s": 0})
        assert not late["is_met"]
        assert "expected 2 calls within 0 s of: method='Ping'\nbut there were 1" in late["explanation"]

    with_api(body)


@pytest.mark.parametrize(
    ("expectation", "is_met", "text"),
    [
        ({"requests": {"match": {"method": "Ping"}, "count": 2}}, True, ""),
        ({"requests": {"match": {"method": "Ping"}, "at_most": 1}}, False, "expected at most 1 call"),
        ({"order": [{"method": "Ping"}, {"method": "UpdateLog"}, {"method": "Ping"}]}, True, ""),
        ({"order": [{"method": "UpdateLog"}, {"method": "UpdateLog"}]}, False, "expected in order, 2 of 2"),
        ({"rate": {"match": {"method": "Ping"}, "at_most": 1, "per_s": 100.0}}, False, "in any 100 s"),
        ({"no_gap": {"match": {"method": "Ping"}, "longest_s": 1.0}}, False, "no gap above 1 s"),
        ({"no_gap": {"match": {"method": "Ping"}, "longest_s": 10.0}, "requests": {}}, True, ""),
    ],
)
def test_expectation_is_met_or_explained(
    with_api: Callable[..., None], expectation: dict[str, Any], is_met: bool, text: str
) -> None:
    async def body(api: Api) -> None:
        seen(api, Method.PING, at_s=1.0)
        seen(api, Method.UPDATE_LOG, request=LOG, at_s=2.0)
        seen(api, Method.PING, at_s=6.0)
        verdict = await api.call("POST", "/journal/expect", json=expectation)
        assert verdict["is_met"] is is_met
        assert text in verdict["explanation"]

    with_api(body)


@pytest.mark.parametrize(
    ("path", "wish", "field"),
    [
        ("query", {"match": {"method": "Fetch"}}, "match.method"),
        ("query", {"match": {"colour": 1}}, "match.colour"),
        ("query", {"limit": 0}, "limit"),
        (
            "query",
            {"match": {"request": {"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[0]]]]]]]]]]]]]]]]]]]]]]]]]]]}}},
            "match.request",
        ),
        ("wait", {"within_s": 601}, "within_s"),
        ("wait", {"n": 0}, "n"),
        ("expect", {}, "requests"),
        ("expect", {"rate": {"at_most": 1, "per_s": 0}}, "rate.per_s"),
    ],
)
def test_wrong_body_is_refused_and_names_the_field(
    with_api: Callable[..., None], path: str, wish: dict[str, Any], field: str
) -> None:
    async def body(api: Api) -> None:
        answer = await api.client.post(f"/control/v1/journal/{path}", json=wish)
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]["field"].startswith(field)

    with_api(body)


def test_number_that_json_has_not_is_refused(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        text = '{"match": {"request": {"index": NaN}}}'
        headers = {"Content-Type": "application/json"}
        answer = await api.client.post("/control/v1/journal/query", content=text, headers=headers)
        assert answer.status_code in (400, 422)

    with_api(body)


def test_audit_names_findings_and_what_is_correct(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        record, _ = await api.services.registration.create_runner(name="r1")
        seen(api, Method.UPDATE_LOG, request=LOG, response=bytes.fromhex("0800"))
        api.server.journal.entries()[0].runner_uuid = record.uuid
        report = await api.call("GET", "/audit", params={"capacity": ["r1=2", "x=1"], "heartbeat_s": 5})
        rules = [
            (finding["rule"], finding["runner"], finding["task"], finding["entries"]) for finding in report["findings"]
        ]
        assert rules == [("log-gap", "r1", 9, [1]), ("task-owner", "r1", 9, [1])]
        assert all(finding["correct"] for finding in report["findings"])
        wrong = await api.call("GET", "/audit", params={"stopped": "r1"}, expect=400)
        assert wrong["error"]["message"] == "stopped: write RUNNER=NUMBER, got 'r1'"

    with_api(body)


def test_export_is_a_session_or_an_archive(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        seen(api, Method.UPDATE_LOG, request=LOG)
        lines = await api.client.get("/control/v1/journal/export")
        assert Session.from_lines(lines.text.splitlines()).records()[0].tasks == (9,)
        archive = await api.client.get("/control/v1/journal/export", params={"format": "har"})
        check_har(json.loads(archive.text))
        await api.call("GET", "/journal/export", params={"format": "pcap"}, expect=422)

    with_api(body)
