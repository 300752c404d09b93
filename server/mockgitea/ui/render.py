"""Turning contexts into HTML answers: one template environment, escaping always on, and the headers every page has.

Log content, titles and names are hostile: templates escape, the script writes text nodes only, and the content
security policy forbids inline script, inline style and anything from elsewhere.
"""

from importlib import resources
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from mockgitea import __version__
from mockgitea.core.profiles import Profile

CONTENT_SECURITY_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
ASSETS_PATH: Final = "/assets/mockgitea"
_ASSETS: Final = {
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    "list.js": "text/javascript; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
    "rows.js": "text/javascript; charset=utf-8",
}
_HEADERS: Final = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    "cache-control": "no-store",
}


class Renderer:
    """Renders the pages of one port.

    Args:
        profile: named on every page.
        home: where the name in the page's head leads.
        csrf_token: carried by every page where the profile's server wants it back; empty elsewhere.
    """

    def __init__(self, profile: Profile, *, home: str, csrf_token: str = "") -> None:
        self._headers = dict(_HEADERS)
        if csrf_token:
            # Older servers hand out the token as a cookie too; clients that are no browser look for it there.
            self._headers["set-cookie"] = f"_csrf={csrf_token}; Path=/; HttpOnly; SameSite=Lax"
        self._environment = Environment(
            loader=PackageLoader("mockgitea.ui"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
        )
        self._environment.globals.update(
            assets=ASSETS_PATH,
            csrf_token=csrf_token,
            home=home,
            mock_version=__version__,
            profile_name=profile.name,
            server_version=profile.server_version,
        )

    def page(self, template: str, context: dict[str, Any], status: int = 200) -> Response:
        """Return a page; ``context`` holds plain values only."""
        body = self._environment.get_template(template).render(context)
        return HTMLResponse(body, status, headers=self._headers)

    def error(self, status: int, message: str) -> Response:
        """Return an error as a page."""
        return self.page("error.html", {"title": f"Error {status}", "status": status, "message": message}, status)


async def asset(request: Request) -> Response:
    """Serve a style sheet or script of the pages."""
    name = request.path_params["file"]
    kind = _ASSETS.get(name)
    if kind is None:
        return PlainTextResponse(f"asset: there is no {name}\n", 404)
    body = resources.files("mockgitea.ui").joinpath("static", name).read_bytes()
    return Response(body, headers={"content-type": kind, "cache-control": "no-cache", **_nosniff()})


def _nosniff() -> dict[str, str]:
    return {"x-content-type-options": "nosniff"}
