"""What this runner cannot execute, found before a job starts. Pure.

A job that asks for a container must not run on the bare host instead, so each of these fails the job.
"""

from collections.abc import Iterator, Sequence

from actionsrunner.engine.plan import JobPlan
from actionswire.expressions import Value
from actionswire.labels import Label

_HOST_ONLY = "this runner executes `run` steps on the host only"


def find_unsupported(plan: JobPlan, *, container: Value, services: Value) -> str | None:
    """Name the first thing that cannot be executed; None when there is nothing.

    Args:
        plan: the job.
        container: `container` after evaluation.
        services: `services` after evaluation.
    Source: docs/running-jobs.md, "What is refused".
    """
    return next(_unsupported(plan, container, services), None)


def _unsupported(plan: JobPlan, container: Value, services: Value) -> Iterator[str]:
    where = f"jobs.{plan.key}"
    if plan.uses is not None:
        yield f"{where}.uses is not supported: {_HOST_ONLY}, reusable workflows must be expanded by the server"
    if container:
        yield f"{where}.container is not supported: {_HOST_ONLY}"
    if services:
        yield f"{where}.services is not supported: {_HOST_ONLY}"
    for step in plan.steps:
        if step.uses is not None:
            yield f"{step.label}.uses is not supported (`{step.uses}`, {_kind(step.uses)}): {_HOST_ONLY}"


def _kind(uses: str) -> str:
    if uses.startswith("docker://"):
        return "a container action"
    if uses.startswith(("./", ".\\")):
        return "a local action"
    return "a remote action"


def label_names(runs_on: Value) -> Sequence[str]:
    """List the wanted labels of an evaluated `runs-on`: text, list, or a mapping with `labels` and `group`."""
    if isinstance(runs_on, str):
        return [runs_on]
    if isinstance(runs_on, list):
        return [name for name in runs_on if isinstance(name, str)]
    if isinstance(runs_on, dict):
        return [*label_names(runs_on.get("labels")), *label_names(runs_on.get("group"))]
    return []


def find_container_label(wanted: Sequence[str], labels: Sequence[Label]) -> str | None:
    """Tell in words when the label that selects the executor asks for a container.

    The first wanted name that the runner has decides.
    """
    by_name = {label.name: label for label in labels}
    chosen = next((by_name[name] for name in wanted if name in by_name), None)
    if chosen is None or chosen.scheme == "host":
        return None
    return f"runs-on: the label `{chosen.text}` asks for a container: {_HOST_ONLY}; register it as `{chosen.name}:host`"
