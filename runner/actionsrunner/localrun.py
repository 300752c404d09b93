"""A workflow file as tasks, the way a server would cut it: one job and one matrix combination each.

Pure: what is run, in which order, with which payload. Knows nothing of processes and terminals. It does for `exec`
only what a server does elsewhere, so concurrency, max-parallel and fail-fast are left out.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from actionsrunner.core.seams import Need, TaskSpec
from actionsrunner.engine.contexts import needs_context
from actionsrunner.engine.fields import FieldError, evaluate_field
from actionsrunner.engine.matrix import MatrixError, expand_matrix
from actionswire.expressions import Scope, to_text
from actionswire.result import Result
from actionswire.workflow_yaml import WorkflowYamlError, dump, load

_WORST_FIRST: Final = (Result.FAILURE, Result.CANCELLED, Result.SUCCESS, Result.SKIPPED)


class WorkflowUnusable(Exception):
    """The file is no workflow that can be run; the text names the field."""


@dataclass(frozen=True, slots=True)
class LocalJob:
    """One job of the file, not yet expanded."""

    id: str
    needs: tuple[str, ...]
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalSettings:
    """What `exec` is told beside the file."""

    event: str = "push"
    secrets: Mapping[str, str] = field(default_factory=dict)
    vars: Mapping[str, str] = field(default_factory=dict)


def read_workflow(text: bytes) -> Mapping[str, Any]:
    """Return the workflow.

    Raises:
        WorkflowUnusable: it is not YAML, or has no jobs.
    """
    try:
        workflow = load(text)
    except WorkflowYamlError as error:
        raise WorkflowUnusable(str(error)) from error
    if not isinstance(workflow, dict) or not isinstance(workflow.get("jobs"), dict) or not workflow["jobs"]:
        raise WorkflowUnusable("`jobs` is missing or is not a mapping with at least one job")
    return workflow


def order_jobs(workflow: Mapping[str, Any], only: str = "") -> list[LocalJob]:
    """Return the jobs so that each comes after those it needs; with ``only``, that job and what it needs.

    Raises:
        WorkflowUnusable: an unknown job, or jobs that need each other in a circle.
    """
    jobs = {str(name): _read_job(str(name), body) for name, body in workflow["jobs"].items()}
    if only and only not in jobs:
        raise WorkflowUnusable(f"there is no job `{only}`; the file has {', '.join(jobs)}")
    ordered: dict[str, LocalJob] = {}
    for name in [only] if only else list(jobs):
        _visit(name, jobs, ordered, path=())
    return list(ordered.values())


def cut_tasks(
    workflow: Mapping[str, Any], job: LocalJob, needs: Mapping[str, Need], settings: LocalSettings, first_id: int
) -> list[TaskSpec]:
    """Return one task for each matrix combination of ``job``.

    Args:
        workflow: the whole file, whose `env`, `defaults` and `on` every task repeats.
        job: what to cut.
        needs: the ended jobs that it needs.
        settings: event, secrets and variables.
        first_id: id of the first task; the others follow.

    Raises:
        WorkflowUnusable: the matrix cannot be expanded.
    """
    combinations = _combinations(job, needs, settings)
    return [
        TaskSpec(
            id=first_id + number,
            payload=dump({**workflow, "jobs": {job.id: _single(job, combination)}}).encode(),
            context=_context(job, settings),
            secrets=settings.secrets,
            needs=needs,
            vars=settings.vars,
        )
        for number, combination in enumerate(combinations)
    ]


def combination_title(task: TaskSpec, job: LocalJob) -> str:
    """Return how the task is shown, e.g. ``test (3.12, linux)``."""
    reduced = load(task.payload)
    assert isinstance(reduced, dict)
    strategy: Any = reduced["jobs"][job.id].get("strategy") or {}
    values = [to_text(value[0]) for value in strategy.get("matrix", {}).values()]
    return f"{job.id} ({', '.join(values)})" if values else job.id


def worst(results: Iterable[Result]) -> Result:
    """Return the result of a job whose combinations ended with ``results``."""
    found = set(results)
    return next((result for result in _WORST_FIRST if result in found), Result.SKIPPED)


def _read_job(name: str, body: Any) -> LocalJob:
    if not isinstance(body, dict):
        raise WorkflowUnusable(f"jobs.{name}: expected a mapping")
    needs = body.get("needs") or []
    needs = [needs] if isinstance(needs, str) else needs
    if not isinstance(needs, list) or not all(isinstance(item, str) for item in needs):
        raise WorkflowUnusable(f"jobs.{name}.needs: expected a job id or a list of them")
    return LocalJob(name, tuple(needs), body)


def _visit(name: str, jobs: Mapping[str, LocalJob], ordered: dict[str, LocalJob], *, path: Sequence[str]) -> None:
    if name in ordered:
        return
    if name in path:
        raise WorkflowUnusable(f"jobs need each other in a circle: {' -> '.join([*path, name])}")
    for needed in jobs[name].needs:
        if needed not in jobs:
            raise WorkflowUnusable(f"jobs.{name}.needs: there is no job `{needed}`")
        _visit(needed, jobs, ordered, path=(*path, name))
    ordered[name] = jobs[name]


def _combinations(job: LocalJob, needs: Mapping[str, Need], settings: LocalSettings) -> list[dict[str, Any]]:
    strategy = job.body.get("strategy") or {}
    if not isinstance(strategy, dict):
        raise WorkflowUnusable(f"jobs.{job.id}.strategy: expected a mapping")
    scope = Scope({"needs": needs_context(needs), "vars": dict(settings.vars), "github": _context(job, settings)})
    try:
        matrix = evaluate_field(strategy.get("matrix"), scope, f"jobs.{job.id}.strategy.matrix")
        return expand_matrix(matrix)
    except (FieldError, MatrixError) as error:
        raise WorkflowUnusable(f"jobs.{job.id}: {error}") from error


def _single(job: LocalJob, combination: Mapping[str, Any]) -> dict[str, Any]:
    body = {key: value for key, value in job.body.items() if key != "needs"}
    if combination:
        matrix = {key: [value] for key, value in combination.items()}
        body["strategy"] = {**body["strategy"], "matrix": matrix}
    return body


def _context(job: LocalJob, settings: LocalSettings) -> dict[str, Any]:
    return {
        "event_name": settings.event,
        "event": {},
        "job": job.id,
        "actor": "local",
        "repository": "local/local",
        "repository_owner": "local",
        "ref": "refs/heads/main",
        "ref_name": "main",
        "ref_type": "branch",
        "sha": "0" * 40,
        "run_id": "1",
        "run_number": "1",
        "run_attempt": "1",
        "server_url": "",
    }
