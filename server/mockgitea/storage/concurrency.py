"""Members of a concurrency group: who holds it, and what a newcomer does to the others.

Runs and jobs share one name space per repository. Only Gitea's rule blocks members; Forgejo's queues are the pick
query's business. Source: docs/protocol.md, "Concurrency".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Select, select

from actionswire.result import Status
from mockgitea.core.concurrency import Group, blocks_members
from mockgitea.core.profiles import Profile
from mockgitea.storage.cancels import cancel_job, cancel_run
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import job, run

_PENDING: Final = (Status.WAITING, Status.BLOCKED)
_ACTIVE: Final = (Status.RUNNING, Status.CANCELLING)
_UNFINISHED: Final = (*_PENDING, *_ACTIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A run (``job_id`` 0) or a job that asks about its group."""

    repo_id: int
    run_id: int
    job_id: int = 0


def enter_group(tx: Tx, member: Member, group: Group, *, profile: Profile) -> bool:
    """Let a newcomer into its group.

    Args:
        tx: the open transaction.
        member: the newcomer; its row exists already.
        group: its group.
        profile: which rule holds.

    Returns:
        True when the newcomer has to start blocked.
    Source: docs/protocol.md, "Concurrency".
    """
    if group.cancels:
        _cancel_others(tx, member, group.name, _UNFINISHED, profile)
        return False
    if not blocks_members(profile):
        return False
    _cancel_others(tx, member, group.name, _PENDING, profile)
    return _has_others(tx, member, group.name, _ACTIVE)


def is_held(tx: Tx, member: Member, group_name: str) -> bool:
    """Tell whether another member of the group is running, cancelling or about to run."""
    return bool(group_name) and _has_others(tx, member, group_name, (*_ACTIVE, Status.WAITING))


def blocked_runs(tx: Tx, repo_id: int, group_names: Iterable[str]) -> list[int]:
    """Return the runs that have blocked members in one of these groups."""
    names = [name for name in group_names if name]
    if not names:
        return []
    query = (
        select(job.c.run_id)
        .join_from(job, run, job.c.run_id == run.c.id)
        .where(job.c.repo_id == repo_id, job.c.status == int(Status.BLOCKED), job.c.is_latest.is_(True))
        .where(run.c.concurrency_group.in_(names) | job.c.concurrency_group.in_(names))
        .distinct()
        .order_by(job.c.run_id)
    )
    return list(tx.conn.execute(query).scalars())


def cancel_previous_runs(tx: Tx, run_id: int, *, profile: Profile) -> None:
    """Cancel older unfinished runs of the same ref, workflow file and event (servers without groups)."""
    new = tx.conn.execute(select(run).where(run.c.id == run_id)).mappings().one()
    same = [run.c[name] == new[name] for name in ("repo_id", "ref", "workflow_file", "event")]
    query = _runs_with_jobs(new["repo_id"], _UNFINISHED).where(*same, run.c.id < run_id)
    for other in tx.conn.execute(query).scalars().all():
        cancel_run(tx, other, profile=profile)


def _cancel_others(tx: Tx, member: Member, name: str, statuses: tuple[Status, ...], profile: Profile) -> None:
    for run_id in _other_runs(tx, member, name, statuses):
        cancel_run(tx, run_id, profile=profile)
    for job_id in _other_jobs(tx, member, name, statuses):
        cancel_job(tx, job_id, profile=profile)


def _has_others(tx: Tx, member: Member, name: str, statuses: tuple[Status, ...]) -> bool:
    return bool(_other_runs(tx, member, name, statuses) or _other_jobs(tx, member, name, statuses))


def _other_runs(tx: Tx, member: Member, name: str, statuses: tuple[Status, ...]) -> list[int]:
    numbers = [int(status) for status in statuses]
    query = _runs_with_jobs(member.repo_id, _UNFINISHED).where(
        run.c.concurrency_group == name, run.c.status.in_(numbers), run.c.id != member.run_id
    )
    return list(tx.conn.execute(query).scalars())


def _other_jobs(tx: Tx, member: Member, name: str, statuses: tuple[Status, ...]) -> list[int]:
    numbers = [int(status) for status in statuses]
    # A job never waits for its own run, and a run never for its own jobs.
    itself = job.c.id != member.job_id if member.job_id else job.c.run_id != member.run_id
    query = select(job.c.id).where(
        job.c.repo_id == member.repo_id,
        job.c.status.in_(numbers),
        job.c.concurrency_group == name,
        job.c.is_latest.is_(True),
        itself,
    )
    return list(tx.conn.execute(query.order_by(job.c.id)).scalars())


def _runs_with_jobs(repo_id: int, statuses: tuple[Status, ...]) -> Select[int]:
    """Select runs by their unfinished jobs, whose index stays small however many runs have ended."""
    numbers = [int(status) for status in statuses]
    unfinished = select(job.c.run_id).where(
        job.c.repo_id == repo_id, job.c.status.in_(numbers), job.c.is_latest.is_(True)
    )
    return select(run.c.id).where(run.c.id.in_(unfinished)).order_by(run.c.id)
