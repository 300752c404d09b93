"""Protobuf messages to plain values and back; the only knowledge of generated code besides the method table.

Values that no runner can mean (times outside the years 1 to 9999, unknown results) are refused with the field named,
in both codecs alike. Source: docs/protocol.md, "Messages".
"""

from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from google.protobuf.timestamp_pb2 import Timestamp

from actionswire.codes import Code
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from mockgitea.core.messages import Assignment, LogRow, Registering, StepReport, TaskReport
from mockgitea.transport.dialect import WireError

SECOND_NS: Final = 1_000_000_000
TIME_NS_MIN: Final = -62_135_596_800 * SECOND_NS
"""0001-01-01T00:00:00Z; Go's zero time, which old runners do send."""
TIME_NS_MAX: Final = 253_402_300_800 * SECOND_NS
"""Exclusive: 10000-01-01T00:00:00Z."""

_RESULTS: Final = {int(result): result for result in Result}


class Runner(Protocol):
    """What an answer shows of a runner."""

    id: int
    uuid: str
    name: str
    version: str
    labels: tuple[str, ...]


def registering(request: pb.RegisterRequest) -> Registering:
    """Read a Register request."""
    return Registering(
        name=request.name,
        token=request.token,
        version=request.version,
        labels=tuple(request.labels),
        agent_labels=tuple(request.agent_labels),
        ephemeral=request.ephemeral,
        capabilities=tuple(request.capabilities),
    )


def runner_message(record: Runner, *, token: str = "", ephemeral: bool = False) -> pb.Runner:
    """Return a runner as Register and Declare answer it; ``status`` is never filled."""
    return pb.Runner(
        id=record.id,
        uuid=record.uuid,
        token=token,
        name=record.name,
        version=record.version,
        labels=record.labels,
        ephemeral=ephemeral,
    )


def task_message(assignment: Assignment) -> pb.Task:
    """Return a task as a fetch delivers it."""
    task = pb.Task(
        id=assignment.task_id,
        workflow_payload=assignment.payload,
        secrets=dict(assignment.secrets),
        vars=dict(assignment.vars),
        needs={
            job_id: pb.TaskNeed(outputs=dict(need.outputs), result=pb.Result.Name(need.result))
            for job_id, need in assignment.needs.items()
        },
    )
    task.context.update(dict(assignment.context))
    return task


def task_report(state: pb.TaskState) -> TaskReport:
    """Read the state part of UpdateTask."""
    return TaskReport(
        task_id=state.id,
        result=_result(state.result, "result"),
        started_us=_time_us(state.started_at, "started_at"),
        stopped_us=_time_us(state.stopped_at, "stopped_at"),
        steps=tuple([_step_report(step, position) for position, step in enumerate(state.steps)]),
    )


def log_rows(rows: Iterable[pb.LogRow]) -> Sequence[LogRow]:
    """Read the rows of UpdateLog; a missing time is 1970."""
    found: list[LogRow] = []
    for position, row in enumerate(rows):
        time = row.time
        at_ns = time.seconds * SECOND_NS + time.nanos
        if not TIME_NS_MIN <= at_ns < TIME_NS_MAX:
            raise _bad_time(f"rows[{position}].time")
        found.append((at_ns, row.content))
    return found


def _step_report(step: pb.StepState, position: int) -> StepReport:
    return StepReport(
        step.id,
        _result(step.result, "result", position),
        _time_us(step.started_at, "started_at", position) if step.HasField("started_at") else 0,
        _time_us(step.stopped_at, "stopped_at", position) if step.HasField("stopped_at") else 0,
        step.log_index,
        step.log_length,
    )


def _time_us(time: Timestamp, field: str, step: int = -1) -> int:
    at_ns: int = time.seconds * SECOND_NS + time.nanos
    if not TIME_NS_MIN <= at_ns < TIME_NS_MAX:
        raise _bad_time(_place(field, step))
    return at_ns // 1000


def _place(field: str, step: int) -> str:
    return f"state.{field}" if step < 0 else f"state.steps[{step}].{field}"


def _bad_time(field: str) -> WireError:
    return WireError(Code.INVALID_ARGUMENT, f"{field}: outside the years 1 to 9999; send the time the row or step had")


def _result(number: int, field: str, step: int = -1) -> Result:
    found = _RESULTS.get(number)
    if found is None:
        place = _place(field, step)
        raise WireError(Code.INVALID_ARGUMENT, f"{place}: unknown result {number}; use 0 to 4")
    return found
