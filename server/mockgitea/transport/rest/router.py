"""REST v1 put together: the profile's routes below `/api/v1`, each behind the token check and the error shape."""

import uuid
from collections.abc import Awaitable, Callable
from typing import Final

import structlog
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route

from actionswire.codes import HTTP_STATUS
from mockgitea.core.errors import Refusal
from mockgitea.service.container import Services
from mockgitea.transport.rest.access import check_token
from mockgitea.transport.rest.calls import Call, Handler, ScopeKind
from mockgitea.transport.rest.errors import RestRefusal, not_found
from mockgitea.transport.rest.shapes import API_PREFIX
from mockgitea.transport.rest.table import routes

log = structlog.get_logger(__name__)

_ALL_METHODS: Final = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]


def build_rest(services: Services) -> APIRouter:
    """Build the router of REST v1 for the runner listener.

    Args:
        services: the services; their profile decides which routes exist.
    """
    router = APIRouter()
    for route in routes(services.profile):
        for kind in route.kinds:
            prefix = "" if route.is_whole_path else kind.value
            router.add_route(
                f"{API_PREFIX}{prefix}{route.path}",
                _endpoint(services, route.handler, kind, needs_token=not route.is_public),
                methods=[route.verb],
                include_in_schema=False,
            )
    known = [route for route in router.routes if isinstance(route, Route)]
    router.add_route(
        f"{API_PREFIX}/{{path:path}}", _unknown(services, known), methods=_ALL_METHODS, include_in_schema=False
    )
    return router


Endpoint = Callable[[Request], Awaitable[Response]]


def _endpoint(services: Services, handler: Handler, kind: ScopeKind, *, needs_token: bool) -> Endpoint:
    """Put a handler behind the token check, and every failure into Gitea's error shape."""

    async def endpoint(request: Request) -> Response:
        call = Call(request, services, kind)
        try:
            check_token(request, services.settings.api_token, is_required=needs_token)
            return await handler(call)
        except RestRefusal as refusal:
            return _error(call, refusal.status, refusal.message, refusal.headers)
        except Refusal as refusal:
            return _error(call, refusal.http_status or HTTP_STATUS[refusal.code], refusal.message)
        except Exception:  # the outermost frame of a request: nothing may escape as a traceback
            request_id = uuid.uuid4().hex
            log.exception("rest_request_failed", request_id=request_id)
            return _error(call, 500, f"internal error; the server's log has it under request id {request_id}")

    return endpoint


def _unknown(services: Services, known: list[Route]) -> Endpoint:
    """Answer what no route takes: 405 where the path exists for other methods, else 404."""

    async def refuse(call: Call) -> Response:
        allowed = {
            method
            for route in known
            if route.matches(call.request.scope)[0] is Match.PARTIAL
            for method in route.methods or ()
        }
        if allowed:
            raise RestRefusal(405, "method not allowed", {"Allow": ", ".join(sorted(allowed))})
        raise not_found()

    return _endpoint(services, refuse, ScopeKind.ADMIN, needs_token=False)


def _error(call: Call, status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    content = {"message": message, "url": f"{call.base_url}/api/swagger"}
    return JSONResponse(content, status_code=status, headers=headers)
