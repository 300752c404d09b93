"""REST v1: workflow files of a repository: list, switch on and off, dispatch."""

from typing import Any

from starlette.responses import JSONResponse, Response

from mockgitea.core.errors import InvalidInput
from mockgitea.service.runs import EnqueuedRun
from mockgitea.storage import control_queries
from mockgitea.storage import rest_queries as queries
from mockgitea.transport.rest import shapes
from mockgitea.transport.rest.bodies import Body
from mockgitea.transport.rest.calls import Call, empty, token_owner
from mockgitea.transport.rest.errors import RestRefusal, not_found, unprocessable
from mockgitea.transport.rest.runs import listed_runs


async def list_workflows(call: Call) -> Response:
    """Answer the repository's workflow files."""
    shown = [await _shape(call, row) for row in await _workflows(call)]
    return call.listed({"workflows": shown, "total_count": len(shown)}, len(shown))


async def get_workflow(call: Call) -> Response:
    """Answer one workflow file."""
    return JSONResponse(await _shape(call, await _workflow(call)))


async def list_workflow_runs(call: Call) -> Response:
    """Answer the runs of one workflow file."""
    row = await _workflow(call)
    return await listed_runs(call, row["file"])


async def enable_workflow(call: Call) -> Response:
    """Let a workflow file trigger runs again."""
    return await _switched(call, is_enabled=True)


async def disable_workflow(call: Call) -> Response:
    """Keep a workflow file from triggering runs."""
    return await _switched(call, is_enabled=False)


async def dispatch(call: Call) -> Response:
    """Start a run of a workflow file by hand, Gitea's form."""
    body = await call.body()
    made = await _dispatched(call, body)
    if not (call.profile.rest_dispatch_details == "gitea" and call.query_flag("return_run_details")):
        return empty(204)
    links = await call.repository_links()
    html_url = links.run_html({"id": made.run_id, "number": made.run_number})
    details = {"workflow_run_id": made.run_id, "run_url": links.run_api(made.run_id), "html_url": html_url}
    return JSONResponse(details)


async def dispatch_forgejo(call: Call) -> Response:
    """Start a run of a workflow file by hand, Forgejo's form."""
    body = await call.body()
    made = await _dispatched(call, body)
    if not (call.profile.rest_dispatch_details == "forgejo" and body.flag("return_run_info")):
        return empty(204)
    run = await call.services.store.read(lambda conn: control_queries.find_run(conn, made.run_id))
    jobs = [] if run is None else [job["job_id"] for job in run["jobs"]]
    return JSONResponse({"id": made.run_id, "run_number": made.run_number, "jobs": jobs}, status_code=201)


async def _dispatched(call: Call, body: Body) -> EnqueuedRun:
    ref = body.text("ref")
    if not ref:
        raise unprocessable("ref is required parameter")
    row = await _workflow(call)
    if not row["is_enabled"]:
        raise RestRefusal(403, f"workflow {row['file']!r} is disabled")
    try:
        return await call.services.runs.dispatch(
            (await call.repository()).full_name,
            row["file"],
            ref=ref,
            inputs=body.texts("inputs"),
            actor=token_owner(call.services),
        )
    except InvalidInput as refusal:
        raise unprocessable(refusal.message) from refusal


async def _switched(call: Call, *, is_enabled: bool) -> Response:
    row = await _workflow(call)
    full_name = (await call.repository()).full_name
    await call.services.runs.set_workflow_enabled(full_name, row["file"], is_enabled=is_enabled)
    return empty(204)


async def _workflows(call: Call) -> list[dict[str, Any]]:
    repo_id = await call.repo_id()
    return await call.services.store.read(lambda conn: queries.list_workflows(conn, repo_id))


async def _workflow(call: Call) -> dict[str, Any]:
    wanted = call.path("workflow_id")
    for row in await _workflows(call):
        if row["file"] == wanted:
            return row
    raise not_found(f'workflow "{wanted}" not found')


async def _shape(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    branch = (await call.repository()).default_branch
    return shapes.workflow(row, await call.repository_links(), default_branch=branch)
