from collections.abc import Callable

import pytest

from controlapi import Api


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", "Basic Y29udHJvbC10b2tlbi1vZi10aGUtdGVzdHM=", "Bearer é"]
)
def test_call_without_the_control_token_is_unauthenticated(with_api: Callable[..., None], header: str | None) -> None:
    async def body(api: Api) -> None:
        api.client.headers.pop("authorization")
        headers = {} if header is None else {"Authorization": header.encode()}
        for verb, path in (("GET", "/runs"), ("POST", "/enqueue"), ("POST", "/reset"), ("GET", "/nope")):
            answer = await api.client.request(verb, f"/control/v1{path}", headers=headers, content=b"{")
            assert answer.status_code == 401, f"{verb} {path}"
            assert answer.json()["error"]["code"] == "unauthenticated"

    with_api(body)


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "token"])
def test_call_with_the_control_token_passes(with_api: Callable[..., None], scheme: str) -> None:
    async def body(api: Api) -> None:
        header = api.client.headers["authorization"].replace("Bearer", scheme)
        await api.call("GET", "/runs", headers={"Authorization": header})

    with_api(body)


def test_server_without_control_token_asks_for_none(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        api.client.headers.pop("authorization")
        await api.call("GET", "/runs")

    with_api(body, control_token="")
