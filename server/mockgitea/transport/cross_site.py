"""The page's protection against requests from other sites, as the profile's server has it.

Newer servers judge `Sec-Fetch-Site` and `Origin`; older ones want a token that the page carries. Only requests that
change something or poll (POST, PUT, PATCH, DELETE) are judged. Source: docs/protocol.md, "Page".
"""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

_OWN_SITES: Final = frozenset({"same-origin", "none"})
CSRF_HEADER: Final = "x-csrf-token"


@dataclass(frozen=True, slots=True)
class CrossSiteRule:
    """The rule of one server.

    ``csrf_token`` is what `X-Csrf-Token` has to hold; empty where the origin is judged instead.
    """

    csrf_token: str = ""

    def refusal(self, headers: Mapping[str, str], form_token: str = "") -> tuple[int, str] | None:
        """Return (HTTP status, text) when the request must be refused, None when it may pass.

        Args:
            headers: the request's headers, names in lower case.
            form_token: the field `_csrf` of a form, which counts like the header.
        """
        if not self.csrf_token:
            return None if is_own_site(headers) else (403, "cross-site request refused: Origin does not match Host")
        given = headers.get(CSRF_HEADER) or form_token
        if hmac.compare_digest(given.encode(errors="replace"), self.csrf_token.encode()):
            return None
        return 400, "Invalid CSRF token."


def is_own_site(headers: Mapping[str, str]) -> bool:
    """Tell whether a request comes from the server's own pages or from something that is no browser.

    A request with neither `Sec-Fetch-Site` nor `Origin` passes.
    """
    site = headers.get("sec-fetch-site", "")
    if site:
        return site in _OWN_SITES
    origin = headers.get("origin", "")
    if not origin:
        return True
    try:
        host = urlsplit(origin).netloc
    except ValueError:
        return False
    return bool(host) and host.lower() == headers.get("host", "").lower()
