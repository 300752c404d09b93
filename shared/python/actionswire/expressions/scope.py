"""What an expression may see: contexts, the status of the job, and the files of the workspace.

The caller fills it; nothing here reads the outside world.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from actionswire.expressions.values import Value, lookup

_STATUS_WITHOUT_A_JOB = {"success": True, "failure": False, "cancelled": False, "always": True}


@dataclass(frozen=True)
class Scope:
    """The surroundings of one evaluation.

    Attributes:
        contexts: context name -> value, found without regard to case; a name that is missing here is an error in an
            expression, a name whose value is None is a context without content.
        status: answers ``success``, ``failure``, ``cancelled`` and ``always``; None means a job in which nothing has
            happened yet.
        hash_files: answers ``hashFiles`` for its patterns; may raise OSError or ValueError, which becomes an
            ExpressionError; None means that the function is not available here.
    """

    contexts: Mapping[str, Value] = field(default_factory=dict)
    status: Callable[[str], bool] | None = None
    hash_files: Callable[[Sequence[str]], str] | None = None

    def find(self, name: str) -> tuple[bool, Value]:
        """Return (found, value) of the context ``name``."""
        return lookup(self.contexts, name)

    def ask_status(self, name: str) -> bool:
        """Return what the status function ``name`` (lower case) says."""
        return _STATUS_WITHOUT_A_JOB[name] if self.status is None else self.status(name)
