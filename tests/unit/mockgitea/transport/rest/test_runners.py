from collections.abc import Callable

import pytest

from mockgitea.core.messages import Registering
from restapi import Rest

REPO = "/repos/demo/demo/actions"


@pytest.mark.parametrize(("profile", "verb"), [("gitea-1.27", "POST"), ("gitea-1.25", "GET"), ("forgejo-15", "GET")])
def test_registration_token_is_the_same_until_the_page_resets_it(
    with_rest: Callable[..., None], profile: str, verb: str
) -> None:
    async def body(rest: Rest) -> None:
        tokens = set()
        for prefix in ("/repos/demo/demo", "/orgs/demo", "/user", "/admin"):
            path = f"{prefix}/actions/runners/registration-token"
            first = await rest.call(verb, path)
            assert set(first) == {"token"}
            assert await rest.call(verb, path) == first
            tokens.add(first["token"])
        assert len(tokens) == 3, "organization and user are one owner here, so they share a token"
        fresh = await rest.services.registration.registration_token(0, 1, reset=True)
        assert (await rest.call(verb, f"{REPO}/runners/registration-token"))["token"] == fresh

    with_rest(body, profile)


def test_gitea_runner_has_its_shape_and_list_has_no_total_header(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.runner(["a", "b"])
        answer = await rest.client.get("/api/v1/admin/actions/runners")
        assert "x-total-count" not in answer.headers
        shown = {
            "id": 1,
            "name": "r1",
            "status": "offline",
            "busy": False,
            "disabled": False,
            "ephemeral": False,
            "labels": [{"id": 0, "name": "a", "type": "custom"}, {"id": 1, "name": "b", "type": "custom"}],
        }
        assert answer.json() == {"runners": [shown], "total_count": 1}
        assert await rest.call("GET", "/admin/actions/runners/1") == shown

    with_rest(body)


def test_runner_before_1_26_cannot_be_disabled(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.runner()
        assert "disabled" not in await rest.call("GET", "/admin/actions/runners/1")
        await rest.call("PATCH", "/admin/actions/runners/1", json={"disabled": True}, expect=405)

    with_rest(body, "gitea-1.25")


def test_forgejo_runner_has_its_shape_in_a_bare_list(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        made = await rest.call("POST", f"{REPO}/runners", json={"name": "r", "description": "d"}, expect=201)
        assert set(made) == {"id", "uuid", "token"}
        assert rest.services.directory.authenticate(made["uuid"], made["token"]).repo_id == 1
        answer = await rest.client.get(f"/api/v1{REPO}/runners")
        assert answer.headers["x-total-count"] == "1"
        assert answer.json() == [
            {
                "id": made["id"],
                "uuid": made["uuid"],
                "name": "r",
                "version": "",
                "status": "offline",
                "labels": [],
                "description": "d",
                "ephemeral": False,
                "owner_id": 0,
                "repo_id": 1,
            }
        ]
        await rest.call("POST", f"{REPO}/runners", json={}, expect=422)

    with_rest(body, "forgejo-15")


def test_forgejo_list_with_visible_adds_the_runners_of_wider_scopes(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        for path in (REPO, "/user/actions", "/admin/actions"):
            await rest.call("POST", f"{path}/runners", json={"name": path}, expect=201)
        assert len(await rest.call("GET", f"{REPO}/runners")) == 1
        assert len(await rest.call("GET", f"{REPO}/runners", params={"visible": "true"})) == 3
        assert len(await rest.call("GET", "/user/actions/runners", params={"visible": "true"})) == 2
        assert len(await rest.call("GET", "/admin/actions/runners")) == 3

    with_rest(body, "forgejo-15")


def test_runner_status_follows_its_calls(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        record = await rest.runner()

        async def status() -> tuple[str, bool]:
            shown = await rest.call("GET", f"/admin/actions/runners/{record.id}")
            return shown["status"], shown["busy"]

        rest.services.directory.seen(record, active=True)
        assert await status() == ("online", True)
        rest.services.clock.advance(10.5)
        assert await status() == ("online", False)
        rest.services.clock.advance(50)
        assert await status() == ("offline", False)

    with_rest(body)


def test_runner_of_another_scope_is_not_found(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        token = await rest.services.registration.registration_token(0, 1)
        record, _ = await rest.services.registration.register(Registering(name="r", token=token))
        await rest.call("GET", f"{REPO}/runners/{record.id}")
        await rest.call("GET", f"/admin/actions/runners/{record.id}")
        for prefix in ("/user", "/orgs/demo"):
            answer = await rest.call("GET", f"{prefix}/actions/runners/{record.id}", expect=404)
            assert answer["message"] == "No permission to access this runner"
            await rest.call("DELETE", f"{prefix}/actions/runners/{record.id}", expect=404)

    with_rest(body)


def test_runner_is_disabled_listed_and_deleted(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        record = await rest.runner()
        path = f"/admin/actions/runners/{record.id}"
        assert (await rest.call("PATCH", path, json={"disabled": True}))["disabled"] is True
        assert record.is_disabled
        for query, count in (("true", 1), ("false", 0)):
            listed = await rest.call("GET", "/admin/actions/runners", params={"disabled": query})
            assert listed["total_count"] == count
        refused = await rest.call("PATCH", path, json={}, expect=422)
        assert refused["message"] == "[Disabled]: Required"
        await rest.call("PATCH", path, json={"disabled": "yes"}, expect=422)
        await rest.call("DELETE", path, expect=204)
        assert (await rest.call("GET", path, expect=404))["message"] == "Runner not found"

    with_rest(body)


def test_runners_are_paged(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        for _ in range(35):
            await rest.runner()

        async def ids(**query: str) -> list[int]:
            listed = await rest.call("GET", "/admin/actions/runners", params=query)
            assert listed["total_count"] == 35
            return [runner["id"] for runner in listed["runners"]]

        assert await ids() == list(range(1, 31))
        assert await ids(page="2") == list(range(31, 36))
        assert await ids(page="0", limit="-3") == list(range(1, 31))
        assert await ids(page="x", limit="1000") == list(range(1, 36))
        assert await ids(page="9999999999999999999") == list(range(1, 31))
        assert await ids(page="3") == []

    with_rest(body)
