"""What the server knows of a workflow file, as frozen values.

Holds the parts that decide which jobs exist and when they may start; everything else of the file travels to the
runner as written. Knows nothing of YAML text, events that happened, or the database.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from actionswire.expressions import Value

DISPATCH: Final = "workflow_dispatch"
CALL: Final = "workflow_call"


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSpec:
    """One entry of `on.workflow_dispatch.inputs`."""

    name: str
    type: str = "string"
    """``string``, ``boolean``, ``number``, ``choice`` or ``environment``."""
    is_required: bool = False
    default: Value = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Trigger:
    """One event name under `on`, with its filters as written."""

    event: str
    filters: Mapping[str, Value] = field(default_factory=dict)
    inputs: Mapping[str, InputSpec] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConcurrencySpec:
    """A `concurrency` block as written: ``group`` may hold expressions, ``cancel`` is None when not given."""

    group: str
    cancel: Value = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowJob:
    """One entry of `jobs`, before its matrix is expanded."""

    job_id: str
    name: str = ""
    """As written; empty = the job id."""
    needs: tuple[str, ...] = ()
    runs_on: Value = None
    if_text: str = ""
    """Condition as written; empty = none."""
    matrix: Value = None
    continue_on_error: Value = None
    concurrency: ConcurrencySpec | None = None
    body: Mapping[str, Value]
    """The whole job as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow:
    """A checked workflow file."""

    name: str = ""
    run_name: str = ""
    triggers: Mapping[str, Trigger]
    concurrency: ConcurrencySpec | None = None
    jobs: tuple[WorkflowJob, ...]
    document: Mapping[str, Value]
    """The whole file as loaded."""

    def job(self, job_id: str) -> WorkflowJob:
        """Return the job of this id; an unknown id is our own mistake."""
        return next(job for job in self.jobs if job.job_id == job_id)
