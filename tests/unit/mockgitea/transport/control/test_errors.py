"""One error shape for every route, whatever is thrown at it."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from controlapi import Api
from mockgitea.transport.control.errors import BODY_BYTES_MAX

JUNK_BODIES: dict[str, bytes] = {
    "nothing": b"",
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe{}",
    "null": b"null",
    "list": b"[]",
    "text": b'"x"',
    "number": b"1e999",
    "not a number": b'{"seconds": NaN}',
    "unknown field": b'{"no_such_field": 1}',
    "wrong types": b'{"repository": 1, "owner": [], "name": {}, "seconds": "x", "labels": 5, "value": null, "kind": 3}',
    "lone surrogate": b'{"name": "\\ud800", "owner": "\\ud800", "value": "\\ud800", "repository": "a/\\ud800"}',
    "NUL": b'{"name": "\\u0000", "owner": "\\u0000", "value": "\\u0000", "kind": "user"}',
    "deep": b"[" * 50_000,
    "big number": b'{"seconds": 1' + b"0" * 400 + b', "job_id": 99999999999999999999999}',
}
JUNK_PARTS = ["0", "-1", "1", "x", "99999999999999999999", "%00", "%ff", "a%2Fb", "é"]


def _assert_error_shape(answer: httpx.Response, what: str) -> None:
    assert answer.headers["content-type"] == "application/json", f"{what}: {answer.text}"
    content = answer.json()
    assert set(content) == {"error"}, f"{what}: {content}"
    assert set(content["error"]) == {"code", "message", "field"}, f"{what}: {content}"
    assert all(isinstance(value, str) for value in content["error"].values()), f"{what}: {content}"
    assert content["error"]["message"], what


def _operations(app: Any) -> list[tuple[str, str]]:
    paths = app.openapi()["paths"]
    found = [(verb.upper(), path) for path, verbs in paths.items() for verb in verbs]
    assert len(found) > 40, "the OpenAPI document lists the control API"
    return [(verb, path) for verb, path in found if not path.endswith("/reset")]


@pytest.mark.slow
@pytest.mark.parametrize("junk", list(JUNK_BODIES))
def test_every_route_refuses_junk_bodies_in_the_one_shape(with_api: Callable[..., None], junk: str) -> None:
    async def body(api: Api) -> None:
        for verb, path in _operations(api.app):
            filled = path.replace("{name}", "n").replace("{run_id}", "1").replace("{job_id}", "1")
            filled = filled.replace("{task_id}", "1").replace("{runner_id}", "1")
            for kind in ("application/json", "text/plain"):
                headers = {"Content-Type": kind}
                answer = await api.client.request(verb, filled, content=JUNK_BODIES[junk], headers=headers)
                what = f"{verb} {filled} with {junk} as {kind}: {answer.status_code}"
                assert answer.status_code < 500, f"{what} {answer.text}"
                if answer.is_error:
                    _assert_error_shape(answer, what)

    with_api(body)


@pytest.mark.slow
@pytest.mark.parametrize("part", JUNK_PARTS)
def test_every_route_refuses_junk_in_path_and_query_in_the_one_shape(with_api: Callable[..., None], part: str) -> None:
    async def body(api: Api) -> None:
        for verb, path in _operations(api.app):
            filled = "/".join(part if piece.startswith("{") else piece for piece in path.split("/"))
            query = "&".join(f"{name}={part}" for name in ("limit", "offset", "repository", "owner", "sha", "status"))
            content = {"within_s": 0} if path.endswith("/wait") else {}
            answer = await api.client.request(verb, f"{filled}?{query}", json=content if verb != "GET" else None)
            what = f"{verb} {filled}: {answer.status_code}"
            assert answer.status_code < 500, f"{what} {answer.text}"
            if answer.is_error:
                _assert_error_shape(answer, what)

    with_api(body)


@pytest.mark.parametrize(
    ("verb", "path", "status", "allow"),
    [
        ("GET", "/control/v1/nope", 404, ""),
        ("GET", "/control/v1/", 404, ""),
        ("GET", "/nope", 404, ""),
        ("PUT", "/control/v1/runs", 405, "GET"),
        ("POST", "/control/v1/runs/1", 405, "DELETE, GET"),
    ],
)
def test_what_the_framework_refuses_has_the_same_shape(
    with_api: Callable[..., None], verb: str, path: str, status: int, allow: str
) -> None:
    async def body(api: Api) -> None:
        answer = await api.client.request(verb, path)
        assert answer.status_code == status
        assert answer.headers.get("allow", "") == allow
        _assert_error_shape(answer, path)

    with_api(body)


def test_body_over_the_limit_is_refused_while_it_arrives(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        sent = 0

        async def endless() -> Any:
            nonlocal sent
            while sent < 4 * BODY_BYTES_MAX:
                sent += 65_536
                yield b" " * 65_536

        answer = await api.client.post("/control/v1/enqueue", content=endless())
        assert answer.status_code == 413
        _assert_error_shape(answer, "oversized")
        assert answer.json()["error"]["code"] == "resource_exhausted"

    with_api(body)


def test_unforeseen_failure_is_internal_with_a_request_id_and_no_details(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        api.server.counters = None  # as if a part were broken
        answer = await api.client.get("/control/v1/counters")
        assert answer.status_code == 500
        _assert_error_shape(answer, "broken")
        assert "request id" in answer.json()["error"]["message"]
        assert "NoneType" not in answer.text

    with_api(body)


def test_openapi_document_names_the_errors_of_every_operation(with_api: Callable[..., None]) -> None:
    async def body(api: Api) -> None:
        document = (await api.client.get("/openapi.json")).json()
        for path, verbs in document["paths"].items():
            for verb, operation in verbs.items():
                assert operation["description"], f"{verb} {path} has no description"
                for status in ("400", "401", "404", "409", "413", "422", "500"):
                    schema = operation["responses"][status]["content"]["application/json"]["schema"]
                    assert schema["$ref"].endswith("/ErrorAnswer"), f"{verb} {path} {status}"
        assert "HTTPValidationError" not in json.dumps(document)

    with_api(body)


@pytest.mark.slow
def test_openapi_document_is_the_same_every_time(with_api: Callable[..., None]) -> None:
    documents: list[bytes] = []

    async def body(api: Api) -> None:
        documents.append((await api.client.get("/openapi.json")).content)

    with_api(body, control_token="one")
    with_api(body, control_token="two", profile="forgejo-15")
    assert documents[0] == documents[1]
