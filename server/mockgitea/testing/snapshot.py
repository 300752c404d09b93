"""The server's state as plain JSON, so that two moments or two runs of a test can be compared with `==`."""

from typing import Any, Final

from sqlalchemy import Connection

from mockgitea.app import App
from mockgitea.storage import control_queries as queries
from mockgitea.transport.control import views

RUNS_MAX: Final = 10_000


async def snapshot(app: App, *, has_times: bool) -> dict[str, Any]:
    """Return repositories, runs with jobs and tasks, runners, commit statuses, faults and counters.

    Args:
        app: the server.
        has_times: keep the moments, which differ from run to run; without them equal behaviour is an equal snapshot.
    """
    services = app.services
    now_us = services.clock.now_us()
    taken: dict[str, Any] = await services.store.read(_stored)
    taken |= {
        "runners": [views.runner(record, now_us) for record in services.directory.all()],
        "faults": [{"name": state.fault.name, "hits": state.hits} for state in app.faults.list()],
        "counters": app.counters.snapshot(),
    }
    without: dict[str, Any] = taken if has_times else _without_times(taken)
    return without


def _stored(conn: Connection) -> dict[str, Any]:
    rows, _ = queries.list_runs(conn, repo_id=None, status=None, limit=RUNS_MAX, offset=0)
    runs = [queries.find_run(conn, row["id"]) for row in reversed(rows)]
    return {
        "repositories": [views.repository(row) for row in queries.list_repositories(conn)],
        "runs": [views.run(run) for run in runs if run is not None],
        "commit_statuses": [
            views.commit_status(row) for row in queries.list_commit_statuses(conn, repo_id=None, sha=None)
        ],
    }


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(each) for key, each in value.items() if not str(key).endswith("_at")}
    if isinstance(value, list):
        return [_without_times(each) for each in value]
    return value
