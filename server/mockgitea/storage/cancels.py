"""Cancel what a run or a concurrency group has not finished.

A waiting or blocked job ends at once; what happens to a running one is `stops.stop_task`'s decision.
Source: docs/protocol.md, "Cancel".
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, Final

from sqlalchemy import ColumnElement, Row, select

from actionswire.result import FINAL, Status
from mockgitea.core.profiles import Profile
from mockgitea.storage import jobs, stops
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job

_FINAL: Final = tuple(int(status) for status in FINAL)


def cancel_run(tx: Tx, run_id: int, *, profile: Profile, force: bool = False) -> int:
    """Cancel every unfinished job of a run's latest attempt.

    Args:
        tx: the open transaction.
        run_id: the run.
        profile: the imitated server.
        force: end running jobs at once, without the cancelling state.

    Returns:
        How many jobs changed; 0 when the run is final, or everything left is cancelling already.
    """
    return _cancel(tx, _unfinished(tx, job.c.run_id == run_id), profile=profile, force=force)


def cancel_job(tx: Tx, job_id: int, *, profile: Profile) -> int:
    """Cancel one job row; 0 when it is final."""
    return _cancel(tx, _unfinished(tx, job.c.id == job_id), profile=profile, force=False)


def _unfinished(tx: Tx, *where: ColumnElement[bool]) -> list[Row[Any]]:
    columns = (job.c.id, job.c.run_id, job.c.task_id, job.c.status)
    query = select(*columns).where(*where, job.c.is_latest.is_(True), job.c.status.not_in(_FINAL)).order_by(job.c.id)
    return list(tx.conn.execute(query))


def _cancel(tx: Tx, rows: Iterable[Row[Any]], *, profile: Profile, force: bool) -> int:
    changed: defaultdict[int, int] = defaultdict(int)
    unstarted: defaultdict[int, list[int]] = defaultdict(list)
    wish = Status.CANCELLED if force else Status.CANCELLING
    for row in rows:
        if not row.task_id:
            unstarted[row.run_id].append(row.id)
        elif stops.stop_task(tx, row.task_id, wish, profile=profile) is not None:
            changed[row.run_id] += 1
    for run_id, job_ids in unstarted.items():
        changed[run_id] += jobs.finish_unstarted(tx, run_id, job_ids, Status.CANCELLED, profile=profile)
    if profile.resolves_after_server_stop:
        for run_id in changed:
            tx.announce(RunNeedsResolving(run_id))
    return sum(changed.values())
