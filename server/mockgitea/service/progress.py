"""UpdateTask: heartbeats, step states, results and outputs of a task, and what follows from its end.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

import structlog

from actionswire.result import Result, Status
from mockgitea.core.errors import ServerFault
from mockgitea.core.messages import StepReport, TaskAnswer, TaskReport
from mockgitea.core.profiles import Profile
from mockgitea.core.task_progress import (
    StepRow,
    advance_again,
    advance_steps,
    closing_status,
    storable_outputs,
    with_changes,
)
from mockgitea.core.task_times import whole_seconds
from mockgitea.service.directory import RunnerRecord
from mockgitea.storage import jobs, outputs, runners, tasks, versions
from mockgitea.storage.commit_status import write_job_statuses
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Store, Tx
from mockgitea.storage.tasks import TaskHead

log = structlog.get_logger(__name__)


REMEMBERED_MAX: Final = 20_000
"""Tasks whose last report is remembered; the oldest is forgotten first."""


class _Remembered:
    """The last report of an unfinished task, and its steps after it. Only reports change the steps of such a task.

    Written where intents run, in their order, and believed once its own transaction is durable.
    """

    __slots__ = ("answer", "head", "is_durable", "reports", "stored")

    def __init__(
        self, head: TaskHead, reports: tuple[StepReport, ...], stored: tuple[StepRow, ...], answer: TaskAnswer
    ) -> None:
        self.head = head
        self.reports = reports
        self.stored = stored
        self.answer = answer
        self.is_durable = False

    def confirm(self) -> None:
        """Say that the report is stored."""
        self.is_durable = True


class _Applied(NamedTuple):
    answer: TaskAnswer
    was_final: bool


class Progress:
    """Applies what runners report.

    Args:
        store: where tasks live.
        profile: the imitated server.
    """

    def __init__(self, *, store: Store, profile: Profile) -> None:
        self._store = store
        self._profile = profile
        self._remembered: dict[int, _Remembered] = {}

    def clear(self) -> None:
        """Forget every report, after the store was wiped."""
        self._remembered.clear()

    async def update_task(self, record: RunnerRecord, report: TaskReport, sent: Mapping[str, str]) -> TaskAnswer:
        """Store one report and return what the server holds.

        Args:
            record: the authenticated runner.
            report: the state; result 0 is a heartbeat.
            sent: job outputs; of each key the first value wins.

        Raises:
            ServerFault: no such task, or it belongs to another runner.
        """
        kept = storable_outputs(sent) if sent else {}
        if dropped := len(sent) - len(kept):
            log.warning("outputs_dropped", task_id=report.task_id, dropped=dropped)
        applied = await self._store.write(lambda tx: self._apply(tx, record, report, kept))
        if report.result is not Result.UNSPECIFIED and not applied.was_final:
            log.info("task_finished", task_id=report.task_id, result=applied.answer.result.text)
        return applied.answer

    def _apply(self, tx: Tx, record: RunnerRecord, report: TaskReport, kept: Mapping[str, str]) -> _Applied:
        if not kept and report.result is Result.UNSPECIFIED:
            answer = self._heartbeat(tx, record, report)
            if answer is not None:
                return _Applied(answer, was_final=False)
        head = tasks.find(tx, report.task_id)
        if head is None:
            raise ServerFault("update task: resource does not exist")
        if head.runner_id != record.id and self._profile.requires_task_owner:
            raise ServerFault("update task: invalid runner for task")
        status: Status = head.status
        stored: tuple[StepRow, ...] = ()
        if not head.status.is_final:
            status, stored = self._advance(tx, head, report)
        outputs.add(tx, report.task_id, kept)
        if report.result is not Result.UNSPECIFIED:
            self._follow_up(tx, record, head)
        answer = TaskAnswer(report.task_id, status.as_result, outputs.keys(tx.conn, report.task_id))
        self._remembered.pop(report.task_id, None)
        if not head.status.is_final and report.result is Result.UNSPECIFIED:
            self._remember(tx, _Remembered(head, report.steps, stored, answer))
        return _Applied(answer, was_final=head.status.is_final)

    def _heartbeat(self, tx: Tx, record: RunnerRecord, report: TaskReport) -> TaskAnswer | None:
        """Store a report of a task that is as the last report left it, without reading what is remembered.

        Returns:
            None, and nothing is written, when it is not, or when nothing is remembered.
        """
        held = self._remembered.get(report.task_id)
        if held is None or not held.is_durable:
            return None
        head = held.head
        if head.runner_id != record.id and self._profile.requires_task_owner:
            return None
        if not tasks.touch_if(tx, report.task_id, head):
            return None
        if held.reports != report.steps:
            changed = advance_again(held.stored, held.reports, report.steps)
            tasks.write_steps(tx, report.task_id, changed)
            del self._remembered[report.task_id]
            stored = with_changes(held.stored, changed)
            self._remember(tx, _Remembered(head, report.steps, stored, held.answer))
        return held.answer

    def _remember(self, tx: Tx, held: _Remembered) -> None:
        if len(self._remembered) >= REMEMBERED_MAX:
            self._remembered.pop(next(iter(self._remembered)), None)
        self._remembered[held.answer.task_id] = held
        tx.on_commit(held.confirm)

    def _advance(self, tx: Tx, head: TaskHead, report: TaskReport) -> tuple[Status, tuple[StepRow, ...]]:
        """Store the state of an unfinished task; return its status and its steps afterwards."""
        task_id, status = report.task_id, head.status
        stored = tasks.steps(tx, task_id)
        changed = advance_steps(stored, report.steps)
        tasks.write_steps(tx, task_id, changed)
        if report.result is Result.UNSPECIFIED:
            tasks.touch(tx, task_id)
            return status, with_changes(stored, changed)
        status = closing_status(status, report.result)
        stopped = whole_seconds(report.stopped_us)
        tasks.set_columns(tx, task_id, {"status": int(status), "stopped_us": stopped})
        if self._profile.has_ephemeral:
            runners.remove_if_ephemeral(tx, head.runner_id)
        jobs.finish_job(tx, head.job_id, status, profile=self._profile, stopped_us=stopped, task_id=task_id)
        return status, ()

    def _follow_up(self, tx: Tx, record: RunnerRecord, head: TaskHead) -> None:
        """What a report with a result causes every time it arrives, not only the first."""
        tx.announce(RunNeedsResolving(head.run_id))
        write_job_statuses(tx, [head.job_id], profile=self._profile)
        if self._profile.bump_on_final_update:
            versions.bump(tx, record.owner_id, record.repo_id)
        if self._profile.removes_ephemeral_on_final_update:
            runners.remove_if_ephemeral(tx, head.runner_id)
