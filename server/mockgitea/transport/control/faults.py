"""Control routes for faults and downtime: add, list, release, remove, and one reset that heals everything."""

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path, Response

from mockgitea.core.downtime import NAME_LENGTH_MAX, Downtime
from mockgitea.core.faults import Fault
from mockgitea.transport.control import fault_models as models

if TYPE_CHECKING:
    from mockgitea.app import App

RuleName = Annotated[str, Path(min_length=1, max_length=NAME_LENGTH_MAX)]


class FaultRoutes:
    """Faults and downtime.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/faults", self.list_faults, methods=["GET"], response_model=models.FaultsAnswer)
        add("/faults", self.add_fault, methods=["POST"], status_code=201, response_model=models.FaultAnswer)
        add("/faults", self.heal, methods=["DELETE"], status_code=204)
        add("/faults/{name}", self.remove_fault, methods=["DELETE"], status_code=204)
        add("/faults/{name}/release", self.release_fault, methods=["POST"], status_code=204)
        add("/downtime", self.list_downtimes, methods=["GET"], response_model=models.DowntimesAnswer)
        add("/downtime", self.add_downtime, methods=["POST"], status_code=201, response_model=models.DowntimeAnswer)
        add("/downtime/{name}", self.remove_downtime, methods=["DELETE"], status_code=204)

    async def list_faults(self) -> dict[str, Any]:
        """List fault rules in the order in which they are asked."""
        return {"faults": [models.fault_view(state) for state in self._app.faults.list()]}

    async def add_fault(self, body: models.NewFault) -> dict[str, Any]:
        """Add a fault rule; docs/faults.md has every kind with its fields."""
        fault = Fault(**{name: value for name, value in body if value is not None})
        self._app.faults.add(fault)
        return next(models.fault_view(state) for state in self._app.faults.list() if state.fault is fault)

    async def remove_fault(self, name: RuleName) -> Response:
        """Remove a fault rule; calls that it keeps waiting go on."""
        self._app.faults.remove(name)
        return Response(status_code=204)

    async def release_fault(self, name: RuleName) -> Response:
        """Let go of the calls that a rule keeps waiting; the rule stays."""
        self._app.faults.release(name)
        return Response(status_code=204)

    async def heal(self) -> Response:
        """Remove every fault and downtime rule: from now on the server is healthy. Data, journal and counters stay."""
        self._app.faults.reset()
        await self._app.faults.settle()
        return Response(status_code=204)

    async def list_downtimes(self) -> dict[str, Any]:
        """List downtime rules with their present or next window."""
        return {"downtimes": [models.downtime_view(state) for state in self._app.faults.list_downtimes()]}

    async def add_downtime(self, body: models.NewDowntime) -> dict[str, Any]:
        """Add a downtime rule; when it starts at once, the server is down when this answers."""
        downtime = Downtime(**body.model_dump())
        self._app.faults.add_downtime(downtime)
        await self._app.faults.settle()
        states = self._app.faults.list_downtimes()
        return next(models.downtime_view(state) for state in states if state.downtime is downtime)

    async def remove_downtime(self, name: RuleName) -> Response:
        """Remove a downtime rule; when its window is open, the server is up again when this answers."""
        self._app.faults.remove_downtime(name)
        await self._app.faults.settle()
        return Response(status_code=204)
