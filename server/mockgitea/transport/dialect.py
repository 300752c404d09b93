"""Refusals become wire errors here and nowhere else: the three dialects in which real servers report them.

Gitea builds its errors with the gRPC status library, which the Connect library does not recognise as coded; so up to
1.27 the code that the source names is not what arrives.
Source: docs/protocol.md, "Errors".
"""

from typing import Final

from actionswire.codes import HTTP_STATUS, Code
from mockgitea.core.calls import OUTCOME_OF_CODE, Outcome
from mockgitea.core.errors import Refusal
from mockgitea.core.profiles import Dialect

_GENUINE_EVERYWHERE: Final = frozenset({Code.RESOURCE_EXHAUSTED, Code.DEADLINE_EXCEEDED})
"""Limits of our own and bare deadlines: no Gitea handler wraps them, so they keep their code in every dialect."""


class WireError(Exception):
    """An error as it travels.

    Args:
        code: Connect code in the answer.
        message: text in the answer.
        outcome: what journal and counters say, default the code itself.
        is_plain_text: the answer is a text page, as from a server whose handler crashed; a client derives the code
            from the status.
    """

    def __init__(
        self, code: Code, message: str, *, outcome: Outcome | None = None, is_plain_text: bool = False
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.outcome = OUTCOME_OF_CODE[code] if outcome is None else outcome
        self.is_plain_text = is_plain_text

    @property
    def http_status(self) -> int:
        """Return the HTTP status that belongs to the code."""
        return HTTP_STATUS[self.code]


def grpc_name(code: Code) -> str:
    """Return a code as Go's gRPC library prints it, e.g. ``AlreadyExists``."""
    return "".join(word.capitalize() for word in code.value.split("_"))


def in_dialect(refusal: Refusal, dialect: Dialect) -> WireError:
    """Return the error a server of this dialect sends for ``refusal``."""
    code = refusal.code
    outcome = OUTCOME_OF_CODE[code]
    is_genuine = (
        dialect is Dialect.B or code in _GENUINE_EVERYWHERE or (dialect is Dialect.C and code is Code.UNAUTHENTICATED)
    )
    if is_genuine:
        return WireError(code, refusal.message, outcome=outcome)
    if refusal.plain:
        return WireError(Code.UNKNOWN, refusal.message, outcome=outcome)
    text = f"rpc error: code = {grpc_name(code)} desc = {refusal.message}"
    return WireError(Code.UNKNOWN, text, outcome=outcome)
