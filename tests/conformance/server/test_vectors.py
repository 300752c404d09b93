"""Byte vectors of the schema: both families' messages, field by field."""

import pytest
from google.protobuf.json_format import ParseDict
from google.protobuf.message import Message

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb

TIME = "2023-11-14T22:13:20.500Z"

VECTORS: list[tuple[type[Message], dict[str, object], str]] = [
    (ping_pb2.PingRequest, {"data": "r1"}, "0a 02 72 31"),
    (ping_pb2.PingResponse, {"data": "Hello, r1!"}, "0a 0a 48 65 6c 6c 6f 2c 20 72 31 21"),
    (
        pb.RegisterRequest,
        {
            "name": "r1", "token": "T", "agentLabels": ["linux"], "version": "v1", "labels": ["linux"],
            "ephemeral": True, "capabilities": ["cancelling"],
        },
        "0a 02 72 31 12 01 54 1a 05 6c 69 6e 75 78 2a 02 76 31 32 05 6c 69 6e 75 78 38 01 42 0a 63 61 6e 63 65 6c 6c 69"
        " 6e 67",
    ),
    (
        pb.RegisterResponse,
        {
            "runner": {
                "id": 7, "uuid": "u", "token": "t", "name": "r1", "version": "v1", "labels": ["linux"],
                "ephemeral": True,
            }
        },
        "0a 19 08 07 12 01 75 1a 01 74 22 02 72 31 42 02 76 31 4a 05 6c 69 6e 75 78 50 01",
    ),
    (
        pb.DeclareRequest,
        {"version": "v1", "labels": ["linux"], "capabilities": ["cancelling"]},
        "0a 02 76 31 12 05 6c 69 6e 75 78 1a 0a 63 61 6e 63 65 6c 6c 69 6e 67",
    ),
    (pb.FetchTaskRequest, {}, ""),
    (pb.FetchTaskRequest, {"tasksVersion": 5}, "08 05"),
    (pb.FetchTaskRequest, {"tasksVersion": 5, "taskCapacity": 0}, "08 05 10 00"),
    (pb.FetchTaskRequest, {"tasksVersion": 5, "taskCapacity": 3}, "08 05 10 03"),
    (pb.FetchTaskResponse, {"tasksVersion": 1}, "10 01"),
    (
        pb.FetchTaskResponse,
        {"task": {"id": 1}, "tasksVersion": 2, "additionalTasks": [{"id": 2}]},
        "0a 02 08 01 10 02 1a 02 08 02",
    ),
    (
        pb.FetchTaskResponse,
        {
            "task": {
                "id": 9, "workflowPayload": "eA==", "context": {"run_id": "3"}, "secrets": {"A": "b"},
                "needs": {"j": {"outputs": {"o": "p"}, "result": "RESULT_SUCCESS"}}, "vars": {"V": "w"},
            },
            "tasksVersion": 2,
        },
        "0a 37 08 09 12 01 78 1a 0f 0a 0d 0a 06 72 75 6e 5f 69 64 12 03 1a 01 33 22 06 0a 01 41 12 01 62 32 0f 0a 01 6a"
        " 12 0a 0a 06 0a 01 6f 12 01 70 10 01 3a 06 0a 01 56 12 01 77 10 02",
    ),
    (pb.FetchSingleTaskRequest, {"handle": "h"}, "12 01 68"),
    (pb.FetchSingleTaskResponse, {"tasksVersion": 2, "task": {"id": 1}}, "08 02 12 02 08 01"),
    (pb.UpdateTaskRequest, {"state": {"id": 9}}, "0a 02 08 09"),
    (
        pb.UpdateTaskRequest,
        {
            "state": {
                "id": 9, "result": "RESULT_SUCCESS", "startedAt": TIME, "stoppedAt": TIME,
                "steps": [{"id": 0, "result": "RESULT_SUCCESS", "logIndex": 2, "logLength": 3}],
            },
            "outputs": {"k": "v"},
        },
        "0a 28 08 09 10 01 1a 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 22 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 2a 06 10"
        " 01 28 02 30 03 12 06 0a 01 6b 12 01 76",
    ),
    (
        pb.UpdateTaskResponse,
        {"state": {"id": 9, "result": "RESULT_CANCELLED"}, "sentOutputs": ["k"]},
        "0a 04 08 09 10 03 12 01 6b",
    ),
    (
        pb.UpdateLogRequest,
        {"taskId": 9, "index": 4, "rows": [{"time": TIME, "content": "hi"}], "noMore": True},
        "08 09 10 04 1a 12 0a 0c 08 80 e2 cf aa 06 10 80 ca b5 ee 01 12 02 68 69 20 01",
    ),
    (pb.UpdateLogResponse, {"ackIndex": 5}, "08 05"),
    (pb.UpdateLogResponse, {}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("message", "fields", "octets"), VECTORS, ids=lambda value: getattr(value, "__name__", ""))
def test_vector_encodes_and_decodes(message: type[Message], fields: dict[str, object], octets: str) -> None:
    expected = ParseDict(fields, message())
    data = bytes.fromhex(octets)
    assert message.FromString(data) == expected
    assert expected.SerializeToString(deterministic=True) == data
