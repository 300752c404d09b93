"""Who calls REST v1: the bearer of the one API token, in any of the forms that Gitea reads."""

import base64
import binascii
import hmac
from typing import Final

from starlette.requests import Request

from mockgitea.transport.rest.errors import RestRefusal

TOKEN_REQUIRED: Final = "token is required"
TOKEN_WRONG: Final = "invalid username, password or token"
_QUERY_NAMES: Final = ("token", "access_token")


def check_token(request: Request, api_token: str, *, is_required: bool) -> None:
    """Let the call pass or refuse it.

    Args:
        request: looked at: `Authorization` (token, Bearer, basic) and the query (`token`).
        api_token: the one right token.
        is_required: False where a public repository may be read by anybody.

    Raises:
        RestRefusal: 401; a wrong token is refused even where none is required.
    """
    presented = _presented(request)
    if not presented:
        if is_required:
            raise RestRefusal(401, TOKEN_REQUIRED)
        return
    right = api_token.encode()
    # Every candidate is compared, so that the time taken tells nothing about which of them was nearly right.
    matches = [hmac.compare_digest(candidate.encode(), right) for candidate in presented]
    if not any(matches):
        raise RestRefusal(401, TOKEN_WRONG)


def _presented(request: Request) -> list[str]:
    scheme, _, rest = request.headers.get("authorization", "").strip().partition(" ")
    if scheme.lower() in ("token", "bearer"):
        return [rest.strip()]
    if scheme.lower() == "basic":
        return _basic(rest.strip())
    if scheme:
        return [""]
    return [value for name in _QUERY_NAMES if (value := request.query_params.get(name))]


def _basic(encoded: str) -> list[str]:
    """Return user name and password: Gitea takes a token in either place."""
    try:
        user, _, password = base64.b64decode(encoded, validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        return [""]
    return [user, password]
