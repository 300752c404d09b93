"""REST v1: jobs, job logs, tasks, and the autoscaler's view of waiting jobs."""

from typing import Any

from starlette.responses import JSONResponse, Response

from actionswire.labels import covers
from actionswire.result import Status
from mockgitea.storage import page_queries
from mockgitea.storage import rest_queries as queries
from mockgitea.storage.rest_queries import RunFilter
from mockgitea.transport.downloads import LogFile, log_response
from mockgitea.transport.rest import forgejo_shapes, shapes
from mockgitea.transport.rest.calls import Call
from mockgitea.transport.rest.errors import bad_request, not_found, unprocessable
from mockgitea.transport.rest.runs import find_attempt, find_run, gitea_statuses


async def list_jobs(call: Call) -> Response:
    """Answer the jobs of a scope, those of earlier attempts too, in order of id."""
    scope = await call.scope()
    return await _listed(call, owner_id=scope.owner_id, repo_id=scope.repo_id)


async def list_run_jobs(call: Call) -> Response:
    """Answer the jobs of a run's latest attempt."""
    if not call.number("run"):
        raise bad_request("runID must be a positive integer")
    row = await find_run(call)
    return await _listed(call, repo_id=row["repo_id"], run_id=row["id"], only_latest=True)


async def list_attempt_jobs(call: Call) -> Response:
    """Answer the jobs of one attempt of a run."""
    row = await find_run(call)
    attempt = await find_attempt(call, row)
    return await _listed(call, repo_id=row["repo_id"], run_id=row["id"], attempt=attempt["number"])


async def get_job(call: Call) -> Response:
    """Answer one job."""
    row = await _job(call)
    return JSONResponse(shapes.job(row, call.links(row)))


async def get_job_logs(call: Call) -> Response:
    """Answer a job's log as stored, also while it runs; 404 until there is a task and a stored row."""
    row = await _job(call)
    task = row["task"]
    if task is None:
        raise not_found("job not started")
    if task["is_log_expired"]:
        raise not_found("logs have been cleaned up")
    if not task["log_rows"]:
        raise not_found()
    task_id, rows = task["id"], task["log_rows"]
    size = await call.services.store.read(lambda conn: page_queries.log_size(conn, task_id, rows))
    stem = row["run_workflow_file"].partition(".")[0] or row["run_workflow_file"]
    file = LogFile(task_id=task_id, rows=rows, size_bytes=size, filename=f"{stem}-{row['name']}-{task_id}.log")
    return log_response(call.services.store, file)


async def list_tasks(call: Call) -> Response:
    """Answer a repository's tasks, newest first."""
    repo_id = await call.repo_id()
    rows, total = await call.services.store.read(lambda conn: queries.list_tasks(conn, repo_id, call.page))
    links = await call.repository_links()
    return call.listed({"workflow_runs": [shapes.task(row, links) for row in rows], "total_count": total}, total)


async def search_jobs(call: Call) -> Response:
    """Answer the waiting and running jobs that the given labels cover; `null` when there are none."""
    scope = await call.scope()
    statuses = (int(Status.WAITING), int(Status.RUNNING))
    wanted = RunFilter(owner_id=scope.owner_id, repo_id=scope.repo_id, statuses=statuses)
    rows = await call.services.store.read(lambda conn: queries.list_waiting_or_running(conn, wanted))
    if "labels" in call.request.query_params:
        labels = call.query("labels").split(",")
        rows = [row for row in rows if covers(labels, row["runs_on"], empty_matches=labels == [""])]
    return JSONResponse([forgejo_shapes.job(row) for row in rows] or None)


async def _listed(call: Call, **scope: Any) -> Response:
    wanted = RunFilter(statuses=gitea_statuses(call), is_descending=_is_descending(call), **scope)
    rows, total = await call.services.store.read(lambda conn: queries.list_jobs(conn, wanted, call.page))
    shown = [shapes.job(row, call.links(row)) for row in rows]
    return call.listed({"jobs": shown, "total_count": total}, total)


def _is_descending(call: Call) -> bool:
    if not call.profile.rest_job_order:
        return False
    if call.query("sort") not in ("", "id"):
        raise unprocessable("sort: the only supported value is id")
    if call.query("order") not in ("", "asc", "desc"):
        raise unprocessable("order: must be asc or desc")
    return call.query("order") == "desc"


async def _job(call: Call) -> dict[str, Any]:
    repo_id, job_id = await call.repo_id(), call.number("job_id")
    row = await call.services.store.read(lambda conn: queries.find_job(conn, repo_id, job_id))
    if row is None:
        raise not_found()
    return row
