"""FetchTask and FetchSingleTask: who gets which job, when, and what happens when the answer is lost.

A fetch that brings the current version touches neither the store nor a thread. The message itself is built by an
`AssignmentBuilder`, inside the claim's transaction.
Source: docs/protocol.md, "FetchTask".
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol

import structlog

from mockgitea.core.claimed import AssignmentFailed, ClaimedTask
from mockgitea.core.dispatch import Candidate, Mishap, Miss, first_claimed
from mockgitea.core.errors import LimitExceeded, Refusal, ServerFault
from mockgitea.core.messages import Assignment, Fetched
from mockgitea.core.profiles import Profile
from mockgitea.core.step_names import step_names
from mockgitea.randomness import Randomness
from mockgitea.service.directory import RunnerRecord
from mockgitea.service.versions import TaskVersions
from mockgitea.storage import claims, queue, runners, tasks, versions
from mockgitea.storage.interface import Store, Tx
from mockgitea.supervise import Supervisor

log = structlog.get_logger(__name__)

TASKS_PER_FETCH_MAX: Final = 1000
"""Most tasks one call may ask for; real runners ask for their free slots."""


class AssignmentBuilder(Protocol):
    """Builds the task message from a claim."""

    def build(self, tx: Tx, claimed: ClaimedTask) -> Assignment:
        """Return the message; raises `AssignmentFailed` when this job can never have one."""


@dataclass(slots=True)
class _Pick:
    """What one claiming intent did; filled by the intent, read by the fetch."""

    assignment: Assignment | None = None
    runner_is_used_up: bool = False


@dataclass(slots=True)
class _Delivery:
    """Tasks claimed for one fetch, and whether anybody still waits for them."""

    task_ids: list[int] = field(default_factory=list)
    is_abandoned: bool = False
    loses_claim: bool = False
    """The next claim is lost, as if another runner had been faster."""


class Dispatch:
    """Hands waiting jobs to runners.

    Args:
        store: where jobs and tasks live.
        versions: tasks_version in memory.
        profile: the imitated server.
        randomness: source of task tokens.
        supervisor: runs the release of claims that nobody waits for.
        builder: builds task messages.
        picks_max: look-ups at once before a fetch is throttled, where the profile throttles; 0 throttles all.
    """

    def __init__(
        self,
        *,
        store: Store,
        versions: TaskVersions,
        profile: Profile,
        randomness: Randomness,
        supervisor: Supervisor,
        builder: AssignmentBuilder,
        picks_max: int,
    ) -> None:
        self._store = store
        self._versions = versions
        self._profile = profile
        self._randomness = randomness
        self._supervisor = supervisor
        self._builder = builder
        self.picks_max = picks_max
        self._picks = 0
        self._keys: set[int] = set()

    async def load(self) -> None:
        """Remember which request keys were used before a restart."""
        if self._profile.request_key:
            self._keys = {hash(pair) for pair in await self._store.read(claims.used_request_keys)}

    def clear(self) -> None:
        """Forget every request key, after the store was wiped."""
        self._keys.clear()

    def has_nothing_new(self, record: RunnerRecord, tasks_version: int) -> bool:
        """Tell from memory whether a fetch without request key would answer this version and no task."""
        # Version 0 always looks, and makes the counter where there is none yet.
        return (
            tasks_version != 0
            and self._profile.has_tasks_version
            and tasks_version == self._versions.current(record.owner_id, record.repo_id)
        )

    async def fetch(
        self,
        record: RunnerRecord,
        *,
        tasks_version: int,
        capacity: int | None = None,
        request_key: str = "",
        mishap: Mishap | None = None,
    ) -> Fetched:
        """Answer FetchTask.

        Args:
            record: the authenticated runner.
            tasks_version: the version the runner saw last; 0 looks into the queue anyway.
            capacity: the runner's free slots, where the profile knows them; absent and 0 mean 1.
            request_key: names this attempt, where the profile honours it; empty = none.
            mishap: bad luck that a fault wants.

        Raises:
            ServerFault: the look-up failed (`pick task: ...`).
        """
        if not request_key and self.has_nothing_new(record, tasks_version):
            return Fetched(tasks_version)
        if recovered := await self._recovered(record, request_key):
            return Fetched(0, recovered)
        wanted = 1
        if self._profile.capacity_fetch and capacity and not record.is_ephemeral:
            wanted = min(max(capacity, 1), TASKS_PER_FETCH_MAX)
        return await self._answer(record, tasks_version, request_key, wanted=wanted, mishap=mishap)

    async def fetch_single(
        self,
        record: RunnerRecord,
        *,
        tasks_version: int,
        handle: str | None = None,
        request_key: str = "",
        mishap: Mishap | None = None,
    ) -> Fetched:
        """Answer FetchSingleTask: like `fetch` for one task, and only for the job with this handle if there is one.

        Raises:
            ServerFault: the look-up failed, or the request key stands for several tasks.
        """
        recovered = await self._recovered(record, request_key)
        if len(recovered) > 1:
            raise ServerFault("pick task: more than one task was handed out under this request key")
        if recovered:
            return Fetched(0, recovered)
        return await self._answer(record, tasks_version, request_key, handle=handle or "", mishap=mishap)

    async def release(self, task_ids: Sequence[int]) -> None:
        """Undo claims whose answer will not reach the runner, where the profile does that."""
        if not self._profile.claim_release:
            return
        for task_id in task_ids:
            released = await self._store.write(partial(claims.release, task_id=task_id, profile=self._profile))
            log.info("claim_released", task_id=task_id, released=released)

    def release_soon(self, task_ids: Sequence[int]) -> None:
        """Undo claims of a call that was cancelled, where the profile does that; returns at once."""
        self._release_soon(_Delivery(list(task_ids)))

    async def _answer(
        self,
        record: RunnerRecord,
        tasks_version: int,
        request_key: str,
        *,
        handle: str = "",
        wanted: int = 1,
        mishap: Mishap | None = None,
    ) -> Fetched:
        profile = self._profile
        latest = 0
        if profile.has_tasks_version:
            latest = self._versions.current(record.owner_id, record.repo_id) or await self._first_version(record)
            if tasks_version == latest:
                return Fetched(latest)
        if profile.has_pick_throttle and self._picks >= self.picks_max:
            return Fetched(tasks_version)
        if mishap is Mishap.LOST_WAKEUP or (record.is_disabled and profile.has_disabled_runners):
            return Fetched(latest)
        delivery = _Delivery(loses_claim=mishap is Mishap.LOST_CLAIM)
        self._picks += 1
        try:
            picked = await self._pick_up_to(wanted, record, request_key, handle, delivery)
        finally:
            self._picks -= 1
        return Fetched(latest, picked)

    async def _first_version(self, record: RunnerRecord) -> int:
        await self._store.write(lambda tx: versions.bump(tx, record.owner_id, record.repo_id))
        return 1

    async def _pick_up_to(
        self, wanted: int, record: RunnerRecord, request_key: str, handle: str, delivery: _Delivery
    ) -> tuple[Assignment, ...]:
        picked: list[Assignment] = []
        try:
            for _ in range(wanted):
                try:
                    assignment = await self._pick(record, request_key, handle, delivery)
                except Refusal:
                    if not picked:
                        raise
                    log.exception("further_pick_failed", runner_id=record.id, picked=len(picked))
                    break
                if assignment is None:
                    break
                picked.append(assignment)
        except asyncio.CancelledError:
            delivery.is_abandoned = True
            self._release_soon(delivery)
            raise
        return tuple(picked)

    async def _pick(
        self, record: RunnerRecord, request_key: str, handle: str, delivery: _Delivery
    ) -> Assignment | None:
        claimant = self._claimant(record, request_key)
        scope = queue.RunnerScope(record.owner_id, record.repo_id)

        def intent(tx: Tx) -> _Pick:
            pick = _Pick()
            if record.is_ephemeral and not self._may_have_task(tx, record, pick):
                return pick
            waiting = queue.candidates(tx.conn, scope, self._profile, handle=handle)
            losses = int(delivery.loses_claim)

            def claim(one: Candidate) -> Assignment | Miss:
                nonlocal losses
                if losses:
                    losses -= 1
                    return Miss.LOST
                return self._claim(tx, one, claimant)

            found = first_claimed(waiting, record.labels, claim, self._profile)
            if found is not None:
                pick.assignment = found
                tx.on_commit(partial(self._claimed, found.task_id, claimant, delivery))
            return pick

        try:
            pick = await self._store.write(intent)
        except LimitExceeded:
            raise
        except Refusal as refusal:
            raise ServerFault(f"pick task: {refusal.message}") from refusal
        delivery.loses_claim = False
        if pick.runner_is_used_up:
            raise ServerFault("pick task: runner has been removed")
        return pick.assignment

    def _may_have_task(self, tx: Tx, record: RunnerRecord, pick: _Pick) -> bool:
        """Apply the rule of one task per life."""
        if not self._profile.has_ephemeral:
            return True
        has_finished = tasks.has_any(tx, record.id, final=True)
        if tasks.has_any(tx, record.id, final=False) or (has_finished and self._profile.ephemeral_any_task_blocks):
            return False
        if has_finished:
            runners.remove(tx, record.id)
            pick.runner_is_used_up = True
        return not has_finished

    def _claim(self, tx: Tx, candidate: Candidate, claimant: claims.Claimant) -> Assignment | Miss:
        """Claim one job and build its message; a job that can have none fails alone and the walk goes on."""
        profile = self._profile

        def names(payload: bytes) -> Sequence[str]:
            return step_names(payload, profile.step_name)

        try:
            claimed = claims.insert_task(tx, candidate.job_id, claimant, step_names=names, profile=profile)
        except AssignmentFailed as failure:
            claims.fail_unread_job(tx, candidate.job_id, failure.message, profile=profile)
            return Miss.UNUSABLE
        if claimed is None:
            return Miss.LOST
        try:
            return self._builder.build(tx, claimed)
        except AssignmentFailed as failure:
            reason = failure.message
        except (ValueError, TypeError, LookupError, ArithmeticError, RecursionError):
            log.exception("assignment_crashed", job_id=candidate.job_id)
            reason = "the task message could not be built; see the server's log"
        claims.fail_job(tx, claimed, reason, profile=profile)
        return Miss.UNUSABLE

    def _claimed(self, task_id: int, claimant: claims.Claimant, delivery: _Delivery) -> None:
        log.info("task_assigned", task_id=task_id, runner_id=claimant.runner_id)
        delivery.task_ids.append(task_id)
        if claimant.request_key:
            self._keys.add(hash((claimant.runner_id, claimant.request_key)))
        if delivery.is_abandoned:
            self._release_soon(delivery)

    def _release_soon(self, delivery: _Delivery) -> None:
        """Release what a cancelled fetch claimed; called again if its last claim commits only later."""
        due, delivery.task_ids = delivery.task_ids, []
        if due and self._profile.claim_release:
            self._supervisor.start(self._release_quietly(due), name="release-claims")

    async def _release_quietly(self, task_ids: Sequence[int]) -> None:
        try:
            await self.release(task_ids)
        except Refusal as refusal:
            log.warning("claim_release_failed", task_ids=task_ids, reason=refusal.message)

    async def _recovered(self, record: RunnerRecord, request_key: str) -> tuple[Assignment, ...]:
        """Return what this runner was given under this key before, with fresh tokens."""
        if not request_key or not self._profile.request_key or hash((record.id, request_key)) not in self._keys:
            return ()
        task_ids = await self._store.read(lambda conn: claims.tasks_of_key(conn, record.id, request_key))
        renewals = [(task_id, self._claimant(record, request_key)) for task_id in task_ids]

        def intent(tx: Tx) -> tuple[Assignment, ...]:
            return tuple(
                self._builder.build(tx, claims.renew_token(tx, task_id, claimant)) for task_id, claimant in renewals
            )

        try:
            return await self._store.write(intent)
        except AssignmentFailed as failure:
            raise ServerFault(f"pick task: {failure.message}") from failure

    def _claimant(self, record: RunnerRecord, request_key: str) -> claims.Claimant:
        return claims.Claimant(
            runner_id=record.id,
            runner_name=record.name,
            request_key=request_key if self._profile.request_key else "",
            token=self._randomness.token_hex(),
            salt=self._randomness.salt(self._profile.token_salt_length),
        )
