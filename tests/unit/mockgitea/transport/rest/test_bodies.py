import asyncio
from typing import Any

import pytest
from starlette.requests import Request

from mockgitea.transport.rest.bodies import BODY_BYTES_MAX, Body, read_body
from mockgitea.transport.rest.errors import RestRefusal

FORM = "application/x-www-form-urlencoded"


def _request(content: bytes, kind: str = "application/json") -> Request:
    scope = {"type": "http", "method": "POST", "path": "/", "headers": [(b"content-type", kind.encode())]}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    return Request(scope, receive)


def _read(content: bytes, kind: str = "application/json") -> Body:
    return asyncio.run(read_body(_request(content, kind)))


def test_body_that_is_empty_has_no_fields() -> None:
    body = _read(b"")
    assert (body.text("a"), body.flag("a"), body.texts("a")) == ("", None, {})


def test_body_as_json_keeps_types_and_turns_scalars_of_maps_into_text() -> None:
    body = _read(b'{"a": "x", "b": true, "c": {"n": 1, "t": true, "s": "y"}, "other": []}')
    assert (body.text("a"), body.flag("b")) == ("x", True)
    assert body.texts("c") == {"n": "1", "t": "true", "s": "y"}


def test_body_as_form_has_bracketed_maps_and_word_flags() -> None:
    body = _read(b"a=x+y&b=on&inputs%5Bn%5D=1&inputs%5Bm%5D=", FORM)
    assert (body.text("a"), body.flag("b"), body.flag("c")) == ("x y", True, None)
    assert body.texts("inputs") == {"n": "1", "m": ""}


@pytest.mark.parametrize("content", [b"{", b"[]", b"1", b"\xff", b'{"a": ' * 100_000])
def test_body_that_is_no_json_object_is_422(content: bytes) -> None:
    with pytest.raises(RestRefusal) as caught:
        _read(content)
    assert caught.value.status == 422


@pytest.mark.parametrize(
    ("content", "read", "message"),
    [
        (b"{}", lambda body: body.text("value", is_required=True), "[Value]: Required"),
        (b'{"value": 1}', lambda body: body.text("value"), "[Value]: must be a string"),
        (b'{"value": "\\ud800"}', lambda body: body.text("value"), "[Value]: must be valid Unicode"),
        (b'{"value": "yes"}', lambda body: body.flag("value"), "[Value]: must be true or false"),
        (b'{"value": "x"}', lambda body: body.texts("value"), "[Value]: must be an object of strings"),
        (b'{"value": {"a": "\\ud800"}}', lambda body: body.texts("value"), "[Value]: must be valid Unicode"),
        (b'{"value": {"\\ud800": "a"}}', lambda body: body.texts("value"), "[Value]: must be valid Unicode"),
        (b'{"value": {"a": null}}', lambda body: body.texts("value"), "[Value]: values must be strings"),
    ],
)
def test_field_of_the_wrong_type_is_422_and_named(content: bytes, read: Any, message: str) -> None:
    with pytest.raises(RestRefusal) as caught:
        read(_read(content))
    assert (caught.value.status, caught.value.message) == (422, message)


def test_body_past_the_limit_is_413_before_all_of_it_is_read() -> None:
    taken = 0

    async def receive() -> dict[str, Any]:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": b" " * 1_000_000, "more_body": True}

    request = Request({"type": "http", "method": "POST", "path": "/", "headers": []}, receive)
    with pytest.raises(RestRefusal) as caught:
        asyncio.run(read_body(request))
    assert caught.value.status == 413
    assert taken == BODY_BYTES_MAX // 1_000_000 + 1
