"""UpdateTask: heartbeats, step states, results and outputs of a task, and what follows from its end.

Source: docs/protocol.md, "UpdateTask".
"""

from collections.abc import Mapping
from dataclasses import dataclass

import structlog
from sqlalchemy import RowMapping

from actionswire.result import Result, Status
from mockgitea.core.errors import ServerFault
from mockgitea.core.messages import TaskAnswer, TaskReport
from mockgitea.core.profiles import Profile
from mockgitea.core.task_progress import advance_steps, closing_status, storable_outputs
from mockgitea.core.task_times import whole_seconds
from mockgitea.service.directory import RunnerRecord
from mockgitea.storage import jobs, outputs, runners, tasks, versions
from mockgitea.storage.commit_status import write_job_statuses
from mockgitea.storage.facts import RunNeedsResolving
from mockgitea.storage.interface import Store, Tx

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Applied:
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

    async def update_task(self, record: RunnerRecord, report: TaskReport, sent: Mapping[str, str]) -> TaskAnswer:
        """Store one report and return what the server holds.

        Args:
            record: the authenticated runner.
            report: the state; result 0 is a heartbeat.
            sent: job outputs; of each key the first value wins.

        Raises:
            ServerFault: no such task, or it belongs to another runner.
        """
        kept = storable_outputs(sent)
        if dropped := len(sent) - len(kept):
            log.warning("outputs_dropped", task_id=report.task_id, dropped=dropped)
        applied = await self._store.write(lambda tx: self._apply(tx, record, report, kept))
        if report.result is not Result.UNSPECIFIED and not applied.was_final:
            log.info("task_finished", task_id=report.task_id, result=applied.answer.result.text)
        return applied.answer

    def _apply(self, tx: Tx, record: RunnerRecord, report: TaskReport, kept: Mapping[str, str]) -> _Applied:
        row = tasks.find(tx, report.task_id)
        if row is None:
            raise ServerFault("update task: resource does not exist")
        if row["runner_id"] != record.id and self._profile.requires_task_owner:
            raise ServerFault("update task: invalid runner for task")
        status = stored = Status(row["status"])
        if not stored.is_final:
            status = self._advance(tx, row, report)
        outputs.add(tx, report.task_id, kept)
        if report.result is not Result.UNSPECIFIED:
            self._follow_up(tx, record, row)
        answer = TaskAnswer(report.task_id, status.as_result, outputs.keys(tx.conn, report.task_id))
        return _Applied(answer, was_final=stored.is_final)

    def _advance(self, tx: Tx, row: RowMapping, report: TaskReport) -> Status:
        """Store the state of an unfinished task and return its status afterwards."""
        task_id, status = report.task_id, Status(row["status"])
        tasks.write_steps(tx, task_id, advance_steps(tasks.steps(tx, task_id), report.steps))
        if report.result is Result.UNSPECIFIED:
            tasks.set_columns(tx, task_id, {})
            return status
        status = closing_status(status, report.result)
        stopped = whole_seconds(report.stopped_us)
        tasks.set_columns(tx, task_id, {"status": int(status), "stopped_us": stopped})
        if self._profile.has_ephemeral:
            runners.remove_if_ephemeral(tx, row["runner_id"])
        jobs.finish_job(tx, row["job_id"], status, profile=self._profile, stopped_us=stopped, task_id=task_id)
        return status

    def _follow_up(self, tx: Tx, record: RunnerRecord, row: RowMapping) -> None:
        """What a report with a result causes every time it arrives, not only the first."""
        tx.announce(RunNeedsResolving(row["run_id"]))
        write_job_statuses(tx, [row["job_id"]], profile=self._profile)
        if self._profile.bump_on_final_update:
            versions.bump(tx, record.owner_id, record.repo_id)
        if self._profile.removes_ephemeral_on_final_update:
            runners.remove_if_ephemeral(tx, row["runner_id"])
