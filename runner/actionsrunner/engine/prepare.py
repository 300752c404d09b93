"""From a plan to a job that may run: contexts, matrix, condition, refusals, time limit, environment.

Owns the evaluation of the job's own fields, before and after its directories exist. It starts nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from actionsrunner.core.masking import Masker, hidden_values
from actionsrunner.core.seams import TaskSpec
from actionsrunner.engine.contexts import (
    context_aliases,
    github_context,
    inputs_context,
    job_status,
    needs_context,
    secrets_context,
)
from actionsrunner.engine.directories import JobDirectories, write_event
from actionsrunner.engine.environment import JobEnvironment, host_layer
from actionsrunner.engine.fields import FieldError, env_field, evaluate_field, minutes_field
from actionsrunner.engine.matrix import expand_matrix
from actionsrunner.engine.options import EngineOptions
from actionsrunner.engine.plan import JobPlan, describe
from actionsrunner.engine.state import ALL_CONTEXTS, JobState
from actionsrunner.engine.unsupported import find_container_label, find_unsupported, label_names
from actionsrunner.engine.variables import (
    configured_variables,
    runner_context,
    runner_variables,
    step_debug,
)
from actionswire.expressions import ExpressionError, Scope, Value, evaluate_condition
from actionswire.result import Result

STRATEGY_DEFAULTS: Final[Mapping[str, Value]] = {"fail-fast": True, "job-index": 0, "job-total": 1}


class JobRefused(Exception):
    """A job that fails before its first step; the text is its last row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedJob:
    """A job whose own fields are evaluated and which may run; ``limit_s`` is in seconds."""

    contexts: dict[str, Value]
    runs_on: Value
    limit_s: float
    limit_text: str


def prepare_job(task: TaskSpec, plan: JobPlan, options: EngineOptions) -> PreparedJob | None:
    """Evaluate what decides whether and how a job runs.

    Returns:
        None when the job's condition is false.

    Raises:
        JobRefused: the condition is in error, or the job needs something this runner cannot do.
        FieldError: another field is in error.
        MatrixError: the matrix cannot be expanded.
    Source: docs/running-jobs.md, "What is refused".
    """
    where = f"jobs.{plan.key}"
    contexts: dict[str, Value] = {
        **dict.fromkeys(context_aliases(options.family), github_context(task, plan, options)),
        "needs": needs_context(task.needs),
        "vars": dict(task.vars),
        "secrets": secrets_context(task, options.family),
        "inputs": inputs_context(task, plan),
    }
    contexts |= _strategy(plan, _job_scope(task, contexts))
    scope = _job_scope(task, contexts)
    try:
        if not evaluate_condition(plan.condition, scope):
            return None
    except ExpressionError as error:
        raise JobRefused(f"{where}.if: {error}") from error
    runs_on = evaluate_field(plan.runs_on, scope, f"{where}.runs-on")
    _refuse_unsupported(plan, runs_on, scope, options)
    limit_s, limit_text = _time_limit(plan, scope, options)
    return PreparedJob(contexts=contexts, runs_on=runs_on, limit_s=limit_s, limit_text=limit_text)


def _job_scope(task: TaskSpec, contexts: Mapping[str, Value]) -> Scope:
    return Scope({**dict.fromkeys(ALL_CONTEXTS), **contexts}, lambda name: job_status(task.needs, name))


def _strategy(plan: JobPlan, scope: Scope) -> dict[str, Value]:
    where = f"jobs.{plan.key}.strategy"
    evaluated = evaluate_field(plan.strategy, scope, where)
    if not isinstance(evaluated, Mapping):
        raise FieldError(f"{where} must be a mapping, found {describe(evaluated)}")
    combinations = expand_matrix(evaluated.get("matrix"))
    if len(combinations) > 1:
        raise JobRefused(f"{where}.matrix has {len(combinations)} combinations; a task has exactly one")
    strategy = {key: value for key, value in evaluated.items() if key != "matrix"}
    return {"matrix": combinations[0], "strategy": {**STRATEGY_DEFAULTS, **strategy}}


def _refuse_unsupported(plan: JobPlan, runs_on: Value, scope: Scope, options: EngineOptions) -> None:
    where = f"jobs.{plan.key}"
    container = evaluate_field(plan.container, scope, f"{where}.container")
    services = evaluate_field(plan.services, scope, f"{where}.services")
    objection = find_unsupported(plan, container=container, services=services)
    objection = objection or find_container_label(label_names(runs_on), options.labels)
    if objection:
        raise JobRefused(objection)


def _time_limit(plan: JobPlan, scope: Scope, options: EngineOptions) -> tuple[float, str]:
    """The shorter one of the two limits in seconds, and what to say when it is reached."""
    own = minutes_field(plan.timeout_minutes, scope, f"jobs.{plan.key}.timeout-minutes")
    if own is not None and own < options.job_timeout_s:
        return own, f"the job exceeded its limit of {own / 60:g} minutes (timeout-minutes)"
    limit = options.job_timeout_s
    return limit, f"the job exceeded the runner's limit of {limit:g} s (runner.timeout)"


def start_state(
    plan: JobPlan, prepared: PreparedJob, *, task: TaskSpec, options: EngineOptions, directories: JobDirectories
) -> JobState:
    """Build the state a job starts its steps with, and write the event file.

    Raises:
        FieldError: an `env` is in error.
        DirectoryError: the event file cannot be written.
    """
    debug = step_debug(task, options)
    runner = runner_context(options, str(directories.temp), str(directories.tool_cache), debug=debug)
    github = prepared.contexts["github"]
    assert isinstance(github, dict)
    # One mapping under all its names, so that filling in the paths reaches every alias.
    github["workspace"] = str(directories.workspace)
    github["event_path"] = str(directories.event_file)
    write_event(directories.event_file, github["event"])
    contexts = {**prepared.contexts, "runner": runner}
    environment = JobEnvironment(
        host=host_layer(options.host_env),
        runner=runner_variables(github, runner, options, label_names(prepared.runs_on)),
    )
    for env, where in ((plan.workflow_env, "env"), (plan.env, f"jobs.{plan.key}.env")):
        scope = _job_scope(task, {**contexts, "env": environment.context({})})
        environment.declare(env_field(env, scope, where))
    environment.declare(configured_variables(task, options))
    return JobState(
        task=task,
        plan=plan,
        options=options,
        directories=directories,
        environment=environment,
        contexts=contexts,
        masker=Masker(hidden_values(task.secrets, task.context)),
        debug=debug,
        status=Result.SUCCESS,
    )
