from collections.abc import Callable
from typing import Any

import pytest

from controlapi import Api
from mockgitea.core.calls import Method, Outcome


def _seen(api: Api, method: Method, outcome: Outcome, runner_uuid: str = "") -> None:
    """Record one call, as admission does."""
    journal = api.server.journal
    entry = journal.open(api.services.clock.now_us(), 1.0)
    entry.method, entry.outcome, entry.runner_uuid, entry.path = method, outcome, runner_uuid, "/x"
    journal.close(entry, 2.0)


def test_counters_add_up_by_method_and_by_runner(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        _seen(api, Method.FETCH_TASK, Outcome.EMPTY, "u1")
        _seen(api, Method.FETCH_TASK, Outcome.TASK, "u1")
        _seen(api, Method.PING, Outcome.OK)
        assert await api.call("GET", "/counters") == {
            "total": 3,
            "calls": {"FetchTask": {"empty": 1, "task": 1}, "Ping": {"ok": 1}},
            "runners": {"u1": {"FetchTask": {"empty": 1, "task": 1}}},
        }

    with_api(body)


def test_journal_is_filtered_limited_and_cleared(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        for number in range(3):
            _seen(api, Method.FETCH_TASK, Outcome.EMPTY, f"u{number}")
        _seen(api, Method.PING, Outcome.OK)
        assert len((await api.call("GET", "/journal"))["entries"]) == 4
        newest = await api.call("GET", "/journal", params={"method": "FetchTask", "limit": 2})
        assert [entry["runner_uuid"] for entry in newest["entries"]] == ["u1", "u2"]
        assert len((await api.call("GET", "/journal", params={"runner": "u1"}))["entries"]) == 1
        await api.call("GET", "/journal", params={"method": "Nope"}, expect=422)
        await api.call("DELETE", "/journal", expect=204)
        after = await api.call("GET", "/journal")
        assert (after["entries"], after["opened_total"], after["evicted_total"]) == ([], 4, 4)

    with_api(body)


def test_fault_is_added_listed_released_and_removed(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        wish = {"name": "slow", "kind": "delay", "method": "FetchTask", "delay_s": 1.5, "times": 2, "stage": "after"}
        made = await api.call("POST", "/faults", json=wish, expect=201)
        expected = wish | {"hits": 0, "left": 2}
        assert {key: made[key] for key in expected} == expected
        assert (await api.call("GET", "/faults"))["faults"] == [made]
        assert (await api.call("POST", "/faults", json=wish, expect=409))["error"]["field"] == "name"
        await api.call("POST", "/faults/slow/release", expect=204)
        await api.call("DELETE", "/faults/slow", expect=204)
        await api.call("DELETE", "/faults/slow", expect=404)
        await api.call("POST", "/faults/slow/release", expect=404)

    with_api(body)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        ({"kind": "refuse"}, "name"),
        ({"name": "f", "kind": "explode"}, "kind"),
        ({"name": "f", "kind": "delay"}, "delay_s"),
        ({"name": "f", "kind": "refuse", "method": "Nope"}, "method"),
        ({"name": "f", "kind": "refuse", "code": "nope"}, "code"),
        ({"name": "f", "kind": "refuse", "times": 0}, "times"),
    ],
)
def test_fault_that_cannot_be_is_refused_and_names_the_field(
    with_api: Callable[..., None], wish: dict[str, Any], field: str
) -> None:
    async def body(api: Api) -> None:
        answer = await api.client.post("/control/v1/faults", json=wish)
        assert answer.status_code in (400, 422)
        assert answer.json()["error"]["field"] == field
        assert (await api.call("GET", "/faults"))["faults"] == []

    with_api(body)
