"""Protobuf messages to and from the runner's own values. Knows no socket and makes no decision."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from actionsrunner.core.rows import Row
from actionsrunner.core.seams import Need, TaskSpec
from actionsrunner.core.taskstate import StepReport, TaskReport
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result

_UNTOUCHED: Final = StepReport()


def read_task(task: pb.Task) -> TaskSpec:
    """Return the task free of protobuf."""
    context: dict[str, Any] = MessageToDict(task.context) if task.HasField("context") else {}
    return TaskSpec(
        id=task.id,
        payload=task.workflow_payload,
        context=context,
        secrets=dict(task.secrets),
        needs={job: Need(read_result(need.result), dict(need.outputs)) for job, need in task.needs.items()},
        vars=dict(task.vars),
    )


def read_result(number: int) -> Result:
    """Return the result of a wire number; one that a newer server may know counts as a failure."""
    try:
        return Result(number)
    except ValueError:
        return Result.FAILURE


def write_rows(task_id: int, index: int, rows: Sequence[Row], *, no_more: bool) -> pb.UpdateLogRequest:
    """Return the UpdateLog request for ``rows``, the first of which has the absolute number ``index``."""
    request = pb.UpdateLogRequest(task_id=task_id, index=index, no_more=no_more)
    add, stamp, stamp_us = request.rows.add, None, None
    for at_us, content in rows:
        if at_us != stamp_us:  # rows of one burst share theirs
            stamp, stamp_us = _stamp(at_us), at_us
        add(time=stamp, content=content)
    return request


class StateWriter:
    """Writes the UpdateTask requests of one task; what is as it was in the last one is not written again."""

    def __init__(self) -> None:
        self._report: TaskReport | None = None
        self._outputs: Mapping[str, str] = {}
        self._request = pb.UpdateTaskRequest()
        self._steps: list[pb.StepState] = []

    def write(self, report: TaskReport, outputs: Mapping[str, str]) -> pb.UpdateTaskRequest:
        """Return the UpdateTask request for ``report``; it stays as it is until the next call."""
        last = self._report
        if last is not None and last == report and self._outputs == outputs:
            return self._request
        self._write_steps(report.steps, last.steps if last is not None else ())
        self._report, self._outputs = report, dict(outputs)
        state = pb.TaskState(
            id=report.task_id,
            result=_number(report.result),
            started_at=_stamp(report.started_us),
            stopped_at=_stamp(report.stopped_us),
            steps=self._steps,
        )
        self._request = pb.UpdateTaskRequest(state=state, outputs=outputs)
        return self._request

    def _write_steps(self, steps: Sequence[StepReport], before: Sequence[StepReport]) -> None:
        written = self._steps
        if len(steps) != len(before):
            self._steps = [_step(index, step) for index, step in enumerate(steps)]
            return
        for index, (step, old) in enumerate(zip(steps, before, strict=True)):
            if step is not old and step != old:
                written[index] = _step(index, step)


def _step(index: int, step: StepReport) -> pb.StepState:
    if step == _UNTOUCHED:
        return pb.StepState(id=index)
    return pb.StepState(
        id=index,
        result=_number(step.result),
        started_at=_stamp(step.started_us),
        stopped_at=_stamp(step.stopped_us),
        log_index=step.log_index,
        log_length=step.log_length,
    )


def _number(result: Result) -> pb.Result:
    # At run time an enum of protobuf is a plain number; only the stubs make a class of it.
    return cast("pb.Result", int(result))


def _stamp(at_us: int | None) -> Timestamp | None:
    if at_us is None:
        return None
    seconds, micros = divmod(at_us, 1_000_000)
    return Timestamp(seconds=seconds, nanos=micros * 1_000)
