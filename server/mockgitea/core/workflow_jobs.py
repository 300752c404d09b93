"""Read `jobs` and `concurrency`: what the server needs of each job, and whether the graph of needs is sound.

Source: docs/workflows.md, "Jobs".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from actionswire.expressions import Value
from actionswire.expressions.values import is_array, is_object
from mockgitea.core.errors import InvalidInput
from mockgitea.core.matrix import expand_matrix
from mockgitea.core.workflow_fields import (
    OPENING,
    check_expressions,
    condition,
    has_expression,
    kind_of,
    mapping,
    text,
    texts,
)
from mockgitea.core.workflow_model import ConcurrencySpec, WorkflowJob

JOBS_PER_RUN_MAX: Final = 256
"""Jobs of one run, matrix combinations counted one by one."""
STEPS_PER_JOB_MAX: Final = 1000
RUNS_ON_MAX: Final = 50

_JOB_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")


def read_jobs(value: Value) -> tuple[WorkflowJob, ...]:
    """Read the `jobs` of a workflow.

    Raises:
        InvalidInput: missing, too many, a job that cannot be read, unknown needs or a cycle.
    """
    if value is None:
        raise InvalidInput("jobs: is missing or empty; a workflow needs at least one job", field="jobs")
    entries = mapping(value, "jobs", "give each job an id")
    if not entries:
        raise InvalidInput("jobs: is empty; a workflow needs at least one job", field="jobs")
    if len(entries) > JOBS_PER_RUN_MAX:
        raise _too_many(len(entries))
    jobs = tuple(_job(job_id, body) for job_id, body in entries.items())
    _check_static_count(jobs)
    _check_needs(jobs)
    return jobs


def read_concurrency(value: Value, field: str) -> ConcurrencySpec | None:
    """Read a `concurrency` block: a group, or a mapping of `group` and `cancel-in-progress`.

    Raises:
        InvalidInput: no group, or a value of the wrong kind.
    """
    if value is None:
        return None
    given = value if is_object(value) else {"group": value}
    group, cancel = given.get("group"), given.get("cancel-in-progress")
    written = text(group, f"{field}.group")
    check_expressions(written, f"{field}.group")
    if cancel is not None and not isinstance(cancel, bool) and not (isinstance(cancel, str) and OPENING in cancel):
        raise InvalidInput(
            f"{field}.cancel-in-progress: must be true, false or an expression, not {kind_of(cancel)}",
            field=f"{field}.cancel-in-progress",
        )
    check_expressions(cancel, f"{field}.cancel-in-progress")
    return ConcurrencySpec(written, cancel)


def labels_of(value: Value, field: str) -> tuple[str, ...]:
    """Return the labels of a `runs-on` whose expressions are evaluated: a text, a list, or group and labels.

    Raises:
        InvalidInput: another shape, or too many.
    """
    if is_object(value):
        unknown = [key for key in value if key not in ("group", "labels")]
        if unknown:
            raise InvalidInput(f"{field}.{unknown[0]}: unknown; write group and labels", field=f"{field}.{unknown[0]}")
        group = text(value.get("group"), f"{field}.group")
        labels = texts(value.get("labels"), f"{field}.labels") + ((group,) if group else ())
    else:
        labels = texts(value, field)
    if len(labels) > RUNS_ON_MAX:
        raise InvalidInput(f"{field}: has {len(labels)} labels, more than {RUNS_ON_MAX}", field=field)
    return labels


def _job(job_id: str, value: Value) -> WorkflowJob:
    field = f"jobs.{job_id}"
    if not _JOB_ID.fullmatch(job_id):
        raise InvalidInput(
            f"{field}: is no job id; use letters, digits, _ and -, starting with a letter or _ (at most 100)",
            field=field,
        )
    body = mapping(value, field, "give it `runs-on` and `steps`")
    _check_steps(body, field)
    for key in ("name", "runs-on", "continue-on-error"):
        check_expressions(body.get(key), f"{field}.{key}")
    if not has_expression(body.get("runs-on")):
        labels_of(body.get("runs-on"), f"{field}.runs-on")
    return WorkflowJob(
        job_id=job_id,
        name=text(body.get("name"), f"{field}.name"),
        needs=tuple(dict.fromkeys(texts(body.get("needs"), f"{field}.needs"))),
        runs_on=body.get("runs-on"),
        if_text=condition(body.get("if"), f"{field}.if"),
        matrix=_matrix(body.get("strategy"), f"{field}.strategy"),
        continue_on_error=_continue_on_error(body.get("continue-on-error"), f"{field}.continue-on-error"),
        concurrency=read_concurrency(body.get("concurrency"), f"{field}.concurrency"),
        body=body,
    )


def _check_steps(body: Mapping[str, Value], field: str) -> None:
    if body.get("uses") is not None:
        raise InvalidInput(
            f"{field}.uses: reusable workflows are not supported yet; copy the called jobs into this file",
            field=f"{field}.uses",
        )
    steps = body.get("steps")
    if not is_array(steps) or not steps:
        raise InvalidInput(f"{field}.steps: must be a list of at least one step", field=f"{field}.steps")
    if len(steps) > STEPS_PER_JOB_MAX:
        raise InvalidInput(
            f"{field}.steps: has {len(steps)} steps, more than {STEPS_PER_JOB_MAX}", field=f"{field}.steps"
        )
    for index, step in enumerate(steps):
        mapping(step, f"{field}.steps[{index}]", "write e.g. `run: echo hello`")


def _matrix(strategy: Value, field: str) -> Value:
    if strategy is None:
        return None
    matrix = mapping(strategy, field, "put `matrix` below it").get("matrix")
    if matrix is None:
        return None
    check_expressions(matrix, f"{field}.matrix")
    if has_expression(matrix):
        if not is_object(matrix) and not isinstance(matrix, str):
            raise InvalidInput(f"{field}.matrix: must be a mapping, not {kind_of(matrix)}", field=f"{field}.matrix")
    else:
        expand_matrix(matrix, f"{field}.matrix")
    return matrix


def _continue_on_error(value: Value, field: str) -> Value:
    if value is None or isinstance(value, bool) or (isinstance(value, str) and OPENING in value):
        return value
    raise InvalidInput(f"{field}: must be true, false or an expression, not {kind_of(value)}", field=field)


def _check_static_count(jobs: Sequence[WorkflowJob]) -> None:
    """Count what is known before evaluation; a matrix with expressions counts as one here."""
    count = 0
    for job in jobs:
        is_static = job.matrix is not None and not has_expression(job.matrix)
        count += len(expand_matrix(job.matrix, f"jobs.{job.job_id}.strategy.matrix")) if is_static else 1
    if count > JOBS_PER_RUN_MAX:
        raise _too_many(count)


def _too_many(count: int) -> InvalidInput:
    return InvalidInput(f"jobs: {count} jobs, more than {JOBS_PER_RUN_MAX}; split the workflow", field="jobs")


def _check_needs(jobs: Sequence[WorkflowJob]) -> None:
    known = {job.job_id: job for job in jobs}
    for job in jobs:
        for index, need in enumerate(job.needs):
            field = f"jobs.{job.job_id}.needs[{index}]"
            if need == job.job_id:
                raise InvalidInput(f"{field}: a job cannot need itself; remove {need!r}", field=field)
            if need not in known:
                raise InvalidInput(f"{field}: no job {need!r}; the jobs are {', '.join(known)}", field=field)
    cycle = _find_cycle(known)
    if cycle:
        field = f"jobs.{cycle[0]}.needs"
        raise InvalidInput(f"{field}: a cycle: {' -> '.join(cycle)}; remove one of these needs", field=field)


def _find_cycle(jobs: Mapping[str, WorkflowJob]) -> list[str]:
    """Return one cycle, its first job repeated at the end, or nothing. Peels off jobs whose needs are all peeled."""
    left = dict(jobs)
    while ready := [job_id for job_id, job in left.items() if not any(need in left for need in job.needs)]:
        for job_id in ready:
            del left[job_id]
    if not left:
        return []
    path = [next(iter(left))]
    while (following := next(need for need in left[path[-1]].needs if need in left)) not in path:
        path.append(following)
    return [*path[path.index(following) :], following]
