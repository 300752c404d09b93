"""Messages to and from values, against the byte vectors of the protocol."""

from actionsrunner.core.rows import Row
from actionsrunner.core.seams import Need
from actionsrunner.core.taskstate import StepReport, TaskReport
from actionsrunner.edge.messages import StateWriter, read_result, read_task, write_rows
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result

AT_US = 1_700_000_000_500_000
TASK = (
    "0a 37 08 09 12 01 78 1a 0f 0a 0d 0a 06 72 75 6e 5f 69 64 12 03 1a 01 33 22 06 0a 01 41 12 01 62 32 0f 0a 01 6a "
    "12 0a 0a 06 0a 01 6f 12 01 70 10 01 3a 06 0a 01 56 12 01 77 10 02"
)
STATE = (
    "0a 28 08 09 10 01 1a 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 22 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 2a 06 10 "
    "01 28 02 30 03 12 06 0a 01 6b 12 01 76"
)
LOG = "08 09 10 04 1a 12 0a 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 12 02 68 69 20 01"


def test_task_is_read_free_of_protobuf() -> None:
    answer = pb.FetchTaskResponse.FromString(bytes.fromhex(TASK))
    task = read_task(answer.task)
    assert (task.id, task.payload, task.context) == (9, b"x", {"run_id": "3"})
    assert (task.secrets, task.vars) == ({"A": "b"}, {"V": "w"})
    assert task.needs == {"j": Need(Result.SUCCESS, {"o": "p"})}


def test_task_without_context_and_payload_is_empty() -> None:
    task = read_task(pb.Task(id=1))
    assert (task.payload, task.context, task.needs) == (b"", {}, {})


def test_rows_are_written_as_the_protocol_has_them() -> None:
    request = write_rows(9, 4, [Row(AT_US, "hi")], no_more=True)
    assert request.SerializeToString() == bytes.fromhex(LOG)


def test_state_is_written_as_the_protocol_has_it() -> None:
    report = TaskReport(
        task_id=9,
        result=Result.SUCCESS,
        started_us=AT_US,
        stopped_us=AT_US,
        steps=(StepReport(result=Result.SUCCESS, log_index=2, log_length=3),),
    )
    assert StateWriter().write(report, {"k": "v"}).SerializeToString() == bytes.fromhex(STATE)


def test_a_writer_that_has_written_before_writes_the_same_as_a_new_one() -> None:
    step = StepReport(started_us=AT_US)
    first = TaskReport(task_id=9, result=Result.UNSPECIFIED, started_us=AT_US, stopped_us=None, steps=(step, step))
    grown = first._replace(steps=(step, step._replace(log_length=3)))
    fewer = grown._replace(steps=grown.steps[1:])
    ended = fewer._replace(result=Result.FAILURE, stopped_us=AT_US)
    writer = StateWriter()
    for report, outputs in (
        (first._replace(steps=()), {}), (first, {}), (first, {}), (grown, {}), (grown, {"k": "v"}), (grown, {}),
        (first, {}), (fewer, {}), (ended, {"k": "w"}), (ended, {}),
    ):  # fmt: skip
        assert writer.write(report, outputs) == StateWriter().write(report, outputs)


def test_a_writer_notices_that_the_outputs_it_was_given_have_changed() -> None:
    report = TaskReport(task_id=9, result=Result.UNSPECIFIED, started_us=AT_US, stopped_us=None, steps=())
    outputs = {"k": "v"}
    writer = StateWriter()
    assert writer.write(report, outputs) is writer.write(report, outputs)
    outputs["k"] = "other"
    assert dict(writer.write(report, outputs).outputs) == {"k": "other"}


def test_result_of_a_newer_server_counts_as_failure() -> None:
    assert read_result(3) is Result.CANCELLED
    assert read_result(17) is Result.FAILURE
