"""A control API that is a table of prepared answers: what was asked is what is tested."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx


@dataclass
class FakeControl:
    """Prepared answers by verb and path, and the calls that came."""

    answers: dict[tuple[str, str], Any] = field(default_factory=dict)
    calls: list[tuple[str, str, Any]] = field(default_factory=list)
    headers: list[httpx.Headers] = field(default_factory=list)

    def answer(self, verb: str, path: str, content: Any, *, status: int = 200) -> None:
        self.answers[verb, f"/control/v1{path}"] = (status, content)

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else None
        self.calls.append((request.method, request.url.path, body))
        self.headers.append(request.headers)
        status, content = self.answers[request.method, request.url.path]
        return httpx.Response(status, json=content) if content is not None else httpx.Response(status)
