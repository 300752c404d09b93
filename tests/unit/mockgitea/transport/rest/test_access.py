import base64
from collections.abc import Callable

import pytest

from restapi import Rest

TOKEN = "api-token-of-the-tests"


def _basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "header",
    [f"token {TOKEN}", f"Bearer {TOKEN}", f"TOKEN {TOKEN}", _basic("mona", TOKEN), _basic(TOKEN, "x-oauth-basic")],
)
def test_token_is_taken_in_every_form_of_the_header(with_rest: Callable[..., None], header: str) -> None:
    async def body(rest: Rest) -> None:
        await rest.call("GET", "/repos/demo/demo/actions/runners", headers={"Authorization": header})

    with_rest(body)


def test_token_is_taken_from_the_query(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        rest.client.headers.pop("authorization")
        await rest.call("GET", "/admin/actions/runners", params={"token": TOKEN})

    with_rest(body)


def test_missing_token_is_refused_where_one_is_required(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        rest.client.headers.pop("authorization")
        for verb, path in (
            ("GET", "/repos/demo/demo/actions/runners"),
            ("POST", "/admin/actions/runners/registration-token"),
            ("GET", "/repos/no/where/actions/runs"),
            ("GET", "/repos/demo/demo/actions/jobs/1/logs"),
        ):
            answer = await rest.call(verb, path, expect=401)
            assert answer == {"message": "token is required", "url": "http://gitea.test/api/swagger"}

    with_rest(body)


@pytest.mark.parametrize(
    "header", ["token wrong", "Bearer", "Basic !!!", _basic("mona", "wrong"), "Digest x", "token é"]
)
def test_wrong_token_is_refused_even_where_none_is_required(with_rest: Callable[..., None], header: str) -> None:
    async def body(rest: Rest) -> None:
        for path in ("/version", "/repos/demo/demo/actions/tasks", "/nope"):
            answer = await rest.call("GET", path, headers={"Authorization": header.encode()}, expect=401)
            assert answer["message"] == "invalid username, password or token"

    with_rest(body)


def test_public_reads_need_no_token(with_rest: Callable[..., None]) -> None:
    async def body(rest: Rest) -> None:
        rest.client.headers.pop("authorization")
        assert await rest.call("GET", "/version") == {"version": "1.27.0"}
        await rest.call("GET", "/repos/demo/demo/actions/tasks")

    with_rest(body)
