"""Name a task's steps from the job's payload, as the page shows them.

Source: docs/protocol.md, "FetchTask".
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final

from actionswire.workflow_yaml import WorkflowYamlError, load
from mockgitea.core.claimed import AssignmentFailed

NAME_MAX: Final = 255
_PAYLOADS_REMEMBERED: Final = 256
"""A matrix of equal steps, or one job run often, is parsed once."""


@lru_cache(maxsize=_PAYLOADS_REMEMBERED)
def step_names(payload: bytes, rule: str) -> tuple[str, ...]:
    """Return one name per step of the payload's only job.

    Args:
        payload: the single-job workflow.
        rule: ``run-first-line`` or ``first-non-empty``, see `Profile.step_name`.

    Raises:
        AssignmentFailed: the payload is not a workflow with exactly one job whose steps are a list of mappings.
    """
    try:
        document = load(payload.decode())
    except (WorkflowYamlError, UnicodeDecodeError) as error:
        raise AssignmentFailed(f"payload: {error}") from error
    jobs = document.get("jobs") if isinstance(document, Mapping) else None
    if not isinstance(jobs, Mapping) or len(jobs) != 1:
        raise AssignmentFailed("payload: must hold exactly one job")
    ((job_id, job),) = jobs.items()
    steps = job.get("steps", ()) if isinstance(job, Mapping) else None
    if steps is None:
        steps = ()
    if not isinstance(job, Mapping) or isinstance(steps, str) or not isinstance(steps, Sequence):
        raise AssignmentFailed(f"jobs.{job_id}.steps: must be a list")
    return tuple(_name(step, rule, f"jobs.{job_id}.steps[{number}]") for number, step in enumerate(steps))


def _name(step: object, rule: str, field: str) -> str:
    if not isinstance(step, Mapping):
        raise AssignmentFailed(f"{field}: must be a mapping")
    name, run, uses, step_id = (_text(step.get(key)) for key in ("name", "run", "uses", "id"))
    if rule == "first-non-empty":
        return (name or uses or run or step_id)[:NAME_MAX]
    first_line = next((line.strip() for line in run.splitlines() if line.strip()), "")
    return (name or f"Run {first_line or uses or step_id}")[:NAME_MAX]


def _text(value: object) -> str:
    return "" if value is None else str(value)
