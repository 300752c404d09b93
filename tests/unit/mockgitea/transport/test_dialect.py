import pytest

from actionswire.codes import Code
from mockgitea.core.calls import Outcome
from mockgitea.core.errors import BadRegistration, LimitExceeded, LogSealed, NotRegistered, Refusal, ServerFault
from mockgitea.core.profiles import Dialect
from mockgitea.transport.dialect import grpc_name, in_dialect

UNREGISTERED = "rpc error: code = Unauthenticated desc = unregistered runner"
ARCHIVED = "rpc error: code = AlreadyExists desc = log file has been archived"


@pytest.mark.parametrize(
    ("refusal", "dialect", "code", "message"),
    [
        (NotRegistered(), Dialect.A, Code.UNKNOWN, UNREGISTERED),
        (NotRegistered(), Dialect.B, Code.UNAUTHENTICATED, "unregistered runner"),
        (NotRegistered(), Dialect.C, Code.UNAUTHENTICATED, "unregistered runner"),
        (ServerFault("pick task: x"), Dialect.A, Code.UNKNOWN, "rpc error: code = Internal desc = pick task: x"),
        (ServerFault("pick task: x"), Dialect.B, Code.INTERNAL, "pick task: x"),
        (ServerFault("pick task: x"), Dialect.C, Code.UNKNOWN, "rpc error: code = Internal desc = pick task: x"),
        (LogSealed(), Dialect.A, Code.UNKNOWN, ARCHIVED),
        (LogSealed(), Dialect.B, Code.ALREADY_EXISTS, "log file has been archived"),
        (LogSealed(), Dialect.C, Code.UNKNOWN, ARCHIVED),
        (BadRegistration("missing runner token, name"), Dialect.A, Code.UNKNOWN, "missing runner token, name"),
        (BadRegistration("missing runner token, name"), Dialect.B, Code.INVALID_ARGUMENT, "missing runner token, name"),
        (BadRegistration("missing runner token, name"), Dialect.C, Code.UNKNOWN, "missing runner token, name"),
        (LimitExceeded("full"), Dialect.A, Code.RESOURCE_EXHAUSTED, "full"),
    ],
)
def test_refusal_in_dialect_travels_as_a_real_server_sends_it(
    refusal: Refusal, dialect: Dialect, code: Code, message: str
) -> None:
    error = in_dialect(refusal, dialect)
    assert (error.code, error.message) == (code, message)
    assert error.outcome.value == refusal.code.value


def test_outcome_keeps_the_genuine_code_in_every_dialect() -> None:
    assert {in_dialect(NotRegistered(), dialect).outcome for dialect in Dialect} == {Outcome.UNAUTHENTICATED}


def test_grpc_name_joins_the_words() -> None:
    assert [grpc_name(code) for code in (Code.ALREADY_EXISTS, Code.INTERNAL, Code.CANCELED)] == [
        "AlreadyExists",
        "Internal",
        "Canceled",
    ]
