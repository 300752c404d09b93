import pytest

from actionswire.codes import Code
from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from fakeservices import FakeRunner, assignment
from mockgitea.core.messages import Need
from mockgitea.transport import convert
from mockgitea.transport.dialect import WireError


def test_task_message_is_the_byte_vector_when_decoded() -> None:
    vector = (
        "0a37080912 01781a0f0a0d0a0672756e5f696412031a0133 22060a01411201623 20f0a016a120a0a060a016f120170 1001"
        "3a060a01561201771002"
    ).replace(" ", "")
    expected = pb.FetchTaskResponse.FromString(bytes.fromhex(vector))
    made = convert.task_message(
        assignment(9, secrets={"A": "b"}, vars={"V": "w"}, needs={"j": Need(Result.SUCCESS, {"o": "p"})})
    )
    assert pb.FetchTaskResponse(task=made, tasks_version=2) == expected


def test_task_message_keeps_nested_context() -> None:
    made = convert.task_message(assignment(context={"event": {"a": [1, None, True, {"b": "c"}]}, "run_id": "3"}))
    assert made.context["event"]["a"][3]["b"] == "c"
    assert made.HasField("workflow_payload")


def test_runner_message_is_the_byte_vector() -> None:
    runner = FakeRunner(id=7, uuid="u", name="r1", version="v1", labels=("linux",))
    made = pb.RegisterResponse(runner=convert.runner_message(runner, token="t", ephemeral=True))
    assert made.SerializeToString() == bytes.fromhex("0a19 0807 120175 1a0174 22027231 42027631 4a056c696e7578 5001")


def test_go_zero_time_is_accepted() -> None:
    row = pb.LogRow(content="x")
    row.time.seconds = -62_135_596_800
    assert convert.log_rows([row]) == [(convert.TIME_NS_MIN, "x")]


def test_a_row_without_time_is_1970() -> None:
    assert convert.log_rows([pb.LogRow(content="x")]) == [(0, "x")]


@pytest.mark.parametrize("seconds", [-62_135_596_801, 253_402_300_800])
def test_times_outside_the_years_1_to_9999_are_refused(seconds: int) -> None:
    row = pb.LogRow()
    row.time.seconds = seconds
    with pytest.raises(WireError, match=r"^rows\[0\]\.time:") as caught:
        convert.log_rows([row])
    assert caught.value.code is Code.INVALID_ARGUMENT


def test_task_report_of_a_heartbeat_has_no_times() -> None:
    report = convert.task_report(pb.TaskState(id=9))
    assert (report.task_id, report.result, report.started_us, report.steps) == (9, Result.UNSPECIFIED, 0, ())
