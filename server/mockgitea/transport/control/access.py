"""Who may call the control API: everybody on its listener, or, when a control token is set, whoever sends it."""

import hmac
from typing import Final

from fastapi import Request

from actionswire.codes import Code
from mockgitea.core.errors import Refusal

_SCHEMES: Final = ("bearer ", "token ")


class ControlTokenWrong(Refusal):
    """The control token is set on the server, and the call did not carry it."""

    code = Code.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("control token missing or wrong; send it as Authorization: Bearer TOKEN")


class ControlAccess:
    """Refuses calls without the control token.

    Args:
        token: the token to ask for; empty lets everybody in.
    """

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def __call__(self, request: Request) -> None:
        """Let the call pass, or raise `ControlTokenWrong`; the comparison takes the same time for every wrong token."""
        if self._token and not hmac.compare_digest(
            presented_token(request.headers.get("authorization", "")).encode(), self._token
        ):
            raise ControlTokenWrong


def presented_token(header: str) -> str:
    """Return the token of an Authorization header; empty when there is none."""
    for scheme in _SCHEMES:
        if header.lower().startswith(scheme):
            return header[len(scheme) :].strip()
    return ""
