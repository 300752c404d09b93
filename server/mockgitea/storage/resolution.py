"""Let blocked jobs go on: one pass over a run, in one transaction.

A pass repeats until nothing changes, because a skipped job is itself a finished need. It may run at any time and any
number of times. Source: docs/protocol.md, "Needs".
"""

from collections import defaultdict
from collections.abc import Mapping
from enum import Enum, auto
from functools import cached_property
from typing import Any, Final

from sqlalchemy import Connection, RowMapping, select, update

from actionswire.result import FINAL, Status
from mockgitea.core.concurrency import blocks_members
from mockgitea.core.errors import InvalidInput
from mockgitea.core.needs import Needed, Verdict, judge, needs_context, seen_needs
from mockgitea.core.profiles import Profile
from mockgitea.core.scopes import Surroundings
from mockgitea.storage import job_rows, jobs, late_plans
from mockgitea.storage.concurrency import Member, blocked_runs, is_held
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Tx
from mockgitea.storage.needs import needed_among
from mockgitea.storage.run_facts import run_facts, surroundings_of
from mockgitea.storage.runs import RunPlaces, get_run, latest_jobs
from mockgitea.storage.schema import job, run

_FINAL: Final = tuple(int(status) for status in FINAL)


def resolve_run(tx: Tx, run_id: int, *, places: RunPlaces, profile: Profile, is_woken: bool = False) -> int:
    """Decide every blocked job of a run whose needs are done.

    Args:
        tx: the open transaction.
        run_id: the run; an unknown one has nothing to resolve.
        places: see `RunPlaces`.
        profile: the imitated server.
        is_woken: only its concurrency group became free; such a pass wakes others only when it changed something,
            so that runs that wait for something else never wake each other for ever.

    Returns:
        How many jobs changed.
    """
    light = (run.c.id, run.c.repo_id, run.c.needs_approval, run.c.concurrency_group)
    row = tx.conn.execute(select(*light).where(run.c.id == run_id)).mappings().first()
    if row is None or row["needs_approval"]:
        return 0
    changed = _Pass(tx, run_id, places, profile).run()
    if blocks_members(profile) and (changed or not is_woken):
        _wake_groups(tx, row)
    return changed


def approve_run(tx: Tx, run_id: int, *, places: RunPlaces, profile: Profile) -> bool:
    """Release a run that waits for approval; False when it does not.

    Raises:
        NotFound: no such run.
    """
    if not get_run(tx.conn, run_id)["needs_approval"]:
        return False
    tx.conn.execute(update(run).where(run.c.id == run_id).values(needs_approval=False, is_approved=True))
    resolve_run(tx, run_id, places=places, profile=profile)
    return True


def runs_with_blocked_jobs(conn: Connection, *, after: int, limit: int) -> list[int]:
    """Return runs beyond ``after`` that have blocked jobs, for a resolver that has lost count."""
    query = (
        select(job.c.run_id)
        .where(job.c.status == int(Status.BLOCKED), job.c.is_latest.is_(True), job.c.run_id > after)
        .distinct()
        .order_by(job.c.run_id)
        .limit(limit)
    )
    return list(conn.execute(query).scalars())


class _Move(Enum):
    """What a sweep does with a job that is ready."""

    STAY = auto()
    SKIP = auto()
    START = auto()
    PLANNED = auto()
    """Its placeholder was replaced; the next sweep decides the rows that stand there now."""


