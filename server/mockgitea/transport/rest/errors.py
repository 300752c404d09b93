"""Errors of REST v1 as Gitea shows them: `{"message", "url"}`, where the url leads to the API's description."""

from typing import Final

from actionswire.codes import Code
from mockgitea.core.errors import Refusal

TARGET_NOT_FOUND: Final = "The target couldn't be found."


class RestRefusal(Refusal):
    """A refusal with a status of its own.

    Args:
        status: HTTP status.
        message: what the caller reads.
        headers: extra response headers.
    """

    code = Code.UNKNOWN

    def __init__(self, status: int, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


def not_found(message: str = TARGET_NOT_FOUND) -> RestRefusal:
    """Build the 404 of something that does not exist, or that this caller may not see."""
    return RestRefusal(404, message)


def bad_request(message: str) -> RestRefusal:
    """Build the 400 of a parameter that cannot be right."""
    return RestRefusal(400, message)


def unprocessable(message: str) -> RestRefusal:
    """Build the 422 of a body that fails validation."""
    return RestRefusal(422, message)
