"""The web endpoints of the runner port: Gitea's page with its polling JSON, log downloads and the list of runs.

Paths depend on the profile's style of URL. There are no users in a mock: whoever reaches the port may read and write,
within the cross-site rule of the profile. What actions do is in `web_actions`.
Source: docs/protocol.md, "Page".
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar

from fastapi import APIRouter
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from actionswire.codes import HTTP_STATUS
from mockgitea.core.errors import NotFound, Refusal
from mockgitea.core.page_links import PageLinks
from mockgitea.core.profiles import PageUrls
from mockgitea.storage import page_queries
from mockgitea.transport import page_json, page_target
from mockgitea.transport.cross_site import CrossSiteRule
from mockgitea.transport.downloads import log_file, log_response
from mockgitea.transport.page_target import PageFailure, PageUrl, Target
from mockgitea.transport.web_actions import WebActions
from mockgitea.transport.web_answers import json_bytes, json_response, read_body, refusing
from mockgitea.ui.contexts import WebTrail, job_page, run_list, run_page
from mockgitea.ui.render import ASSETS_PATH, Renderer, asset

if TYPE_CHECKING:
    from mockgitea.service.container import Services

T = TypeVar("T")

BASE: Final = "/{owner}/{repo}/actions"
RUNS_SHOWN: Final = 50


def build_web(services: "Services") -> APIRouter:
    """Build the router of the web endpoints for the runner listener.

    Args:
        services: the running server's services.
    """
    profile = services.profile
    token = f"{services.randomness.stream('csrf').getrandbits(160):040x}" if profile.page_requires_csrf_token else ""
    web = WebPages(services, CrossSiteRule(token))
    router = APIRouter(include_in_schema=False)
    web.register(router)
    WebActions(services, CrossSiteRule(token)).register(router)
    router.add_route(f"{ASSETS_PATH}/{{file}}", asset, ["GET"])
    return router


class WebPages:
    """Polling, pages and downloads below `/{owner}/{repo}/actions`."""

    def __init__(self, services: "Services", rule: CrossSiteRule) -> None:
        self._services = services
        self._profile = services.profile
        self._rule = rule
        self._renderer = Renderer(services.profile, home="", csrf_token=rule.csrf_token)

    def register(self, router: APIRouter) -> None:
        """Add the routes of this profile's style of URL."""
        run, job = f"{BASE}/runs/{{run}}", f"{BASE}/runs/{{run}}/jobs/{{job}}"
        pages = [job, run]
        logs = f"{job}/logs"
        if self._profile.page_urls is PageUrls.ATTEMPT:
            pages.insert(0, f"{job}/attempt/{{attempt}}")
            logs = f"{job}/attempt/{{attempt}}/logs"
        elif self._profile.rerun_clones_jobs:
            pages.append(f"{run}/attempts/{{attempt}}")
        for path in pages:
            router.add_route(path, refusing(self.poll), ["POST"])
            router.add_route(path, self.page, ["GET"])
        router.add_route(logs, refusing(self.download), ["GET"])
        if self._profile.page_urls is not PageUrls.IDS:
            router.add_route(f"{run}/artifacts", refusing(self.artifacts), ["GET"])
        router.add_route(BASE, self.runs, ["GET"])

    async def poll(self, request: Request) -> Response:
        """Answer the page's request for state and rows."""
        if (refusal := self._rule.refusal(request.headers)) is not None:
            return Response(refusal[1] + "\n", refusal[0], media_type="text/plain")
        cursors = page_json.parse_cursors(await read_body(request))

        def query(conn: Connection, target: Target) -> bytes:
            return page_json.answer(conn, self._profile, target, cursors)

        return json_bytes(await self._at(page_url(request), query))

    async def page(self, request: Request) -> Response:
        """Answer with the HTML page, or the redirect that leads to it."""
        try:
            return await self._page(page_url(request), by_index="by_index" in request.query_params)
        except (Refusal, PageFailure) as error:
            status = HTTP_STATUS[error.code] if isinstance(error, Refusal) else 500
            return self._renderer.error(status, str(error))

    async def download(self, request: Request) -> Response:
        """Answer with the job's log."""
        file = await self._at(page_url(request), lambda conn, target: log_file(conn, self._profile, target))
        return log_response(self._services.store, file)

    async def artifacts(self, request: Request) -> Response:
        """Answer with the run's artifacts, which older pages ask for on their own."""
        url = page_url(request)

        def query(conn: Connection) -> None:
            page_target.find_run(conn, self._profile, page_target.find_repository(conn, url), url)

        await self._services.store.read(query)
        return json_response({"artifacts": []})

    async def runs(self, request: Request) -> Response:
        """Answer with the repository's newest runs."""
        url = page_url(request)
        now_us = self._services.clock.now_us()

        def query(conn: Connection) -> dict[str, object]:
            repository = page_target.find_repository(conn, url)
            trail = WebTrail(PageLinks(repository["owner_name"], repository["name"], self._profile.page_urls))
            rows = page_queries.list_runs(conn, repo_id=repository["id"], limit=RUNS_SHOWN)
            name = f"{repository['owner_name']}/{repository['name']}"
            return {"title": f"Runs of {name}", "runs": run_list(rows, lambda _: trail, now_us), "older_url": ""}

        try:
            return self._renderer.page("runs.html", await self._services.store.read(query))
        except NotFound as error:
            return self._renderer.error(404, error.message)

    async def _page(self, url: PageUrl, *, by_index: bool) -> Response:
        if self._profile.page_urls is PageUrls.IDS:
            old = await self._services.store.read(lambda conn: self._old_url(conn, url, by_index=by_index))
            if old:
                return RedirectResponse(old, 302)
        if self._profile.page_urls is PageUrls.ATTEMPT and not url.attempt:
            return RedirectResponse(await self._services.store.read(lambda conn: self._latest(conn, url)), 307)

        def query(conn: Connection, target: Target) -> tuple[str, dict[str, object]]:
            trail = WebTrail(target.view.links)
            if target.job is None:
                return "run.html", run_page(target.view, trail)
            view = page_json.job_view(conn, self._profile, target, ())
            return "job.html", job_page(target.view, view, target.job_index, trail)

        return self._renderer.page(*await self._at(url, query))

    async def _at(self, url: PageUrl, query: Callable[[Connection, Target], T]) -> T:
        now_us = self._services.clock.now_us()
        return await self._services.store.read(
            lambda conn: query(conn, page_target.resolve(conn, self._profile, url, now_us))
        )

    def _old_url(self, conn: Connection, url: PageUrl, *, by_index: bool) -> str:
        """Return where an old URL (run number, job position) leads now; empty when the ids in it are valid."""
        repository = page_target.find_repository(conn, url)
        repo_id, links = repository["id"], PageLinks(repository["owner_name"], repository["name"], PageUrls.IDS)
        if url.attempt or url.run == "latest" or (not by_index and _ids_exist(conn, repo_id, url)):
            return ""
        run = page_queries.run_by_number(conn, repo_id, page_target.number(url.run))
        if run is None or not url.job:
            return "" if run is None else links.run(run)
        jobs, index = page_queries.jobs_of_run(conn, run["id"]), page_target.number(url.job)
        return links.job(run, jobs[index], index) if index < len(jobs) else ""

    def _latest(self, conn: Connection, url: PageUrl) -> str:
        """Return the page of the job's newest attempt."""
        repository = page_target.find_repository(conn, url)
        run = page_target.find_run(conn, self._profile, repository, url)
        jobs, index = page_queries.jobs_of_run(conn, run["id"]), page_target.number(url.job)
        if not jobs:
            raise NotFound("run: it has no jobs")
        index = index if index < len(jobs) else 0
        links = PageLinks(repository["owner_name"], repository["name"], self._profile.page_urls)
        return links.job(run, jobs[index], index)


def page_url(request: Request) -> PageUrl:
    """Return the variable parts of the request's path."""
    parts = request.path_params
    return PageUrl(
        owner=parts["owner"],
        name=parts["repo"],
        run=parts.get("run", ""),
        job=parts.get("job", ""),
        attempt=parts.get("attempt", ""),
    )


def _ids_exist(conn: Connection, repo_id: int, url: PageUrl) -> bool:
    run = page_queries.run_by_id(conn, page_target.number(url.run), repo_id=repo_id)
    if run is None or not url.job:
        return run is not None
    return page_queries.job_by_id(conn, page_target.number(url.job), run_id=run["id"]) is not None
