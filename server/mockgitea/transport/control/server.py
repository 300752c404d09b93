"""Control routes for the server itself: clock, maintenance, settings, settling, reset and version."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Response

from mockgitea import __version__
from mockgitea.core.errors import InvalidInput
from mockgitea.transport.control import answers, models
from mockgitea.transport.times import precise

if TYPE_CHECKING:
    from mockgitea.app import App


class ServerRoutes:
    """Everything that concerns the whole server.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app
        self._services = app.services

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/version", self.get_version, methods=["GET"], response_model=answers.VersionAnswer)
        add("/clock", self.get_clock, methods=["GET"], response_model=answers.ClockAnswer)
        add("/clock/advance", self.advance_clock, methods=["POST"], response_model=answers.ClockAnswer)
        add("/maintenance/{name}", self.run_maintenance, methods=["POST"], response_model=answers.CountsAnswer)
        add("/settings", self.get_settings, methods=["GET"], response_model=answers.SettingsAnswer)
        add("/settings", self.change_settings, methods=["PATCH"], response_model=answers.SettingsAnswer)
        add("/settle", self.settle, methods=["POST"], status_code=204)
        add("/reset", self.reset, methods=["POST"], status_code=204)

    async def get_version(self) -> dict[str, Any]:
        """Show what this server is and whom it imitates."""
        services = self._services
        return {
            "version": __version__,
            "profile": services.profile.name,
            "server_version": services.profile.server_version,
            "seed": services.randomness.seed,
            "runner_url": self._app.runner_url,
        }

    async def get_clock(self) -> dict[str, Any]:
        """Show the server's time."""
        clock = self._services.clock
        now = clock.now_us()
        return {"mode": clock.mode, "now": precise(now), "now_us": now}

    async def advance_clock(self, body: models.Jump) -> dict[str, Any]:
        """Move the clock forward; every timeout that falls due acts at once."""
        try:
            self._services.clock.advance(body.seconds)
        except ValueError as error:
            raise InvalidInput(str(error), field="seconds") from error
        await self._app.faults.settle()
        return await self.get_clock()

    async def run_maintenance(self, name: Annotated[str, Path(max_length=models.NAME_LENGTH_MAX)]) -> dict[str, Any]:
        """Run a periodic job now, such as `stop_zombie_tasks`."""
        return {"name": name, "counts": await self._services.maintenance.run(name)}

    async def get_settings(self) -> dict[str, Any]:
        """Show the settings that may change while the server runs."""
        return {"max_concurrent_task_picks": self._services.dispatch.picks_max}

    async def change_settings(self, body: models.SettingsChange) -> dict[str, Any]:
        """Change settings while the server runs."""
        if body.max_concurrent_task_picks is not None:
            self._services.dispatch.picks_max = body.max_concurrent_task_picks
        return await self.get_settings()

    async def settle(self) -> Response:
        """Wait until everything that is queued inside the server has been done."""
        await self._services.settle()
        await self._app.faults.settle()
        return Response(status_code=204)

    async def reset(self) -> Response:
        """Make the server as new: no runs, runners, secrets, faults, journal or counters. Clock and seed go on."""
        await self._app.reset()
        return Response(status_code=204)
