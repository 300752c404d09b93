"""The control API put together: one router below `/control/v1`, guarded as a whole."""

from typing import TYPE_CHECKING, Any, Final

from fastapi import APIRouter, Depends, Request
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.routing import Match

from mockgitea.transport.control.access import ControlAccess
from mockgitea.transport.control.errors import ControlRoute, ErrorAnswer
from mockgitea.transport.control.faults import FaultRoutes
from mockgitea.transport.control.runners import RunnerRoutes
from mockgitea.transport.control.runs import RunRoutes
from mockgitea.transport.control.server import ServerRoutes
from mockgitea.transport.control.traffic import TrafficRoutes
from mockgitea.transport.control.vault import VaultRoutes
from mockgitea.transport.control.verification import VerificationRoutes

if TYPE_CHECKING:
    from mockgitea.app import App

PREFIX: Final = "/control/v1"
_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
_ERRORS: Final = {
    401: "A control token is set, and the call did not carry it.",
    404: "Something that the request names does not exist.",
    409: "The state of things forbids it.",
    413: "The body is too large.",
    422: "A field is missing, unknown or out of bounds.",
    429: "A queue is full; try again.",
    500: "A fault of the mock; its log has the request id.",
}


def _error_answers() -> dict[int | str, dict[str, Any]]:
    """Describe the errors of every operation.

    Only one names the model and so puts it into the document; the others refer to it there, because the framework
    spends a millisecond on every model of every route, and the server wants to start quickly.
    """
    schema = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorAnswer"}}}
    described: dict[int | str, dict[str, Any]] = {
        400: {"model": ErrorAnswer, "description": "The request is well formed but cannot be right."}
    }
    return described | {status: {"description": text, "content": schema} for status, text in _ERRORS.items()}


def build_control(app: "App") -> APIRouter:
    """Build the router of the control API for the control listener.

    Args:
        app: the running server; its settings may hold a control token.
    """
    access = ControlAccess(app.services.settings.control_token)

    class GuardedRoute(ControlRoute):
        admit = staticmethod(access)

    bearer = Depends(HTTPBearer(auto_error=False, description="Only when the server was given a control token."))
    router = APIRouter(
        prefix=PREFIX, route_class=GuardedRoute, responses=_error_answers(), dependencies=[bearer], tags=["control"]
    )
    for routes in (
        RunRoutes(app),
        RunnerRoutes(app),
        VaultRoutes(app),
        TrafficRoutes(app),
        FaultRoutes(app),
        VerificationRoutes(app),
        ServerRoutes(app),
    ):
        routes.register(router)
    _refuse_the_rest(router)
    return router


def _refuse_the_rest(router: APIRouter) -> None:
    """Answer unknown paths and wrong methods below the prefix in the one error shape."""
    known = list(router.routes)

    async def unknown(request: Request) -> None:
        allowed = {
            method
            for route in known
            if route.matches(request.scope)[0] is Match.PARTIAL
            for method in getattr(route, "methods", ())
        }
        if allowed:
            raise HTTPException(405, headers={"Allow": ", ".join(sorted(allowed))})
        raise HTTPException(404)

    router.add_api_route("/{path:path}", unknown, methods=_ALL_METHODS, include_in_schema=False)
