"""Codes and texts of servers, reduced to what the runner does."""

import pytest

from actionsrunner.core.failures import Failure, classify, classify_foreign
from actionswire.codes import Code


@pytest.mark.parametrize("code", list(Code))
def test_every_code_has_a_meaning(code: Code) -> None:
    assert classify(code, "") in Failure


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (Code.UNAUTHENTICATED, "unregistered runner", Failure.UNREGISTERED),
        (Code.UNAUTHENTICATED, "", Failure.UNREGISTERED),
        (Code.UNKNOWN, "rpc error: code = Unauthenticated desc = unregistered runner", Failure.UNREGISTERED),
        (Code.UNKNOWN, "rpc error: code = Internal desc = update task: invalid runner for task", Failure.TASK_GONE),
        (Code.INTERNAL, "update task: invalid runner for task", Failure.TASK_GONE),
        (Code.INTERNAL, "get task: task with id 9: resource does not exist", Failure.TASK_GONE),
        (Code.ALREADY_EXISTS, "log file has been archived", Failure.LOG_SEALED),
        (Code.UNKNOWN, "rpc error: code = AlreadyExists desc = log file has been archived", Failure.LOG_SEALED),
        (Code.UNKNOWN, "rpc error: code = Internal desc = pick task: x", Failure.RETRY),
        (Code.INTERNAL, "boom", Failure.RETRY),
        (Code.UNAVAILABLE, "unregistered runner", Failure.RETRY),
        (Code.DEADLINE_EXCEEDED, "", Failure.RETRY),
        (Code.RESOURCE_EXHAUSTED, "", Failure.RETRY),
        (Code.UNIMPLEMENTED, "", Failure.UNIMPLEMENTED),
        (Code.INVALID_ARGUMENT, "", Failure.REFUSED),
        (Code.NOT_FOUND, "no such task", Failure.TASK_GONE),
        (Code.FAILED_PRECONDITION, "the task has ended", Failure.TASK_GONE),
    ],
)
def test_code_and_text_are_classified(code: Code, message: str, expected: Failure) -> None:
    assert classify(code, message) is expected


@pytest.mark.parametrize(
    ("status", "content_type", "expected"),
    [
        (404, "text/plain", Failure.UNIMPLEMENTED),
        (404, "text/plain; charset=utf-8", Failure.UNIMPLEMENTED),
        (404, "text/html", Failure.RETRY),
        (401, "text/html", Failure.RETRY),
        (401, "application/json", Failure.RETRY),
        (403, "text/plain", Failure.RETRY),
        (400, "", Failure.RETRY),
        (502, "text/html", Failure.RETRY),
        (413, "text/html", Failure.TOO_LARGE),
        (413, "", Failure.TOO_LARGE),
    ],
)
def test_answer_of_somebody_else_is_never_the_servers_word(status: int, content_type: str, expected: Failure) -> None:
    assert classify_foreign(status, content_type) is expected
