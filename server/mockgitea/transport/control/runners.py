"""Control routes for runners and registration tokens."""

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Response

from mockgitea.core.errors import NotFound
from mockgitea.service.directory import RunnerRecord
from mockgitea.transport.control import answers, models, views
from mockgitea.transport.control.runs import Id
from mockgitea.transport.control.scopes import scope_ids

if TYPE_CHECKING:
    from mockgitea.app import App


class RunnerRoutes:
    """Everything about runner identities.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app
        self._services = app.services

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/runners", self.list_runners, methods=["GET"], response_model=answers.RunnersAnswer)
        add("/runners", self.create_runner, methods=["POST"], status_code=201, response_model=answers.NewRunnerAnswer)
        add("/runners/{runner_id}", self.get_runner, methods=["GET"], response_model=answers.RunnerAnswer)
        add("/runners/{runner_id}", self.change_runner, methods=["PATCH"], response_model=answers.RunnerAnswer)
        add("/runners/{runner_id}", self.delete_runner, methods=["DELETE"], status_code=204)
        add("/registration-tokens", self.token, methods=["POST"], response_model=answers.TokenAnswer)

    async def list_runners(self) -> dict[str, Any]:
        """List registered runners with their status of this moment."""
        now = self._services.clock.now_us()
        return {"runners": [views.runner(each, now) for each in self._services.directory.all()]}

    async def create_runner(self, body: models.NewRunner) -> dict[str, Any]:
        """Create a runner without Register; the answer is the only place that shows its token."""
        owner_id, repo_id = await scope_ids(self._services, body.scope)
        record, token = await self._services.registration.create_runner(
            name=body.name,
            owner_id=owner_id,
            repo_id=repo_id,
            labels=tuple(body.labels),
            ephemeral=body.ephemeral,
            description=body.description,
        )
        return {
            "id": record.id,
            "uuid": record.uuid,
            "token": token,
            "name": record.name,
            "labels": list(record.labels),
            "address": self._app.runner_url,
            "is_ephemeral": record.is_ephemeral,
        }

    async def get_runner(self, runner_id: Id) -> dict[str, Any]:
        """Show one runner."""
        return views.runner(self._runner(runner_id), self._services.clock.now_us())

    async def change_runner(self, runner_id: Id, body: models.RunnerChange) -> dict[str, Any]:
        """Disable or enable a runner, or describe it."""
        self._runner(runner_id)
        await self._services.registration.update_runner(runner_id, disabled=body.disabled, description=body.description)
        return await self.get_runner(runner_id)

    async def delete_runner(self, runner_id: Id) -> Response:
        """Delete a runner: its next call is answered "unregistered runner"."""
        self._runner(runner_id)
        await self._services.registration.delete_runner(runner_id)
        return Response(status_code=204)

    async def token(self, body: models.TokenRequest) -> dict[str, Any]:
        """Show the scope's registration token, or make a new one that invalidates the older ones."""
        owner_id, repo_id = await scope_ids(self._services, body.scope)
        return {"token": await self._services.registration.registration_token(owner_id, repo_id, reset=body.reset)}

    def _runner(self, runner_id: int) -> RunnerRecord:
        try:
            return self._services.directory.get(runner_id)
        except NotFound:
            message = f"runner_id: no runner {runner_id}; GET /control/v1/runners lists them"
            raise NotFound(message, field="runner_id") from None
