"""Refusals: what a peer may hear when a request cannot be served. Flat on purpose; no common base class for callers.

Each class carries the Connect code a correct server would use; `transport/` alone turns it into bytes in the
profile's dialect. Source: docs/protocol.md, "Errors".
"""

from typing import ClassVar

from actionswire.codes import Code


class Refusal(Exception):
    """A request that is answered with an error on purpose.

    ``message`` travels to the peer, so it never holds a secret. ``plain`` marks the messages that Gitea builds as
    plain errors (Register's checks): in dialects A and C they travel verbatim, without the gRPC wrapping.
    """

    code: ClassVar[Code] = Code.INTERNAL
    plain: ClassVar[bool] = False
    http_status: ClassVar[int | None] = None
    """Status for REST and control answers where it differs from the Connect mapping."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.field = field
        """Name of the offending request field, for REST and control answers; empty when there is none."""


class NotRegistered(Refusal):
    """The caller is no known runner: header missing, UUID unknown, runner deleted or token wrong, never told apart."""

    code = Code.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("unregistered runner")


class BadAuthorization(Refusal):
    """A call of a job's own tools came without a bearer token."""

    code = Code.UNAUTHENTICATED

    def __init__(self) -> None:
        super().__init__("Bad authorization header")


class BadRegistration(Refusal):
    """Register was refused because of what the caller sent."""

    code = Code.INVALID_ARGUMENT
    plain = True


class RegistrationFault(Refusal):
    """Register failed for a reason on the server's side: the token's owner is gone, the row could not be made."""

    code = Code.INTERNAL
    plain = True


class ServerFault(Refusal):
    """An operation failed inside the server; the text is the one a real server shows (`pick task: ...`)."""

    code = Code.INTERNAL


class LogSealed(Refusal):
    """Rows arrived after the log was moved to storage."""

    code = Code.ALREADY_EXISTS

    def __init__(self) -> None:
        super().__init__("log file has been archived")


class InvalidInput(Refusal):
    """A request field is wrong; ``field`` names it and the message says how to fix it."""

    code = Code.INVALID_ARGUMENT


class Unprocessable(InvalidInput):
    """Like `InvalidInput`, answered 422 over REST, as Gitea does for failed validation."""

    http_status = 422


class NotFound(Refusal):
    """The named thing does not exist."""

    code = Code.NOT_FOUND


class Conflict(Refusal):
    """The request is well formed but the state of things forbids it."""

    code = Code.ALREADY_EXISTS
    http_status = 409


class LimitExceeded(Refusal):
    """A stated limit was passed; nothing of the request was kept."""

    code = Code.RESOURCE_EXHAUSTED


class Forbidden(Refusal):
    """The caller is known but may not do this."""

    code = Code.PERMISSION_DENIED
