"""The web endpoints that change something: cancel, approve, rerun, manual dispatch, switching a workflow.

They answer as the page's script expects it: JSON that says ok, where to go, or what to show. What the actions do is
the services' business. Source: docs/protocol.md, "Page".
"""

from typing import TYPE_CHECKING, Final

from fastapi import APIRouter
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response

from mockgitea.core.errors import InvalidInput, LimitExceeded, NotFound, Refusal
from mockgitea.core.page_links import PageLinks
from mockgitea.core.profiles import PageUrls
from mockgitea.storage import page_queries
from mockgitea.storage.page_queries import Row
from mockgitea.transport import page_target
from mockgitea.transport.cross_site import CSRF_HEADER, CrossSiteRule
from mockgitea.transport.forms import parse_form
from mockgitea.transport.page_target import PageUrl
from mockgitea.transport.web_answers import Handler, Missing, failed_action, json_response, read_body, refusing

if TYPE_CHECKING:
    from mockgitea.service.container import Services

BASE: Final = "/{owner}/{repo}/actions"
_INPUT_HEAD: Final = "inputs["


class WebActions:
    """Actions below `/{owner}/{repo}/actions`.

    Args:
        services: the running server's services.
        rule: the cross-site rule every action is held to.
    """

    def __init__(self, services: "Services", rule: CrossSiteRule) -> None:
        self._services = services
        self._profile = services.profile
        self._rule = rule

    def register(self, router: APIRouter) -> None:
        """Add the routes this profile has."""
        run = f"{BASE}/runs/{{run}}"
        routes: dict[str, Handler] = {
            f"{run}/cancel": self.cancel,
            f"{run}/rerun": self.rerun,
            f"{run}/jobs/{{job}}/rerun": self.rerun,
            f"{BASE}/{self._profile.web_dispatch}": self.dispatch,
            f"{BASE}/enable": self.enable,
            f"{BASE}/disable": self.disable,
        }
        if self._profile.web_approve:
            routes[f"{run}/approve"] = self.approve
        if self._profile.web_rerun_failed:
            routes[f"{run}/rerun-failed"] = self.rerun_failed
        for path, handler in routes.items():
            router.add_route(path, refusing(self._guarded(handler)), ["POST"])

    async def cancel(self, request: Request) -> Response:
        """Cancel every unfinished job; cancelling what has ended changes nothing."""
        run, _, _ = await self._target(request)
        await self._services.runs.cancel(run["id"])
        return self._done()

    async def approve(self, request: Request) -> Response:
        """Release a run that waits for approval."""
        run, _, _ = await self._target(request)
        await self._services.runs.approve(run["id"])
        return self._done()

    async def rerun(self, request: Request) -> Response:
        """Run all jobs again, or the one named in the path with its dependants."""
        run, job, links = await self._target(request)
        return await self._rerun(run, links, job_row_id=None if job is None else job["id"], failed_only=False)

    async def rerun_failed(self, request: Request) -> Response:
        """Run failed and cancelled jobs again, with their dependants."""
        run, _, links = await self._target(request)
        return await self._rerun(run, links, job_row_id=None, failed_only=True)

    async def dispatch(self, request: Request) -> Response:
        """Start a workflow by hand, from a form with `ref` and the inputs."""
        url, file = _url(request), request.query_params.get("workflow", "")
        form = parse_form(request.headers.get("content-type", ""), request.state.body)
        if not file or not form.get("ref"):
            raise Missing(f"{'ref' if file else 'workflow'}: is missing", field="ref" if file else "workflow")
        inputs = self._inputs({name: value for name, value in form.items() if name not in ("ref", "_csrf")})
        await self._services.runs.dispatch(f"{url.owner}/{url.name}", file, ref=form["ref"], inputs=inputs)
        return RedirectResponse(self._list_url(url, file), 303)

    async def enable(self, request: Request) -> Response:
        """Let events start the workflow again."""
        return await self._switch(request, is_enabled=True)

    async def disable(self, request: Request) -> Response:
        """Keep events from starting the workflow."""
        return await self._switch(request, is_enabled=False)

    async def _rerun(self, run: Row, links: PageLinks, *, job_row_id: int | None, failed_only: bool) -> Response:
        try:
            await self._services.runs.rerun(run["id"], job_row_id=job_row_id, failed_only=failed_only)
        except (LimitExceeded, NotFound):
            raise
        except Refusal as error:
            return failed_action(error.message)
        return json_response({"redirect": links.run(run)}) if self._profile.web_rerun_redirects else self._done()

    async def _switch(self, request: Request, *, is_enabled: bool) -> Response:
        url, file = _url(request), request.query_params.get("workflow", "")
        if not file:
            return failed_action("workflow: is required")
        await self._services.runs.set_workflow_enabled(f"{url.owner}/{url.name}", file, is_enabled=is_enabled)
        return json_response({"redirect": self._list_url(url, file)})

    async def _target(self, request: Request) -> tuple[Row, Row | None, PageLinks]:
        """Return the run of the path, the job if the path names one, and the links of its repository."""
        url = _url(request)

        def query(conn: Connection) -> tuple[Row, Row | None, PageLinks]:
            repository = page_target.find_repository(conn, url)
            run = page_target.find_run(conn, self._profile, repository, url)
            links = PageLinks(repository["owner_name"], repository["name"], self._profile.page_urls)
            return run, self._job(conn, run, url) if url.job else None, links

        return await self._services.store.read(query)

    def _job(self, conn: Connection, run: Row, url: PageUrl) -> Row:
        if self._profile.page_urls is PageUrls.IDS:
            job = page_queries.job_by_id(conn, page_target.number(url.job), run_id=run["id"])
            if job is None or not job["is_latest"]:
                raise NotFound(f"job: run {run['id']} has no job {url.job} in its latest attempt")
            return job
        jobs, index = page_queries.jobs_of_run(conn, run["id"]), page_target.number(url.job)
        if not jobs:
            raise NotFound("run: it has no jobs")
        return jobs[index if index < len(jobs) else 0]

    def _guarded(self, handler: Handler) -> Handler:
        async def guarded(request: Request) -> Response:
            body = await read_body(request)
            request.state.body = body
            token = "" if CSRF_HEADER in request.headers else _form_token(request, body)
            refusal = self._rule.refusal(request.headers, token)
            if refusal is not None:
                return PlainTextResponse(refusal[1] + "\n", refusal[0])
            return await handler(request)

        return guarded

    def _done(self) -> Response:
        return json_response({"ok": True} if self._profile.web_answers_ok else {})

    def _inputs(self, fields: dict[str, str]) -> dict[str, str]:
        if self._profile.web_dispatch == "run":
            return fields
        return {
            name[len(_INPUT_HEAD) : -1]: value
            for name, value in fields.items()
            if name.startswith(_INPUT_HEAD) and name.endswith("]")
        }

    def _list_url(self, url: PageUrl, file: str) -> str:
        return PageLinks(url.owner, url.name, self._profile.page_urls).workflow({"workflow_file": file})


def _url(request: Request) -> PageUrl:
    parts = request.path_params
    return PageUrl(owner=parts["owner"], name=parts["repo"], run=parts.get("run", ""), job=parts.get("job", ""))


def _form_token(request: Request, body: bytes) -> str:
    try:
        return parse_form(request.headers.get("content-type", ""), body).get("_csrf", "")
    except InvalidInput:
        return ""
