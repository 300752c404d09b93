"""Control routes for what goes over the runner's ports: counters and journal."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query, Response

from mockgitea.core.calls import Method
from mockgitea.transport.control import answers, models
from mockgitea.transport.journal_view import view

if TYPE_CHECKING:
    from mockgitea.app import App

JOURNAL_PAGE_MAX: Final = 10_000


class TrafficRoutes:
    """Counters and journal.

    Args:
        app: the running server.
    """

    def __init__(self, app: "App") -> None:
        self._app = app

    def register(self, router: APIRouter) -> None:
        """Add the routes to ``router``."""
        add = router.add_api_route
        add("/counters", self.get_counters, methods=["GET"], response_model=answers.CountersAnswer)
        add("/journal", self.get_journal, methods=["GET"], response_model=answers.JournalAnswer)
        add("/journal", self.clear_journal, methods=["DELETE"], status_code=204)

    async def get_counters(self) -> dict[str, Any]:
        """Show how many calls ended how: per method, and per runner."""
        return self._app.counters.snapshot()

    async def get_journal(
        self,
        method: Annotated[Method | None, Query(description="Only calls of this method.")] = None,
        runner: Annotated[
            str, Query(max_length=models.NAME_LENGTH_MAX, description="Only calls of the runner with this UUID.")
        ] = "",
        limit: Annotated[int, Query(ge=1, le=JOURNAL_PAGE_MAX, description="Only the newest so many.")] = 100,
    ) -> dict[str, Any]:
        """Show recorded calls, oldest first, refused ones too. Tokens and secrets are masked."""
        journal = self._app.journal
        found = journal.entries(method="" if method is None else method.value, runner_uuid=runner, limit=limit)
        return {
            "entries": [view(entry) for entry in found],
            "opened_total": journal.opened_total,
            "evicted_total": journal.evicted_total,
        }

    async def clear_journal(self) -> Response:
        """Drop the recorded calls; counters stay."""
        self._app.journal.clear()
        return Response(status_code=204)
