"""A recorded session as an HTTP Archive (HAR 1.2), for the tools that people have for looking at HTTP.

Messages stand in it as JSON even when they travelled as protobuf, so that they can be read; `_` fields are ours.
Source: docs/testing.md, "Exports".
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import orjson

from mockgitea.verify.session import Session

VERSION: Final = "1.2"
UNKNOWN_SIZE: Final = -1
_OURS: Final = ("number", "method", "runner_uuid", "outcome", "code", "fault", "transport", "peer", "is_cut")


def har(session: Session, *, base_url: str, version: str) -> dict[str, Any]:
    """Return the archive as JSON-like values.

    Args:
        session: what was recorded.
        base_url: under which the server was reached; paths are appended.
        version: of this program.
    """
    return {
        "log": {
            "version": VERSION,
            "creator": {"name": "mockgitea", "version": version, "comment": "a mock, not Gitea"},
            "comment": f"profile {session.profile}, seed {session.seed}, {session.evicted} older calls were evicted",
            "entries": [_entry(view, base_url.rstrip("/")) for view in session.views],
        }
    }


def _entry(view: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    duration_ms = round((view["duration_s"] or 0.0) * 1000, 3)
    return {
        "startedDateTime": view["at"],
        "time": duration_ms,
        "request": _request(view, base_url),
        "response": _response(view),
        "cache": {},
        "timings": {"send": 0, "wait": duration_ms, "receive": 0},
        **{f"_{name}": view.get(name, "") for name in _OURS},
    }


def _request(view: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    request: dict[str, Any] = {
        "method": view["verb"] or "POST",
        "url": base_url + view["path"],
        "httpVersion": "HTTP/2" if view["transport"] == "grpc" else "HTTP/1.1",
        "cookies": [],
        "headers": [{"name": name, "value": value} for name, value in view.get("headers", {}).items()],
        "queryString": [],
        "headersSize": UNKNOWN_SIZE,
        "bodySize": view["request_bytes"],
    }
    if view["request"] is not None:
        travelled = f"travelled as {view['content_type']}" if view["content_type"] else ""
        request["postData"] = {
            "mimeType": "application/json", "text": _text(view["request"]), "params": [], "comment": travelled,
        }  # fmt: skip
    return request


def _response(view: Mapping[str, Any]) -> dict[str, Any]:
    status = int(view["status"])
    content: dict[str, Any] = {"size": view["response_bytes"], "mimeType": view["content_type"] or "x-unknown"}
    if view["response"] is not None:
        content |= {"mimeType": "application/json", "text": _text(view["response"])}
    return {
        "status": status,
        "statusText": _phrase(status),
        "httpVersion": "HTTP/2" if view["transport"] == "grpc" else "HTTP/1.1",
        "cookies": [],
        "headers": [],
        "content": content,
        "redirectURL": "",
        "headersSize": UNKNOWN_SIZE,
        "bodySize": view["response_bytes"],
    }


def _text(message: Any) -> str:
    return orjson.dumps(message).decode()


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""


def check_har(archive: Any) -> None:
    """Check that a value has the structure of HAR 1.2.

    Raises:
        ValueError: the first thing that is missing or of the wrong type, with its place.
    Source: docs/testing.md, "Exports".
    """
    log = _member(archive, "", "log", dict)
    if _member(log, "log", "version", str) != VERSION:
        raise ValueError(f"log.version: must be {VERSION}")
    creator = _member(log, "log", "creator", dict)
    for name in ("name", "version"):
        _member(creator, "log.creator", name, str)
    for number, entry in enumerate(_member(log, "log", "entries", list)):
        _check_entry(entry, f"log.entries[{number}]")


_REQUEST_FIELDS: Final = {
    "method": str, "url": str, "httpVersion": str, "cookies": list, "headers": list, "queryString": list,
    "headersSize": int, "bodySize": int,
}  # fmt: skip
_RESPONSE_FIELDS: Final = {
    "status": int, "statusText": str, "httpVersion": str, "cookies": list, "headers": list, "content": dict,
    "redirectURL": str, "headersSize": int, "bodySize": int,
}  # fmt: skip
_NUMBER: Final = (int, float)


def _check_entry(entry: Any, place: str) -> None:
    if not _member(entry, place, "startedDateTime", str).endswith("Z"):
        raise ValueError(f"{place}.startedDateTime: must be a time with its zone")
    _member(entry, place, "time", _NUMBER)
    _member(entry, place, "cache", dict)
    timings = _member(entry, place, "timings", dict)
    for name in ("send", "wait", "receive"):
        _member(timings, f"{place}.timings", name, _NUMBER)
    for side, fields in (("request", _REQUEST_FIELDS), ("response", _RESPONSE_FIELDS)):
        message = _member(entry, place, side, dict)
        for name, kind in fields.items():
            _member(message, f"{place}.{side}", name, kind)
        for header in message["headers"]:
            for name in ("name", "value"):
                _member(header, f"{place}.{side}.headers", name, str)
    if not urlsplit(entry["request"]["url"]).scheme:
        raise ValueError(f"{place}.request.url: must be absolute")
    for name, kind in (("size", int), ("mimeType", str)):
        _member(entry["response"]["content"], f"{place}.response.content", name, kind)


def _member(value: Any, place: str, name: str, kind: Any) -> Any:
    where = f"{place}.{name}" if place else name
    if not isinstance(value, dict) or name not in value:
        raise ValueError(f"{where}: missing")
    if not isinstance(value[name], kind):
        raise ValueError(f"{where}: {value[name]!r} has the wrong type")  # noqa: TRY004 - wrong data, no misuse
    return value[name]