class _Pass:
    """One pass over one run; a sweep decides everything that is ready and then writes it at once."""

    def __init__(self, tx: Tx, run_id: int, places: RunPlaces, profile: Profile) -> None:
        self._tx = tx
        self._run_id = run_id
        self._places = places
        self._profile = profile
        self._around: dict[tuple[str, int], Surroundings] = {}

    @cached_property
    def _run(self) -> RowMapping:
        """The whole row with source and payload, read only when a job is ready."""
        return get_run(self._tx.conn, self._run_id)

    def run(self) -> int:
        """Decide until nothing changes; return how many jobs changed."""
        changed = 0
        while moved := self._sweep():
            changed += moved
        return changed

    def _ready(self) -> set[int]:
        """Return the blocked rows whose needs are final; most passes end here, so it reads as little as it can."""
        mine = (job.c.run_id == self._run_id, job.c.is_latest.is_(True))
        query = select(job.c.id, job.c.needs).where(*mine, job.c.status == int(Status.BLOCKED))
        blocked = self._tx.conn.execute(query).all()
        if not blocked:
            return set()
        query_open = select(job.c.job_id).where(*mine, job.c.status.not_in(_FINAL)).distinct()
        unfinished = set(self._tx.conn.execute(query_open).scalars())
        return {row.id for row in blocked if unfinished.isdisjoint(row.needs)}

    def _sweep(self) -> int:
        ready_ids = self._ready()
        if not ready_ids:
            return 0
        rows = latest_jobs(self._tx.conn, self._run_id)
        ready = [row for row in rows if row["id"] in ready_ids]
        is_kept = self._is_run_kept()
        needed: dict[tuple[str, ...], Needed] = {}
        moves: defaultdict[_Move, list[int]] = defaultdict(list)
        for row in ready:
            names = tuple(row["needs"])
            if names not in needed:
                needed[names] = needed_among(self._tx.conn, rows, names)
            moves[self._decide(row, needed[names], is_kept=is_kept)].append(row["id"])
        skipped = jobs.finish_unstarted(
            self._tx, self._run_id, moves[_Move.SKIP], Status.SKIPPED, profile=self._profile
        )
        started = jobs.set_jobs_waiting(self._tx, self._run_id, moves[_Move.START], profile=self._profile)
        return skipped + started + len(moves[_Move.PLANNED])

    def _decide(self, row: RowMapping, needed: Needed, *, is_kept: bool) -> _Move:
        """Decide one blocked job whose needs are final."""
        surroundings = self._surroundings(row)
        try:
            verdict = judge(row["if_text"], needed, self._profile, surroundings, field=f"jobs.{row['job_id']}.if")
            if verdict is Verdict.SKIP:
                return _Move.SKIP
            if verdict is Verdict.HOLD:
                return _Move.STAY
            needs = needs_context(seen_needs(needed, self._profile))
            if self._plan_late(row, surroundings, needs):
                return _Move.PLANNED
            if is_kept or self._is_kept_by_own_group(row, surroundings, needs):
                return _Move.STAY
        except InvalidInput as error:
            self._note(row, error.message)
            return _Move.STAY
        self._note(row, "")
        return _Move.START

    def _plan_late(self, row: RowMapping, surroundings: Surroundings, needs: Mapping[str, Any]) -> bool:
        late = late_plans.planned_late(self._tx.conn, row, self._run, surroundings, needs, profile=self._profile)
        if late:
            seed = self._places.handle_seed
            late_plans.replace_placeholder(self._tx, self._run, row, late, profile=self._profile, handle_seed=seed)
        return bool(late)

    def _is_run_kept(self) -> bool:
        """Tell whether the run's group keeps all of its jobs."""
        member = Member(repo_id=self._run["repo_id"], run_id=self._run_id)
        return blocks_members(self._profile) and is_held(self._tx, member, self._run["concurrency_group"])

    def _is_kept_by_own_group(self, row: RowMapping, surroundings: Surroundings, needs: Mapping[str, Any]) -> bool:
        """Tell whether the job's own group keeps it; one that never was in it enters now."""
        if not row["concurrency"] or not blocks_members(self._profile):
            return False
        if row["concurrency_group"]:
            member = Member(repo_id=row["repo_id"], run_id=row["run_id"], job_id=row["id"])
            return is_held(self._tx, member, row["concurrency_group"])
        return job_rows.enter_own_group(self._tx, row, surroundings, profile=self._profile, needs=needs)

    def _surroundings(self, row: RowMapping) -> Surroundings:
        attempt: int = self._run["attempt"] if self._profile.rerun_clones_jobs else row["attempt"]
        key = (row["job_id"], attempt)
        if key not in self._around:
            facts = run_facts(self._tx.conn, self._run, attempt=attempt)
            self._around[key] = surroundings_of(
                self._tx.conn,
                self._run,
                facts,
                app_url=self._places.app_url,
                profile=self._profile,
                job=row["job_id"],
            )
        return self._around[key]

    def _note(self, row: RowMapping, reason: str) -> None:
        """Keep why a job stays blocked, where people look."""
        if row["failure_reason"] != reason:
            self._tx.conn.execute(update(job).where(job.c.id == row["id"]).values(failure_reason=reason))


def _wake_groups(tx: Tx, row: RowMapping) -> None:
    """Have the runs resolved that wait for a group which this run, or a job of it, no longer holds."""
    ended = (job.c.run_id == row["id"], job.c.is_latest.is_(True), job.c.status.in_(_FINAL))
    query = select(job.c.concurrency_group).where(*ended, job.c.concurrency_group != "").distinct()
    names = {name for name in (row["concurrency_group"], *tx.conn.execute(query).scalars()) if name}
    outsider = Member(repo_id=row["repo_id"], run_id=0)
    free = sorted(name for name in names if not is_held(tx, outsider, name))
    for run_id in blocked_runs(tx, row["repo_id"], free):
        tx.announce(RunNeedsResolving(run_id, is_woken=True))
