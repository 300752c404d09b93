"""From a task's payload to the plan of its one job.

Owns the reading of the workflow's structure: which keys exist, their types, and what is refused before anything runs.
Expressions are left as written; nothing here knows a context, a process or a directory.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from actionswire import workflow_yaml
from actionswire.expressions import Value, to_text

SHOWN_CHARS_MAX: Final = 80


class PlanError(Exception):
    """A payload that cannot be run; the text names the field and what is wrong with it."""

    def __init__(self, message: str, *, step_count: int = 0) -> None:
        super().__init__(message)
        self.step_count = step_count


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPlan:
    """One entry of `steps`, values as written; ``run`` or ``uses`` is set, never both."""

    index: int
    id: str
    run: str | None
    uses: str | None
    condition: Value
    env: Value
    shell: str
    working_directory: str
    continue_on_error: Value
    timeout_minutes: Value

    @property
    def label(self) -> str:
        """How messages name the step."""
        return f"steps[{self.index}]" if self.id == str(self.index) else f"steps[{self.index}] (id `{self.id}`)"


@dataclass(frozen=True, slots=True)
class RunDefaults:
    """`defaults.run` of the workflow or the job; empty text for what is not set."""

    shell: str = ""
    working_directory: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """The job of a payload, with what it inherits from its workflow."""

    key: str
    workflow_name: str
    name: str
    triggers: Value
    condition: Value
    workflow_env: Value
    env: Value
    workflow_defaults: RunDefaults
    defaults: RunDefaults
    strategy: Value
    timeout_minutes: Value
    runs_on: Value
    container: Value
    services: Value
    uses: Value
    outputs: Mapping[str, Value]
    steps: tuple[StepPlan, ...]


def parse_plan(payload: bytes) -> JobPlan:
    """Read a payload.

    Args:
        payload: UTF-8 YAML of a workflow with exactly one job.

    Raises:
        PlanError: not UTF-8, not YAML, no job or several, a field of the wrong type, a step that is null or has both
            or neither of `run` and `uses`.
    Source: docs/running-jobs.md, "What is refused".
    """
    workflow = _load(payload)
    jobs = _mapping(workflow.get("jobs"), "jobs")
    if not jobs:
        raise PlanError("no job found: `jobs` of the workflow is missing or empty")
    if len(jobs) > 1:
        raise PlanError(f"multiple jobs found: {', '.join(jobs)}; a task has exactly one job")
    key, body = next(iter(jobs.items()))
    if not isinstance(body, Mapping):
        raise PlanError(f"jobs.{key} must be a mapping, found {describe(body)}")
    raw_steps = body.get("steps")
    try:
        return _job_plan(workflow, str(key), body)
    except PlanError as error:
        raise PlanError(str(error), step_count=len(raw_steps) if isinstance(raw_steps, list) else 0) from error


def _load(payload: bytes) -> Mapping[str, Value]:
    try:
        workflow = workflow_yaml.load(payload)
    except workflow_yaml.WorkflowYamlError as error:
        raise PlanError(f"the workflow cannot be read: {error}") from error
    if not isinstance(workflow, Mapping):
        raise PlanError(f"the workflow must be a mapping with a key `jobs`, found {describe(workflow)}")
    return workflow


def _job_plan(workflow: Mapping[str, Value], key: str, body: Mapping[str, Value]) -> JobPlan:
    where = f"jobs.{key}"
    uses = body.get("uses")
    raw_steps = body.get("steps")
    if raw_steps is None and uses is not None:
        raw_steps = []
    if not isinstance(raw_steps, list):
        raise PlanError(f"{where}.steps must be a list of steps, found {describe(raw_steps)}")
    return JobPlan(
        key=key,
        workflow_name=_text(workflow.get("name"), "name"),
        name=_text(body.get("name"), f"{where}.name") or key,
        triggers=workflow.get("on"),
        condition=_scalar(body.get("if"), f"{where}.if"),
        workflow_env=_env(workflow.get("env"), "env"),
        env=_env(body.get("env"), f"{where}.env"),
        workflow_defaults=_defaults(workflow, "defaults"),
        defaults=_defaults(body, f"{where}.defaults"),
        strategy=_strategy(body.get("strategy"), f"{where}.strategy"),
        timeout_minutes=_scalar(body.get("timeout-minutes"), f"{where}.timeout-minutes"),
        runs_on=body.get("runs-on"),
        container=body.get("container"),
        services=body.get("services"),
        uses=uses,
        outputs=_mapping(body.get("outputs"), f"{where}.outputs"),
        steps=tuple(_step_plan(index, step) for index, step in enumerate(raw_steps)),
    )


def _step_plan(index: int, step: Value) -> StepPlan:
    where = f"steps[{index}]"
    if not isinstance(step, Mapping):
        raise PlanError(f"{where} must be a mapping with `run` or `uses`, found {describe(step)}")
    step_id = _text(step.get("id"), f"{where}.id") or str(index)
    named = where if step_id == str(index) else f"{where} (id `{step_id}`)"
    run, uses = step.get("run"), step.get("uses")
    if (run is None) == (uses is None):
        amount = "neither `run` nor `uses`" if run is None else "both `run` and `uses`"
        raise PlanError(f"{named} has {amount}; a step needs exactly one of them")
    return StepPlan(
        index=index,
        id=step_id,
        run=None if run is None else _text(run, f"{where}.run"),
        uses=None if uses is None else _text(uses, f"{where}.uses"),
        condition=_scalar(step.get("if"), f"{where}.if"),
        env=_env(step.get("env"), f"{where}.env"),
        shell=_text(step.get("shell"), f"{where}.shell"),
        working_directory=_text(step.get("working-directory"), f"{where}.working-directory"),
        continue_on_error=_scalar(step.get("continue-on-error"), f"{where}.continue-on-error"),
        timeout_minutes=_scalar(step.get("timeout-minutes"), f"{where}.timeout-minutes"),
    )


def _defaults(owner: Mapping[str, Value], where: str) -> RunDefaults:
    run = _mapping(_mapping(owner.get("defaults"), where).get("run"), f"{where}.run")
    return RunDefaults(
        shell=_text(run.get("shell"), f"{where}.run.shell"),
        working_directory=_text(run.get("working-directory"), f"{where}.run.working-directory"),
    )


def _mapping(value: Value, where: str) -> Mapping[str, Value]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PlanError(f"{where} must be a mapping, found {describe(value)}")
    return value


def _strategy(value: Value, where: str) -> Value:
    return value if isinstance(value, str) else _mapping(value, where)


def _env(value: Value, where: str) -> Value:
    """An `env` may be one expression that yields a mapping."""
    if isinstance(value, str) and "${{" in value:
        return value
    return _mapping(value, where)


def _scalar(value: Value, where: str) -> Value:
    if isinstance(value, Mapping | list):
        raise PlanError(f"{where} must be a single value, found {describe(value)}")
    return value


def _text(value: Value, where: str) -> str:
    return to_text(_scalar(value, where))


def describe(value: Value) -> str:
    """Name a YAML value in a message: its kind, and the text of a scalar, shortened."""
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = to_text(value)
    return f"`{text if len(text) <= SHOWN_CHARS_MAX else text[:SHOWN_CHARS_MAX] + '…'}`"
