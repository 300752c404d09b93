"""What a running job knows: its plan, its environment, its contexts, and what its steps have left so far.

Owns the scopes in which expressions are evaluated. It starts no process and reports nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from actionsrunner.core.masking import Masker
from actionsrunner.core.seams import TaskSpec
from actionsrunner.core.summaries import SUMMARIES_BYTES_MAX, cut
from actionsrunner.engine.directories import JobDirectories
from actionsrunner.engine.environment import JobEnvironment
from actionsrunner.engine.hashfiles import hash_files
from actionsrunner.engine.options import EngineOptions
from actionsrunner.engine.plan import JobPlan, StepPlan
from actionswire.expressions import Scope, Value
from actionswire.result import Result

ALL_CONTEXTS = ("env", "job", "jobs", "matrix", "needs", "runner", "secrets", "steps", "strategy", "vars", "inputs")
"""Known everywhere: a context that is not available in some key is empty there, not an error."""


@dataclass(slots=True, kw_only=True)
class JobState:
    """The mutable middle of a job; ``contexts`` holds those that stay the same in all steps."""

    task: TaskSpec
    plan: JobPlan
    options: EngineOptions
    directories: JobDirectories
    environment: JobEnvironment
    contexts: Mapping[str, Value]
    masker: Masker
    debug: bool
    status: Result = Result.SUCCESS
    steps: dict[str, Value] = field(default_factory=dict)
    summaries: dict[int, str] = field(default_factory=dict)

    def scope(self, env: Mapping[str, str]) -> Scope:
        """Build the scope for a step or for what follows the last one.

        Args:
            env: what the context `env` holds.
        """
        contexts = {
            **dict.fromkeys(ALL_CONTEXTS),
            **self.contexts,
            "env": dict(env),
            "steps": dict(self.steps),
            "job": {"status": self.status.text},
        }
        return Scope(contexts, self._ask_status, self._hash_files)

    def _ask_status(self, name: str) -> bool:
        match name:
            case "success":
                return self.status is Result.SUCCESS
            case "failure":
                return self.status is Result.FAILURE
            case "cancelled":
                return self.status is Result.CANCELLED
            case _:
                return True

    def _hash_files(self, patterns: Sequence[str]) -> str:
        return hash_files(self.directories.workspace, patterns)

    def keep_summary(self, step: StepPlan, text: str) -> None:
        """Keep what a step wrote into its summary, masked, as far as the job has room for it."""
        room = SUMMARIES_BYTES_MAX - sum(len(kept.encode("utf-8", "replace")) for kept in self.summaries.values())
        if kept := cut(self.masker.mask(text), room):
            self.summaries[step.index] = kept

    def record(self, step: StepPlan, outcome: Result, conclusion: Result, outputs: Mapping[str, str]) -> None:
        """Enter a finished step into the context `steps`; of equal ids, without regard to case, the last one stays."""
        for known in [known for known in self.steps if known.lower() == step.id.lower()]:
            del self.steps[known]
        self.steps[step.id] = {
            "outputs": dict(outputs),
            "outcome": outcome.text,
            "conclusion": conclusion.text,
        }
        if conclusion is Result.FAILURE and self.status is Result.SUCCESS:
            self.status = Result.FAILURE
