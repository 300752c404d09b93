"""Our pages on the control port: all runs, one run, one job with live rows, the runners; each with its JSON twin.

They stay reachable while the runner port is made to fail, change nothing (the control API does), and name runs and
jobs by row ids in every profile. The live part polls the same JSON as Gitea's page. Source: docs/watching.md.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

from fastapi import APIRouter
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from actionswire.codes import HTTP_STATUS
from mockgitea.core.errors import NotFound, Refusal
from mockgitea.core.page_links import PageLinks
from mockgitea.storage import page_queries
from mockgitea.transport import page_json, page_target
from mockgitea.transport.cross_site import CrossSiteRule
from mockgitea.transport.downloads import log_file, log_response
from mockgitea.transport.page_target import Target
from mockgitea.transport.web_answers import Handler, json_bytes, json_response, read_body, refusing
from mockgitea.ui.contexts import ControlTrail, job_page, run_list, run_page, runner_list
from mockgitea.ui.render import ASSETS_PATH, Renderer, asset

if TYPE_CHECKING:
    from mockgitea.service.container import Services

T = TypeVar("T")

RUNS_SHOWN: Final = 50
RUNNERS_SHOWN: Final = 1000
_Page = tuple[str, dict[str, Any]]


def build_pages(services: "Services") -> APIRouter:
    """Build the router of our pages for the control listener.

    Args:
        services: the running server's services.
    """
    router = APIRouter(include_in_schema=False)
    ControlPages(services).register(router)
    router.add_route(f"{ASSETS_PATH}/{{file}}", asset, ["GET"])
    return router


class ControlPages:
    """The pages and what their script asks for."""

    def __init__(self, services: "Services") -> None:
        self._services = services
        self._profile = services.profile
        self._renderer = Renderer(services.profile, home="/")
        self._rule = CrossSiteRule()
        self._trail = ControlTrail()

    def register(self, router: APIRouter) -> None:
        """Add the routes; the JSON twins come first, because a name may contain a dot."""
        pages: dict[str, Callable[[Request], Any]] = {
            "/": self.runs,
            "/runners": self.runners,
            "/runs/{run}": self.run,
            "/runs/{run}/jobs/{job}": self.job,
        }
        for path, build in pages.items():
            twin = "/runs.json" if path == "/" else f"{path}.json"
            router.add_route(twin, refusing(self._as_json(build)), ["GET"])
            router.add_route(path, self._as_html(build), ["GET"])
        for path in ("/runs/{run}", "/runs/{run}/jobs/{job}"):
            router.add_route(path, refusing(self.poll), ["POST"])
        router.add_route("/runs/{run}/jobs/{job}/logs", refusing(self.download), ["GET"])

    async def runs(self, request: Request) -> _Page:
        """List runs, newest first; `?before=ID` goes on with older ones, `?repository=owner/name` narrows."""
        now_us = self._services.clock.now_us()
        before = page_target.number(request.query_params.get("before", ""))
        wanted = request.query_params.get("repository", "")
        rows = await self._services.store.read(lambda conn: _list_runs(conn, wanted, before))
        older = ""
        if len(rows) == RUNS_SHOWN:
            older = str(request.url.include_query_params(before=rows[-1]["id"]).replace(scheme="", netloc=""))
        runs = run_list(rows, lambda _: self._trail, now_us)
        return "runs.html", {"title": f"Runs of {wanted}" if wanted else "Runs", "runs": runs, "older_url": older}

    async def run(self, request: Request) -> _Page:
        """Show one run with its jobs."""
        return "run.html", await self._at(request, lambda _, target: run_page(target.view, self._trail))

    async def job(self, request: Request) -> _Page:
        """Show one job with its steps."""

        def query(conn: Connection, target: Target) -> dict[str, Any]:
            view = page_json.job_view(conn, self._profile, target, ())
            return job_page(target.view, view, target.job_index, self._trail)

        return "job.html", await self._at(request, query)

    async def runners(self, request: Request) -> _Page:  # noqa: ARG002,RUF100 - one shape for all pages
        """List the runners."""
        now_us = self._services.clock.now_us()
        rows = await self._services.store.read(lambda conn: page_queries.list_runners(conn, limit=RUNNERS_SHOWN))
        status = {record.id: record.status(now_us) for record in self._services.directory.all()}
        return "runners.html", {"title": "Runners", "runners": runner_list(rows, status, now_us)}

    async def poll(self, request: Request) -> Response:
        """Answer the page's request for state and rows, in the profile's shape."""
        if (refusal := self._rule.refusal(request.headers)) is not None:
            return PlainTextResponse(f"{refusal[1]}\n", refusal[0])
        cursors = page_json.parse_cursors(await read_body(request))
        body = await self._at(request, lambda conn, target: page_json.answer(conn, self._profile, target, cursors))
        return json_bytes(body)

    async def download(self, request: Request) -> Response:
        """Answer with the job's log."""
        file = await self._at(request, lambda conn, target: log_file(conn, self._profile, target))
        return log_response(self._services.store, file)

    async def _at(self, request: Request, query: Callable[[Connection, Target], T]) -> T:
        now_us = self._services.clock.now_us()
        parts = request.path_params

        def read(conn: Connection) -> T:
            run = page_queries.run_by_id(conn, page_target.number(parts["run"]))
            repository = None if run is None else page_queries.repository_by_id(conn, run["repo_id"])
            if run is None or repository is None:
                raise NotFound(f"run: there is no run {parts['run']}")
            links = PageLinks(repository["owner_name"], repository["name"], self._profile.page_urls)
            job_id = parts.get("job", "")
            target = page_target.by_ids(conn, self._profile, run, links, job_id=job_id, attempt="", now_us=now_us)
            return query(conn, target)

        return await self._services.store.read(read)

    def _as_html(self, build: Callable[[Request], Any]) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                template, context = await build(request)
            except Refusal as error:
                return self._renderer.error(HTTP_STATUS[error.code], error.message)
            return self._renderer.page(template, context)

        return answer

    def _as_json(self, build: Callable[[Request], Any]) -> Handler:
        async def answer(request: Request) -> Response:
            _, context = await build(request)
            return json_response(context)

        return answer


def _list_runs(conn: Connection, repository: str, before: int) -> list[dict[str, Any]]:
    repo_id = None
    if repository:
        owner, _, name = repository.partition("/")
        found = page_queries.repository_named(conn, owner, name)
        if found is None:
            raise NotFound(f"repository: {repository} does not exist")
        repo_id = found["id"]
    return list(page_queries.list_runs(conn, repo_id=repo_id, before_id=before, limit=RUNS_SHOWN))
