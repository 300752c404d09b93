from collections.abc import Callable

from controlapi import Api
from mockgitea.core.messages import Registering


def test_created_runner_shows_its_token_once(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        wish = {"name": "r1", "labels": ["a", "b"], "scope": {"repository": "demo/demo"}, "ephemeral": True}
        made = await api.call("POST", "/runners", json=wish, expect=201)
        assert made["address"] == "http://runner.test"
        record = api.services.directory.authenticate(made["uuid"], made["token"])
        assert record.id == made["id"]
        answer = await api.client.get(f"/control/v1/runners/{made['id']}")
        assert made["token"] not in answer.text
        shown = answer.json()
        assert (shown["labels"], shown["is_ephemeral"], shown["status"]) == (["a", "b"], True, "offline")
        assert (shown["owner_id"], shown["repository_id"]) == (0, 1)
        assert (await api.call("GET", "/runners"))["runners"] == [shown]

    with_api(body)


def test_runner_of_an_unknown_owner_is_not_found(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        wish = {"name": "r1", "scope": {"owner": "nobody"}}
        answer = await api.call("POST", "/runners", json=wish, expect=404)
        assert answer["error"]["field"] == "scope"
        both = {"name": "r1", "scope": {"owner": "demo", "repository": "demo/demo"}}
        await api.call("POST", "/runners", json=both, expect=400)
        assert (await api.call("GET", "/runners"))["runners"] == []

    with_api(body)


def test_runner_is_disabled_described_and_deleted(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        made = await api.call("POST", "/runners", json={"name": "r1"}, expect=201)
        path = f"/runners/{made['id']}"
        shown = await api.call("PATCH", path, json={"disabled": True, "description": "the old one"})
        assert (shown["is_disabled"], shown["description"]) == (True, "the old one")
        assert (await api.call("PATCH", path, json={"disabled": False}))["description"] == "the old one"
        await api.call("DELETE", path, expect=204)
        await api.call("GET", path, expect=404)
        await api.call("DELETE", path, expect=404)

    with_api(body)


def test_registration_token_is_shown_again_until_it_is_reset(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        first = (await api.call("POST", "/registration-tokens", json={}))["token"]
        assert (await api.call("POST", "/registration-tokens", json={}))["token"] == first
        second = (await api.call("POST", "/registration-tokens", json={"reset": True}))["token"]
        assert second != first
        record, _ = await api.services.registration.register(Registering(name="r", token=second))
        assert record.owner_id == 0
        scoped = await api.call("POST", "/registration-tokens", json={"scope": {"owner": "demo"}})
        assert scoped["token"] not in (first, second)

    with_api(body)
