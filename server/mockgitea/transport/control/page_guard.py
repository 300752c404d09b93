"""The control token on everything of the control port that is not the control API: our page, its JSON, the metrics.

A browser cannot send a bearer token by itself, so Basic is taken too, any user name with the token as password; the
control API does not take it, because browsers add it to requests that other sites make. Health, version, documents
and assets tell nothing about runs and stay open.
"""

import base64
import binascii
import hmac
from typing import Final

from mockgitea.transport.asgi import App, Receive, Scope, Send, respond
from mockgitea.transport.control.access import presented_token

_OPEN_PATHS: Final = frozenset({"/healthz", "/readyz", "/version", "/openapi.json", "/docs", "/redoc"})
_OPEN_PREFIXES: Final = ("/assets/", "/control/v1/", "/docs/")
"""The control API has a guard of its own."""
_TEXT: Final = (
    b"control token missing or wrong: sign in with any name and the token as password, or send it as Bearer\n"
)


class PageGuard:
    """ASGI middleware.

    Args:
        app: what it guards.
        token: the control token, not empty.
    """

    def __init__(self, app: App, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the request pass, or answer 401."""
        if scope["type"] != "http" or _is_open(scope["path"]) or self._is_right(scope):
            await self._app(scope, receive, send)
            return
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", b"%d" % len(_TEXT)),
            (b"www-authenticate", b'Basic realm="mockgitea", charset="UTF-8"'),
        ]
        await respond(send, 401, headers, b"" if scope["method"] == "HEAD" else _TEXT)

    def _is_right(self, scope: Scope) -> bool:
        header = next((value for name, value in scope["headers"] if name == b"authorization"), b"").decode("latin-1")
        given = _password(header) or presented_token(header)
        return hmac.compare_digest(given.encode(), self._token)


def _is_open(path: str) -> bool:
    return path in _OPEN_PATHS or path.startswith(_OPEN_PREFIXES)


def _password(header: str) -> str:
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded.strip(), validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""
