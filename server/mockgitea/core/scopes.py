"""What an expression on the server may see, per key of the workflow.

A context that a key does not have is empty rather than an error, as on the real servers; nothing here holds a secret.
Source: docs/workflows.md, "Expressions on the server".
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from actionswire.expressions import Scope, Value

_WITHOUT_CONTENT: Final = ("env", "secrets", "steps", "job", "runner")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The contexts that hold for a whole run."""

    github: Mapping[str, Value]
    inputs: Mapping[str, Value] = field(default_factory=dict)
    vars: Mapping[str, str] = field(default_factory=dict)

    def scope(
        self,
        *,
        needs: Mapping[str, Value] | None = None,
        matrix: Mapping[str, Value] | None = None,
        strategy: Value = None,
        status: Callable[[str], bool] | None = None,
    ) -> Scope:
        """Return the scope of one evaluation.

        Args:
            needs: needed jobs by id, each with ``result`` and ``outputs``.
            matrix: the combination.
            strategy: `strategy` as written, without its matrix.
            status: what success(), failure(), cancelled() and always() answer.
        """
        contexts: dict[str, Value] = dict.fromkeys(_WITHOUT_CONTENT)
        contexts |= dict.fromkeys(("github", "gitea", "forgejo", "forge"), self.github)
        contexts |= {
            "inputs": dict(self.inputs),
            "matrix": None if matrix is None else dict(matrix),
            "needs": None if needs is None else dict(needs),
            "strategy": strategy,
            "vars": dict(self.vars),
        }
        return Scope(contexts=contexts, status=status)
