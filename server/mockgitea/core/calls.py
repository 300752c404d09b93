"""The two closed vocabularies of calls, shared by journal, counters, faults and metrics.

Only these words become metric labels, so their number is fixed however many runners, tasks and paths there are.
Source: docs/metrics.md, "Outcomes".
"""

from enum import StrEnum
from typing import Final

from actionswire.codes import Code


class Method(StrEnum):
    """What a call asked for."""

    PING = "Ping"
    REGISTER = "Register"
    DECLARE = "Declare"
    FETCH_TASK = "FetchTask"
    FETCH_SINGLE_TASK = "FetchSingleTask"
    UPDATE_TASK = "UpdateTask"
    UPDATE_LOG = "UpdateLog"
    UNKNOWN_RPC = "unknown-rpc"
    """Below the RPC prefix, but no method that the profile has."""
    REST = "rest"
    """Below `/api/`, the RPC prefix excepted."""
    PAGE = "page"
    """Everything else on the runner port."""


class Outcome(StrEnum):
    """How a call ended. Errors carry the genuine code, whatever dialect it travelled in."""

    OPEN = "open"
    """Still in progress; never counted."""
    OK = "ok"
    TASK = "task"
    """A fetch that handed out at least one task."""
    EMPTY = "empty"
    """A fetch without a task."""
    REFUSED = "refused"
    """A fault answered instead of the server."""
    ABANDONED = "abandoned"
    """The caller went away, or the server stopped, before the answer was sent."""
    DROPPED = "dropped"
    """A fault kept the answer, or a part of it, from the caller."""
    CANCELED = Code.CANCELED
    UNKNOWN = Code.UNKNOWN
    INVALID_ARGUMENT = Code.INVALID_ARGUMENT
    DEADLINE_EXCEEDED = Code.DEADLINE_EXCEEDED
    NOT_FOUND = Code.NOT_FOUND
    ALREADY_EXISTS = Code.ALREADY_EXISTS
    PERMISSION_DENIED = Code.PERMISSION_DENIED
    RESOURCE_EXHAUSTED = Code.RESOURCE_EXHAUSTED
    FAILED_PRECONDITION = Code.FAILED_PRECONDITION
    ABORTED = Code.ABORTED
    OUT_OF_RANGE = Code.OUT_OF_RANGE
    UNIMPLEMENTED = Code.UNIMPLEMENTED
    INTERNAL = Code.INTERNAL
    UNAVAILABLE = Code.UNAVAILABLE
    DATA_LOSS = Code.DATA_LOSS
    UNAUTHENTICATED = Code.UNAUTHENTICATED


OUTCOME_OF_CODE: Final[dict[Code, Outcome]] = {code: Outcome(code.value) for code in Code}

_OF_STATUS: Final[dict[int, Outcome]] = {
    400: Outcome.INVALID_ARGUMENT,
    401: Outcome.UNAUTHENTICATED,
    403: Outcome.PERMISSION_DENIED,
    404: Outcome.NOT_FOUND,
    405: Outcome.UNIMPLEMENTED,
    409: Outcome.ALREADY_EXISTS,
    413: Outcome.RESOURCE_EXHAUSTED,
    415: Outcome.INVALID_ARGUMENT,
    422: Outcome.INVALID_ARGUMENT,
    429: Outcome.RESOURCE_EXHAUSTED,
    503: Outcome.UNAVAILABLE,
    504: Outcome.DEADLINE_EXCEEDED,
}


def outcome_of_status(status: int) -> Outcome:
    """Return the outcome of an answer that is no RPC, from its HTTP status."""
    if status < 400:
        return Outcome.OK
    found = _OF_STATUS.get(status)
    if found is not None:
        return found
    return Outcome.INTERNAL if status >= 500 else Outcome.FAILED_PRECONDITION
