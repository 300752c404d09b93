"""What operators ask the control port: version, liveness, readiness, metrics."""

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Response

from mockgitea import __version__
from mockgitea.core.profiles import Profile
from mockgitea.observe.metrics import CONTENT_TYPE


def build_health(
    *, profile: Profile, is_ready: Callable[[], Awaitable[bool]], metrics: Callable[[], Awaitable[bytes]]
) -> APIRouter:
    """Return the router.

    Args:
        profile: named in the version.
        is_ready: tells whether every part answers.
        metrics: renders the metrics page.
    """
    router = APIRouter(tags=["operation"])

    @router.get("/version")
    async def version() -> dict[str, Any]:
        """Say what this is, and that it is a mock."""
        return {
            "name": "mockgitea",
            "version": __version__,
            "is_mock": True,
            "profile": profile.name,
            "server_version": profile.server_version,
        }

    @router.get("/healthz")
    async def live() -> dict[str, str]:
        """Answer as long as the process does."""
        return {"status": "live"}

    @router.get("/readyz")
    async def ready(response: Response) -> dict[str, str]:
        """Answer 200 once runners can be served, else 503."""
        if await is_ready():
            return {"status": "ready"}
        response.status_code = 503
        return {"status": "not ready"}

    @router.get("/metrics", response_class=Response)
    async def metrics_page() -> Response:
        """Show the metrics in the Prometheus text format."""
        return Response(await metrics(), media_type=CONTENT_TYPE)

    return router
