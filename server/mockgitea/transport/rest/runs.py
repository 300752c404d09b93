"""REST v1: runs, their attempts, rerun, cancel and removal."""

from typing import Any

from starlette.responses import JSONResponse, Response

from actionswire.result import Status
from mockgitea.core.errors import InvalidInput
from mockgitea.core.profiles import Family
from mockgitea.storage import rest_queries as queries
from mockgitea.storage.reruns import Rerun
from mockgitea.storage.rest_queries import RunFilter
from mockgitea.transport.rest import forgejo_shapes, shapes
from mockgitea.transport.rest.calls import Call, empty
from mockgitea.transport.rest.errors import RestRefusal, bad_request, not_found
from mockgitea.transport.rest.status_words import status_named, statuses_of_filter

_HEADS = "refs/heads/"


async def list_runs(call: Call) -> Response:
    """Answer the runs of a scope, newest first."""
    return await listed_runs(call, "")


async def listed_runs(call: Call, workflow_file: str) -> Response:
    """Answer the runs of a scope, newest first, of one workflow file when it is given."""
    scope = await call.scope()
    branch = call.query("branch")
    wanted = RunFilter(
        owner_id=scope.owner_id,
        repo_id=scope.repo_id,
        statuses=gitea_statuses(call),
        events=(call.query("event"),) if call.query("event") else (),
        ref=_HEADS + branch if branch else "",
        actor=call.query("actor"),
        sha=call.query("head_sha"),
        workflow_file=workflow_file,
    )
    rows, total = await call.services.store.read(lambda conn: queries.list_runs(conn, wanted, call.page))
    return call.listed({"workflow_runs": [show_run(call, row) for row in rows], "total_count": total}, total)


async def list_forgejo_runs(call: Call) -> Response:
    """Answer a repository's runs with Forgejo's filters; its total stands in the body alone."""
    wanted = RunFilter(
        repo_id=await call.repo_id(),
        statuses=_forgejo_statuses(call),
        events=tuple(call.queries("event")),
        number=call.query_number("run_number"),
        sha=call.query("head_sha"),
        ref=call.query("ref"),
        workflow_file=call.query("workflow_id"),
    )
    rows, total = await call.services.store.read(lambda conn: queries.list_runs(conn, wanted, call.page))
    return JSONResponse({"workflow_runs": [show_run(call, row) for row in rows], "total_count": total})


async def get_run(call: Call) -> Response:
    """Answer one run."""
    return JSONResponse(show_run(call, await find_run(call)))


async def delete_run(call: Call) -> Response:
    """Delete a run that has ended."""
    row = await find_run(call)
    try:
        await call.services.runs.delete(row["id"])
    except InvalidInput:
        raise bad_request("this workflow run is not done") from None
    return empty(204)


async def get_attempt(call: Call) -> Response:
    """Answer one attempt of a run."""
    row = await find_run(call)
    return JSONResponse(show_run(call, row, await find_attempt(call, row)))


async def rerun_all(call: Call) -> Response:
    """Run all jobs of an ended run again."""
    row = await find_run(call)
    await _rerun(call, row)
    return JSONResponse(show_run(call, await find_run(call)), status_code=201)


async def rerun_failed(call: Call) -> Response:
    """Run the failed and cancelled jobs of an ended run again, with what depends on them."""
    row = await find_run(call)
    await _rerun(call, row, failed_only=True)
    return empty(201)


async def rerun_job(call: Call) -> Response:
    """Run one job again with what depends on it; the answer shows the row of the new attempt."""
    row = await find_run(call)
    repo_id, job_id = row["repo_id"], call.number("job_id")
    job = await call.services.store.read(lambda conn: queries.find_job(conn, repo_id, job_id))
    if job is None or job["run_id"] != row["id"] or not job["is_latest"]:
        raise not_found("workflow job not found")
    made = await _rerun(call, row, job_row_id=job_id)
    new_id = made.rows[job_id]
    new_row = await call.services.store.read(lambda conn: queries.find_job(conn, repo_id, new_id))
    assert new_row is not None, "a rerun job has a row in the latest attempt"
    return JSONResponse(shapes.job(new_row, call.links(new_row)), status_code=201)


async def cancel_run(call: Call) -> Response:
    """Cancel what has not ended."""
    return await _cancelled(call, force=False)


async def force_cancel_run(call: Call) -> Response:
    """Cancel what has not ended, running tasks at once."""
    return await _cancelled(call, force=True)


async def approve_run(call: Call) -> Response:
    """Let a run that waits for approval go ahead."""
    row = await find_run(call)
    if not row["needs_approval"] and not row["is_approved"]:
        raise RestRefusal(409, "workflow run does not need approval")
    await call.services.runs.approve(row["id"])
    return JSONResponse(show_run(call, await find_run(call)))


async def find_run(call: Call) -> dict[str, Any]:
    """Return the run that the path names. Raises 404 for one of another repository too."""
    repo_id, run_id = await call.repo_id(), call.number("run")
    row = await call.services.store.read(lambda conn: queries.find_run(conn, repo_id, run_id))
    if row is None:
        raise not_found()
    return row


async def find_attempt(call: Call, row: dict[str, Any]) -> dict[str, Any]:
    """Return the attempt that the path names, of the run ``row``. Raises 404."""
    run_id, number = row["id"], call.number("attempt")
    found = await call.services.store.read(lambda conn: queries.find_attempt(conn, run_id, number))
    if found is not None:
        return found
    if number != row["attempt"] or number != 1:
        raise not_found()
    # The first attempt needs no record of its own: the run's row says the same.
    return {**row, "number": 1}


def show_run(call: Call, row: dict[str, Any], attempt: dict[str, Any] | None = None) -> dict[str, Any]:
    """Shape a run as the profile's family does."""
    links = call.links(row)
    if call.profile.family is Family.FORGEJO:
        return forgejo_shapes.run(row, links)
    return shapes.run(row, links, shows_attempts=call.profile.rest_attempts, attempt=attempt)


def gitea_statuses(call: Call) -> tuple[int, ...]:
    """Return the statuses that Gitea's `?status=` names. Raises 400 for an unknown word."""
    wanted: set[int] = set()
    for word in call.queries("status"):
        statuses = statuses_of_filter(word)
        if statuses is None:
            raise bad_request(f"Invalid status {word}")
        wanted |= {int(status) for status in statuses}
    return tuple(sorted(wanted))


def _forgejo_statuses(call: Call) -> tuple[int, ...]:
    statuses = [(word, status_named(word)) for word in call.queries("status")]
    for word, status in statuses:
        if status is None:
            raise bad_request(f"unknown status: {word}")
    return tuple(int(status) for _, status in statuses if status is not None)


async def _rerun(call: Call, row: dict[str, Any], *, job_row_id: int | None = None, failed_only: bool = False) -> Rerun:
    """Rerun, with every refusal as the 400 that Gitea answers."""
    try:
        return await call.services.runs.rerun(row["id"], job_row_id=job_row_id, failed_only=failed_only)
    except InvalidInput as refusal:
        raise bad_request(refusal.message) from refusal


async def _cancelled(call: Call, *, force: bool) -> Response:
    row = await find_run(call)
    if Status(row["status"]).is_final:
        raise RestRefusal(409, "workflow run has already completed")
    await call.services.runs.cancel(row["id"], force=force)
    return JSONResponse(show_run(call, await find_run(call)))
