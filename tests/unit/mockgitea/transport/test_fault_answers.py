"""What changing rules do to one answer, and that they leave alone what another rule has broken already."""

import gzip

import pytest

from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.core.calls import Method
from mockgitea.core.faults import Fault, FaultKind, Hit
from mockgitea.transport.connect import Headers
from mockgitea.transport.fault_answers import Answer, changed

TOO_HIGH = Hit(Fault(name="f", kind=FaultKind.WRONG_ACK, rows=3))
PROTO: Headers = [(b"content-type", b"application/proto")]
GZIP: Headers = [*PROTO, (b"content-encoding", b"gzip")]
ACK = pb.UpdateLogResponse(ack_index=5).SerializeToString()


@pytest.mark.parametrize(("headers", "body"), [(PROTO, ACK), (GZIP, gzip.compress(ACK, mtime=0))])
def test_a_wrong_ack_moves_the_index(headers: Headers, body: bytes) -> None:
    answer = changed(TOO_HIGH, Answer(200, headers, body), Method.UPDATE_LOG)
    raw = gzip.decompress(answer.body) if headers is GZIP else answer.body
    assert pb.UpdateLogResponse.FromString(raw).ack_index == 8


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        (PROTO, b"\xff\xff"),
        (GZIP, gzip.compress(ACK, mtime=0)[:-4]),
        (GZIP, b"not gzip"),
        (GZIP, gzip.compress(ACK, mtime=0)[:12] + b"\xff" * 9),
        ([(b"content-type", b"application/json")], b"{"),
    ],
)
def test_a_wrong_ack_leaves_an_answer_alone_that_is_broken_already(headers: Headers, body: bytes) -> None:
    answer = Answer(200, headers, body)
    assert changed(TOO_HIGH, answer, Method.UPDATE_LOG) == answer
