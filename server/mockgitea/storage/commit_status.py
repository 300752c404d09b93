"""Commit statuses: one row per commit and context, rewritten only when it changes.

Source: docs/protocol.md, "Commit statuses".
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import RowMapping, bindparam, or_, select
from sqlalchemy.dialects.sqlite import insert

from actionswire.result import Status
from mockgitea.core.commit_status import has_commit_status, status_context, status_description, status_state
from mockgitea.core.page_links import PageLinks
from mockgitea.core.profiles import PageUrls, Profile
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import commit_status, job, repository, run


def write_job_statuses(tx: Tx, job_ids: Sequence[int], *, profile: Profile) -> None:
    """Bring the commit statuses of these job rows, all of one run, up to date; jobs of other events have none."""
    rows = tx.conn.execute(_QUERY, {"ids": list(job_ids)}).mappings().all() if job_ids else []
    if not rows or not has_commit_status(rows[0]["event"], profile):
        return
    positions = {} if profile.page_urls is PageUrls.IDS else _positions(tx, rows[0]["run_id"])
    tx.conn.execute(_UPSERT, [_values(row, positions.get(row["id"], row["id"]), profile, tx.now_us) for row in rows])


def _values(row: RowMapping, link_number: int, profile: Profile, now_us: int) -> dict[str, Any]:
    status = Status(row["status"])
    links = PageLinks(row["owner_name"], row["repo_name"], profile.page_urls)
    return {
        "repo_id": row["repo_id"],
        "commit_sha": row["commit_sha"],
        "context": status_context(
            workflow_name=row["workflow_name"],
            workflow_file=row["workflow_file"],
            job_name=row["job_name"],
            event=row["event"],
            profile=profile,
        ),
        "state": status_state(status, profile),
        "description": status_description(status, profile, started_us=row["started_us"], stopped_us=row["stopped_us"]),
        "target_url": f"{links.run({'id': row['run_id'], 'number': row['number']})}/jobs/{link_number}",
        "updated_us": now_us,
    }


def _positions(tx: Tx, run_id: int) -> dict[int, int]:
    """Return row to position: how servers without ids in their links count jobs."""
    query = select(job.c.id).where(job.c.run_id == run_id, job.c.is_latest.is_(True)).order_by(job.c.id)
    return {row_id: position for position, row_id in enumerate(tx.conn.execute(query).scalars())}


_QUERY: Final = (
    select(
        job.c.id,
        job.c.run_id,
        job.c.repo_id,
        job.c.commit_sha,
        job.c.name.label("job_name"),
        job.c.status,
        job.c.started_us,
        job.c.stopped_us,
        run.c.number,
        run.c.event,
        run.c.workflow_name,
        run.c.workflow_file,
        repository.c.owner_name,
        repository.c.name.label("repo_name"),
    )
    .join_from(job, run, job.c.run_id == run.c.id)
    .join(repository, job.c.repo_id == repository.c.id)
    .where(job.c.id.in_(bindparam("ids", expanding=True)))
    .order_by(job.c.id)
)

_SHOWN: Final = ("state", "description", "target_url")
_NEW: Final = insert(commit_status)
_UPSERT: Final = _NEW.on_conflict_do_update(
    index_elements=["repo_id", "commit_sha", "context"],
    set_={name: _NEW.excluded[name] for name in (*_SHOWN, "updated_us")},
    where=or_(*(commit_status.c[name] != _NEW.excluded[name] for name in _SHOWN)),
)
