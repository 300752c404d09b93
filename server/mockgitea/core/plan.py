"""Turn a checked workflow into the jobs of one run: matrix, names, labels and payloads.

An expression that fails here spoils its own job only: that job is planned with a reason and fails when the run is
made, and the others go on. Source: docs/workflows.md, "Birth of jobs".
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from actionswire.expressions import ExpressionError, Scope, Value, contexts_used, evaluate_template, expand, interpolate
from actionswire.expressions.values import is_array, is_object
from mockgitea.core.errors import InvalidInput
from mockgitea.core.matrix import Combination, expand_matrix, matrix_name
from mockgitea.core.payload import reduce_job, write_payload
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow_fields import OPENING, bad_expression
from mockgitea.core.workflow_jobs import JOBS_PER_RUN_MAX, labels_of
from mockgitea.core.workflow_model import ConcurrencySpec, Workflow, WorkflowJob


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJob:
    """One future job row."""

    job_id: str
    name: str
    payload: bytes
    needs: tuple[str, ...] = ()
    runs_on: tuple[str, ...] = ()
    if_text: str = ""
    continues_on_error: bool = False
    matrix: Mapping[str, Value] | None = None
    concurrency: ConcurrencySpec | None = None
    failure_reason: str = ""
    """Why the job cannot exist as written; it then fails at once."""


def plan_jobs(workflow: Workflow, surroundings: Surroundings, *, puts_off: bool = False) -> tuple[PlannedJob, ...]:
    """Plan every job of a run, in the order of the file and then of the combinations' names.

    Args:
        workflow: the checked file.
        surroundings: contexts of the run.
        puts_off: plan a placeholder for a job that reads its needs; `plan_job` replaces it once they are done.

    Returns:
        1..JOBS_PER_RUN_MAX jobs; past that limit the job whose matrix is too large fails alone.
    Source: docs/workflows.md, "Birth of jobs".
    """
    planned: list[PlannedJob] = []
    left = len(workflow.jobs)
    for job in workflow.jobs:
        left -= 1
        if puts_off and reads_needs(job):
            siblings: tuple[PlannedJob, ...] = (_placeholder(workflow, job),)
        else:
            siblings = plan_job(workflow, job, surroundings)
        if len(planned) + len(siblings) + left > JOBS_PER_RUN_MAX:
            field = f"jobs.{job.job_id}.strategy.matrix"
            reason = f"{field}: the run would have more than {JOBS_PER_RUN_MAX} jobs"
            siblings = (replace(_placeholder(workflow, job), failure_reason=reason),)
        planned += siblings
    return tuple(planned)


def plan_job(
    workflow: Workflow, job: WorkflowJob, surroundings: Surroundings, *, needs: Mapping[str, Value] | None = None
) -> tuple[PlannedJob, ...]:
    """Plan the combinations of one job.

    Args:
        workflow: the checked file.
        job: one of its jobs.
        surroundings: contexts of the run.
        needs: finished needs, when the job was put off until they are known.

    Returns:
        At least one job.
    """
    field = f"jobs.{job.job_id}"
    if needs is None and reads_needs(job):
        reason = f"{field}: its matrix or runs-on reads `needs`, which this server does not know when it makes the jobs"
        return (replace(_placeholder(workflow, job), failure_reason=reason),)
    try:
        combinations = _combinations(job, surroundings.scope(needs=needs), f"{field}.strategy.matrix")
        return tuple(_combination(workflow, job, combination, surroundings, needs) for combination in combinations)
    except InvalidInput as error:
        return (replace(_placeholder(workflow, job), failure_reason=error.message),)


def reads_needs(job: WorkflowJob) -> bool:
    """Tell whether the matrix or `runs-on` of a job can only be known once its needs are done."""
    return any("needs" in contexts_used(text) for text in _templates([job.matrix, job.runs_on]))


def evaluated_flag(value: Value, scope: Scope, field: str) -> bool:
    """Evaluate a boolean that may be an expression; anything but true counts as false.

    Raises:
        InvalidInput: the expression fails.
    """
    if not isinstance(value, str):
        return value is True
    return _evaluated(value, scope, field) in (True, "true")


def evaluated_text(value: str, scope: Scope, field: str) -> str:
    """Evaluate a text with expressions.

    Raises:
        InvalidInput: an expression fails.
    """
    try:
        return interpolate(value, scope)
    except ExpressionError as error:
        raise bad_expression(error, field) from error


def _combination(
    workflow: Workflow,
    job: WorkflowJob,
    matrix: Combination | None,
    surroundings: Surroundings,
    needs: Mapping[str, Value] | None,
) -> PlannedJob:
    field = f"jobs.{job.job_id}"
    written = job.body.get("strategy")
    strategy = {key: value for key, value in written.items() if key != "matrix"} if is_object(written) else None
    scope = surroundings.scope(needs=needs, matrix=matrix, strategy=strategy)
    name = evaluated_text(job.name or job.job_id, scope, f"{field}.name")
    if matrix and OPENING not in job.name:
        name = f"{name} {matrix_name(matrix)}"
    runs_on = labels_of(_expanded(job.runs_on, scope, f"{field}.runs-on"), f"{field}.runs-on")
    body = reduce_job(job, name=name, matrix=matrix, runs_on=runs_on)
    return PlannedJob(
        job_id=job.job_id,
        name=name,
        payload=write_payload(workflow.document, job.job_id, body),
        needs=job.needs,
        runs_on=runs_on,
        if_text=job.if_text,
        continues_on_error=evaluated_flag(job.continue_on_error, scope, f"{field}.continue-on-error"),
        matrix=matrix,
        concurrency=job.concurrency,
    )


def _combinations(job: WorkflowJob, scope: Scope, field: str) -> tuple[Combination | None, ...]:
    if job.matrix is None:
        return (None,)
    return expand_matrix(_expanded(job.matrix, scope, field), field)


def _placeholder(workflow: Workflow, job: WorkflowJob) -> PlannedJob:
    """Plan a job whose expressions are not evaluated, or cannot be."""
    body = {key: value for key, value in job.body.items() if key != "needs"}
    return PlannedJob(
        job_id=job.job_id,
        name=job.name or job.job_id,
        payload=write_payload(workflow.document, job.job_id, body),
        needs=job.needs,
        if_text=job.if_text,
        concurrency=job.concurrency,
    )


def _evaluated(value: str, scope: Scope, field: str) -> Value:
    try:
        return evaluate_template(value, scope)
    except ExpressionError as error:
        raise bad_expression(error, field) from error


def _expanded(value: Value, scope: Scope, field: str) -> Value:
    try:
        return expand(value, scope)
    except ExpressionError as error:
        raise bad_expression(error, field) from error


def _templates(value: Value) -> list[str]:
    """List the texts with expressions inside ``value``."""
    if isinstance(value, str):
        return [value] if OPENING in value else []
    if is_object(value):
        return [text for item in value.values() for text in _templates(item)]
    return [text for item in value for text in _templates(item)] if is_array(value) else []
