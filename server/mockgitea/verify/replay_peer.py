"""How a replay reaches its server: runner calls over HTTP in the recorded codec, workflows over the control API."""

from collections.abc import Mapping
from typing import Any, Final

import httpx
from google.protobuf import json_format

from actionswire.codes import code_from_http
from mockgitea.core.calls import Method
from mockgitea.transport import connect
from mockgitea.transport.dialect import WireError
from mockgitea.transport.methods import PROCEDURES
from mockgitea.transport.rpc import PREFIX
from mockgitea.verify.replay import Answer, ReplayFailed, View

TIMEOUT_S: Final = 60.0
_BY_METHOD: Final = {procedure.method: procedure for procedure in PROCEDURES}


class HttpPeer:
    """A server at a URL.

    Args:
        url: its instance URL.
        transport: replaces the network, for tests.
    """

    def __init__(self, url: str, *, transport: httpx.BaseTransport | None = None) -> None:
        self._url = url.rstrip("/")
        self._http = httpx.Client(timeout=TIMEOUT_S, transport=transport, trust_env=False)

    def call(self, method: str, message: View, *, content_type: str, headers: Mapping[str, str]) -> Answer:
        """Do one RPC; raises `ReplayFailed` when the server cannot be reached."""
        procedure = _BY_METHOD[Method(method)]
        codec = connect.codec_for(content_type.encode("latin-1", "replace")) or connect.JsonCodec(connect.JSON)
        body = codec.encode(json_format.ParseDict(dict(message), procedure.request_type(), ignore_unknown_fields=True))
        fixed = {"Content-Type": codec.content_type, "Connect-Protocol-Version": "1"}
        try:
            url = f"{self._url}{PREFIX}{procedure.name}"
            reply = self._http.post(url, content=body, headers={**fixed, **headers})
        except httpx.HTTPError as error:
            raise ReplayFailed(f"no answer from {self._url} to {method} ({error})") from error
        if reply.status_code != 200:
            return Answer(reply.status_code, {}, _code(reply))
        try:
            return Answer(200, connect.as_json(codec.decode(reply.content, procedure.response_type)))
        except WireError as error:
            raise ReplayFailed(f"{self._url} answered {method} with what is no message: {error.message}") from error

    def close(self) -> None:
        """Close the connection."""
        self._http.close()


def _code(reply: httpx.Response) -> str:
    try:
        body: Any = reply.json()
    except ValueError:
        return code_from_http(reply.status_code)  # what a client makes of an answer without an error object
    return str(body.get("code", "")) if isinstance(body, dict) else ""
