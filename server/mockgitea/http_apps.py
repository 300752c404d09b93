"""The two FastAPI applications: what a real server serves beside the RPCs, and the control port.

Assembly only; the routes belong to `transport` and `ui`.
"""

from typing import TYPE_CHECKING, Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.exceptions import HTTPException

from mockgitea import __version__
from mockgitea.service.container import Services
from mockgitea.transport.control.errors import install_error_handlers
from mockgitea.transport.control.page_guard import PageGuard
from mockgitea.transport.control.router import build_control
from mockgitea.transport.health import build_health
from mockgitea.transport.rest.router import build_rest
from mockgitea.transport.summaries import build_summaries
from mockgitea.transport.web import build_web
from mockgitea.ui.pages import build_pages

if TYPE_CHECKING:
    from mockgitea.app import App

CONTROL_DESCRIPTION: Final = (
    "Control a mock Gitea Actions server: hand in workflows, watch runs, move the clock, inject faults. "
    "This is a test double, not Gitea."
)


def build_web_app(services: Services) -> FastAPI:
    """Build what the runner port serves outside the RPC prefix: REST v1 and the web pages."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.include_router(build_rest(services))
    app.include_router(build_summaries(services))
    app.include_router(build_web(services))

    async def plain(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException), "registered for it"
        text = "404 page not found" if error.status_code == 404 else str(error.detail)
        return PlainTextResponse(text + "\n", status_code=error.status_code, headers=error.headers)

    app.add_exception_handler(HTTPException, plain)
    return app


def build_control_app(app: "App") -> FastAPI:
    """Build what the control port serves: control API with its OpenAPI document, health, metrics, our page."""
    control = FastAPI(title="mockgitea control API", version=__version__, description=CONTROL_DESCRIPTION)
    install_error_handlers(control)
    control.include_router(build_control(app))
    control.include_router(build_health(profile=app.services.profile, is_ready=app.is_ready, metrics=app.metrics))
    control.include_router(build_pages(app.services))
    if app.settings.control_token:
        control.add_middleware(PageGuard, token=app.settings.control_token)
    return control
