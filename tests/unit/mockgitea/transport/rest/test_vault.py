from collections.abc import Callable
from typing import Any

import pytest

from restapi import Rest

REPO = "/repos/demo/demo/actions"
SECRET = "a-very-secret-value"


def test_secret_is_201_new_and_204_changed_and_never_shown(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        path = f"{REPO}/secrets/my_key"
        created = await rest.client.put(f"/api/v1{path}", json={"data": SECRET, "description": "d"})
        assert (created.status_code, created.content) == (201, b"")
        changed = await rest.client.put(f"/api/v1{path}", json={"data": "x"})
        assert (changed.status_code, changed.content) == (204, b"")
        answer = await rest.client.get(f"/api/v1{REPO}/secrets")
        [shown] = answer.json()
        assert list(shown) == ["name", "description", "created_at"]
        assert shown["name"] == "MY_KEY"
        assert answer.headers["x-total-count"] == "1"
        await rest.call("DELETE", path, expect=204)
        await rest.call("DELETE", path, expect=404)

    with_rest(body)


@pytest.mark.parametrize(
    ("name", "request_body", "status"),
    [("GITHUB_X", {"data": "x"}, 400), ("1bad", {"data": "x"}, 400), ("ok", {}, 422), ("ok", {"data": 1}, 422)],
)
def test_secret_with_a_bad_name_or_body_is_refused(
    with_rest: Callable[..., None], name: str, request_body: dict[str, Any], status: int
) -> None:
    async def body(rest: Rest) -> None:
        await rest.call("PUT", f"{REPO}/secrets/{name}", json=request_body, expect=status)
        assert await rest.call("GET", f"{REPO}/secrets") == []

    with_rest(body)


def test_variable_is_created_shown_renamed_and_deleted(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        path = f"{REPO}/variables/level"
        await rest.call("POST", path, json={"value": "1", "description": "d"}, expect=201)
        shown = await rest.call("GET", path)
        assert shown == {"owner_id": 0, "repo_id": 1, "name": "LEVEL", "data": "1", "description": "d"}
        taken = await rest.call("POST", path, json={"value": "2"}, expect=409)
        assert taken["message"] == "variable name already exists"
        await rest.call("PUT", path, json={"value": "3"}, expect=204)
        assert (await rest.call("GET", path))["description"] == ""
        await rest.call("PUT", path, json={"value": "4", "name": "height"}, expect=204)
        await rest.call("GET", path, expect=404)
        assert (await rest.call("GET", f"{REPO}/variables/height"))["data"] == "4"
        answer = await rest.client.get(f"/api/v1{REPO}/variables")
        assert answer.headers["x-total-count"] == "1"
        assert [each["name"] for each in answer.json()] == ["HEIGHT"]
        await rest.call("DELETE", f"{REPO}/variables/height", expect=204)
        await rest.call("DELETE", f"{REPO}/variables/height", expect=404)
        await rest.call("PUT", f"{REPO}/variables/height", json={"value": "5"}, expect=404)

    with_rest(body)


@pytest.mark.parametrize(
    ("profile", "status"), [("gitea-1.21", 204), ("gitea-1.25", 201), ("gitea-1.27", 201), ("forgejo-15", 204)]
)
def test_creating_a_variable_answers_as_the_profile_does(
    with_rest: Callable[..., None], profile: str, status: int
) -> None:
    async def body(rest: Rest) -> None:
        await rest.call("POST", f"{REPO}/variables/a", json={"value": "1", "description": "d"}, expect=status)
        shown = await rest.call("GET", f"{REPO}/variables/a")
        assert ("description" in shown) == (not profile.startswith("forgejo"))

    with_rest(body, profile)


def test_scopes_have_vaults_of_their_own(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        await rest.services.repositories.ensure("octo", "app", "org")
        for number, prefix in enumerate(("/repos/demo/demo", "/user", "/orgs/octo")):
            await rest.call("POST", f"{prefix}/actions/variables/a", json={"value": str(number)}, expect=201)
        for number, prefix in enumerate(("/repos/demo/demo", "/user", "/orgs/octo")):
            assert (await rest.call("GET", f"{prefix}/actions/variables/a"))["data"] == str(number)

    with_rest(body)
