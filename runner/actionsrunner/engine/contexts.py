"""The contexts that a job's expressions see, made from its task. Pure.

Owns the `github` context and its aliases, `needs`, `inputs`, `secrets`, `strategy` and the job-level status functions.
Contexts that change from step to step (`env`, `steps`, `job`) are added by the job.
"""

from collections.abc import Mapping
from typing import Final

from actionsrunner.core.seams import Need, TaskSpec
from actionsrunner.engine.options import EngineOptions, Family
from actionsrunner.engine.plan import JobPlan
from actionswire.expressions import Value, to_text, truthy
from actionswire.result import Result

_TOKEN_SECRETS: Final = {
    "gitea": ("GITEA_TOKEN", "GITHUB_TOKEN"),
    "forgejo": ("FORGEJO_TOKEN", "GITEA_TOKEN", "GITHUB_TOKEN"),
}
# Keys of the task's context that carry something for the runner and are no part of `github`.
_PRIVATE_KEYS: Final = (
    "default_actions_url",
    "runtime_token",
    "actions_id_token_request_url",
    "actions_id_token_request_token",
    "server_version",
)
_PRIVATE_PREFIXES: Final = ("gitea_", "forgejo_", "")


def context_aliases(family: Family) -> tuple[str, ...]:
    """Names under which the `github` context can be used."""
    return ("github", "gitea") if family == "gitea" else ("github", "gitea", "forgejo", "forge")


def task_token(task: TaskSpec, family: Family) -> str:
    """Choose the job's token: the family's token secrets in order, then the task's context."""
    for name in _TOKEN_SECRETS[family]:
        if task.secrets.get(name):
            return task.secrets[name]
    return context_text(task, "token")


def context_text(task: TaskSpec, key: str) -> str:
    """Read a text of the task's context; empty when it is absent or no text."""
    value = task.context.get(key)
    return value if isinstance(value, str) else ""


def private_text(task: TaskSpec, key: str, family: Family) -> str:
    """Read a key with a special role, e.g. ``runtime_token``, in the spelling of either family."""
    order = ("forgejo_", "gitea_", "") if family == "forgejo" else ("gitea_", "", "forgejo_")
    for prefix in order:
        if text := context_text(task, prefix + key):
            return text
    return ""


def instance_url(task: TaskSpec, options: EngineOptions) -> str:
    """The instance's address without a trailing slash: the runner's own, else what the server says."""
    return (options.instance_url or context_text(task, "server_url")).rstrip("/")


def github_context(task: TaskSpec, plan: JobPlan, options: EngineOptions) -> dict[str, Value]:
    """Build the `github` context; the keys that name directories are filled in by the job.

    Source: docs/running-jobs.md, "Contexts".
    """
    private = {prefix + key for prefix in _PRIVATE_PREFIXES for key in _PRIVATE_KEYS}
    github: dict[str, Value] = {key: value for key, value in task.context.items() if key not in private}
    ref = context_text(task, "ref")
    name, kind = _ref_parts(ref)
    base = instance_url(task, options)
    actor, repository = context_text(task, "actor"), context_text(task, "repository")
    github |= {
        "ref_name": context_text(task, "ref_name") or name,
        "ref_type": context_text(task, "ref_type") or kind,
        "triggering_actor": context_text(task, "triggering_actor") or actor,
        "repository_owner": context_text(task, "repository_owner") or repository.partition("/")[0],
        "run_attempt": to_text(github.get("run_attempt")) or "1",
        "workflow": plan.workflow_name or context_text(task, "workflow"),
        "job": plan.key,
        "server_url": base,
        "api_url": f"{base}/api/v1" if base else context_text(task, "api_url"),
        "token": task_token(task, options.family),
    }
    if not isinstance(github.get("event"), Mapping):
        github["event"] = {}
    return github


def _ref_parts(ref: str) -> tuple[str, str]:
    for prefix, kind in (("refs/heads/", "branch"), ("refs/tags/", "tag"), ("refs/pull/", "")):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix), kind
    return ref, ""


def needs_context(needs: Mapping[str, Need]) -> dict[str, Value]:
    """Build `needs`: result words in lower case and outputs, by job id."""
    return {
        job: {"result": "" if need.result is Result.UNSPECIFIED else need.result.text, "outputs": dict(need.outputs)}
        for job, need in needs.items()
    }


def secrets_context(task: TaskSpec, family: Family) -> dict[str, Value]:
    """Build `secrets`: the task's, and the job's token under its names."""
    token = task_token(task, family)
    named: dict[str, Value] = dict.fromkeys(("GITHUB_TOKEN", *_TOKEN_SECRETS[family]), token) if token else {}
    return named | dict(task.secrets)


def job_status(needs: Mapping[str, Need], name: str) -> bool:
    """Answer a status function in a job's `if`, where it looks at the needed jobs."""
    match name:
        case "success":
            return all(need.result is Result.SUCCESS for need in needs.values())
        case "failure":
            return any(need.result is Result.FAILURE for need in needs.values())
        case "cancelled":
            return False
        case _:
            return True


def inputs_context(task: TaskSpec, plan: JobPlan) -> dict[str, Value]:
    """Build `inputs`: the event's inputs, typed as the workflow declares them, with defaults for missing ones.

    `github.event.inputs` itself keeps its texts.
    """
    event = task.context.get("event")
    given = event.get("inputs") if isinstance(event, Mapping) else None
    given = given if isinstance(given, Mapping) else {}
    typed: dict[str, Value] = dict(given)
    for name, declaration in _declared_inputs(plan, context_text(task, "event_name")).items():
        spec = declaration if isinstance(declaration, Mapping) else {}
        value = given[name] if name in given else spec.get("default")
        typed[name] = _typed(value, to_text(spec.get("type")))
    return typed


def _declared_inputs(plan: JobPlan, event_name: str) -> Mapping[str, Value]:
    trigger = plan.triggers.get(event_name) if isinstance(plan.triggers, Mapping) else None
    inputs = trigger.get("inputs") if isinstance(trigger, Mapping) else None
    return inputs if isinstance(inputs, Mapping) else {}


def _typed(value: Value, kind: str) -> Value:
    match kind:
        case "boolean":
            return value.strip().lower() == "true" if isinstance(value, str) else truthy(value)
        case "number":
            return _number(value)
        case _:
            return to_text(value)


def _number(value: Value) -> Value:
    try:
        number = float(to_text(value) or 0)
    except ValueError:
        return to_text(value)
    return int(number) if number.is_integer() else number
