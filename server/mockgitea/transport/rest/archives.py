"""REST v1: what comes in files: all logs of a run as a zip, and the (always empty) list of artifacts."""

import io
import zipfile
from urllib.parse import quote

from sqlalchemy import Connection
from starlette.responses import JSONResponse, Response

from mockgitea.storage import page_queries
from mockgitea.storage import rest_queries as queries
from mockgitea.storage.rest_queries import RunFilter
from mockgitea.transport.rest.calls import Call
from mockgitea.transport.rest.errors import not_found
from mockgitea.transport.rest.runs import find_run

JOBS_MAX = 500
"""Logs in one archive; a run of more jobs is cut there."""


async def list_artifacts(call: Call) -> Response:
    """Answer no artifacts: the mock takes none, which is what a server without uploads shows."""
    if "run" in call.request.path_params:
        await find_run(call)
    else:
        await call.repo_id()
    return JSONResponse({"artifacts": [], "total_count": 0})


async def get_run_logs(call: Call) -> Response:
    """Answer a zip with one log for each started job of the latest attempt."""
    row = await find_run(call)
    wanted = RunFilter(repo_id=row["repo_id"], run_id=row["id"], only_latest=True)
    jobs, total = await call.services.store.read(lambda conn: queries.list_jobs(conn, wanted, (JOBS_MAX, 0)))
    if not total:
        raise not_found(f"no jobs found for run {row['id']}")
    stem = row["workflow_file"].partition(".")[0] or row["workflow_file"]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for job in jobs:
            task = job["task"]
            if task is None or task["is_log_expired"]:
                continue
            name = f"{stem}-{job['name']}-{task['id']}.log".replace("/", "_")
            archive.writestr(zipfile.ZipInfo(name), await _log(call, task["id"], task["log_rows"]))
    headers = {"Content-Disposition": f'attachment; filename="{quote(stem)}-run-{row["id"]}-logs.zip"'}
    return Response(packed.getvalue(), media_type="application/zip", headers=headers)


async def _log(call: Call, task_id: int, rows: int) -> bytes:
    def query(conn: Connection) -> bytes:
        return page_queries.read_log_part(conn, task_id, 0, rows, chunks=rows)[0]

    return await call.services.store.read(query) if rows else b""
