"""What an unsuccessful call means to the runner, as a value the state machines can act on.

Owns the reaction table by code and the one table of server texts; knows nothing of HTTP or of messages.
"""

from enum import StrEnum
from typing import Final

from actionswire.codes import Code, code_from_http


class Failure(StrEnum):
    """Why a call brought no answer, reduced to what the caller does about it."""

    DEADLINE = "deadline"
    """Our own deadline passed; the server may nevertheless have acted on the call."""
    UNREGISTERED = "unregistered"
    """The server does not know this runner (any more): stop for good."""
    TASK_GONE = "task_gone"
    """The task is not ours or does not exist: nothing we report about it will ever be stored."""
    LOG_SEALED = "log_sealed"
    """The server closed the task's log: no row will be stored, the state still may."""
    UNIMPLEMENTED = "unimplemented"
    """The server has no such method."""
    RETRY = "retry"
    """Transient or unknown: back off, then call again."""
    REFUSED = "refused"
    """The server understood the call and will not do it."""
    TOO_LARGE = "too_large"
    """Somebody on the way takes no body of this size: never send the same one again."""


_BY_CODE: Final[dict[Code, Failure]] = {
    Code.UNAUTHENTICATED: Failure.UNREGISTERED,
    # The only already_exists a runner meets is that of UpdateLog on a sealed log.
    Code.ALREADY_EXISTS: Failure.LOG_SEALED,
    Code.UNIMPLEMENTED: Failure.UNIMPLEMENTED,
    Code.UNAVAILABLE: Failure.RETRY,
    # A deadline_exceeded *answer* is the server's error; only our own deadline is Failure.DEADLINE.
    Code.DEADLINE_EXCEEDED: Failure.RETRY,
    Code.RESOURCE_EXHAUSTED: Failure.RETRY,
    Code.ABORTED: Failure.RETRY,
    Code.CANCELED: Failure.RETRY,
    Code.DATA_LOSS: Failure.RETRY,
    # Today's servers say it in their texts; a report that is answered with one of these will not get another answer.
    Code.NOT_FOUND: Failure.TASK_GONE,
    Code.FAILED_PRECONDITION: Failure.TASK_GONE,
    # Gitea up to 1.27 reports nearly everything as unknown, and a bug page (500) reads as unknown too.
    Code.UNKNOWN: Failure.RETRY,
    Code.INTERNAL: Failure.RETRY,
    Code.INVALID_ARGUMENT: Failure.REFUSED,
    Code.PERMISSION_DENIED: Failure.REFUSED,
    Code.OUT_OF_RANGE: Failure.REFUSED,
}

_PAYLOAD_TOO_LARGE: Final = 413

_VAGUE: Final = frozenset({Code.UNKNOWN, Code.INTERNAL})
"""The codes whose message has to be read, since these servers put every cause under them."""

_BY_TEXT: Final[tuple[tuple[str, Failure], ...]] = (
    ("unregistered runner", Failure.UNREGISTERED),
    ("invalid runner for task", Failure.TASK_GONE),
    ("resource does not exist", Failure.TASK_GONE),
    ("log file has been archived", Failure.LOG_SEALED),
)
"""Texts inside messages such as ``rpc error: code = Unauthenticated desc = unregistered runner``."""


def classify(code: Code, message: str) -> Failure:
    """Reduce an error answer to what it means for the runner.

    Args:
        code: the Connect code, from the body or inferred from the HTTP status.
        message: the server's text; read only where the code says nothing.

    Source: docs/protocol.md, "Errors".
    """
    if code in _VAGUE:
        for text, failure in _BY_TEXT:
            if text in message:
                return failure
    return _BY_CODE[code]


def classify_foreign(status: int, content_type: str) -> Failure:
    """Reduce an error answer that the service itself did not write.

    A proxy, a sign-on page or a bug page says nothing about the runner, whatever its status: it never costs a
    registration. Only the server's router is believed, which answers in plain text where it has no such method.

    Args:
        status: the HTTP status.
        content_type: of the answer, as it came.
    """
    if status == _PAYLOAD_TOO_LARGE:
        return Failure.TOO_LARGE
    is_plain = content_type.partition(";")[0].strip() == "text/plain"
    return Failure.UNIMPLEMENTED if is_plain and code_from_http(status) is Code.UNIMPLEMENTED else Failure.RETRY
