"""Read a workflow file: from text to a checked `Workflow`, or a refusal that names the field and the fix.

Checks what the server itself has to understand; steps and everything else are the runner's and pass as written.
Source: docs/workflows.md, "What is read".
"""

from collections.abc import Mapping
from typing import Final

from actionswire.expressions import Value
from actionswire.expressions.values import is_object
from actionswire.workflow_yaml import WorkflowYamlError, load
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow_fields import check_expressions, kind_of, text
from mockgitea.core.workflow_jobs import read_concurrency, read_jobs
from mockgitea.core.workflow_model import Workflow
from mockgitea.core.workflow_triggers import read_triggers

SOURCE_BYTES_MAX: Final = 1024 * 1024
"""A workflow file is at most this long; the longest seen in the wild are a tenth of it."""


def parse_workflow(source: str | bytes) -> Workflow:
    """Parse and check a workflow file.

    Args:
        source: at most SOURCE_BYTES_MAX bytes of YAML.

    Returns:
        The workflow with at least one job; its needs name existing jobs and have no cycle.

    Raises:
        InvalidInput: ``field`` is the path of what is wrong (`jobs.build.needs[0]`), or ``workflow`` with line and
            column when the text is no YAML.
    Source: docs/workflows.md, "Errors".
    """
    document = _load(source)
    triggers = read_triggers(document)
    name = text(document.get("name"), "name")
    run_name = text(document.get("run-name"), "run-name")
    check_expressions(run_name, "run-name")
    jobs = read_jobs(document.get("jobs"))
    return Workflow(
        name=name,
        run_name=run_name,
        triggers=triggers,
        concurrency=read_concurrency(document.get("concurrency"), "concurrency"),
        jobs=jobs,
        document=document,
    )


def check_event(workflow: Workflow, event: str) -> str:
    """Return the event that starts this workflow.

    Args:
        workflow: the checked file.
        event: what happened; empty picks ``push`` when the file has it, else its first trigger.

    Raises:
        InvalidInput: the file is not started by that event.
    Source: docs/workflows.md, "Events".
    """
    names = [name for name in workflow.triggers if name != "workflow_call"]
    if not names:
        raise InvalidInput(
            "on: only workflow_call, which no event starts; add push or workflow_dispatch to it", field="event"
        )
    if not event:
        return "push" if "push" in names else names[0]
    if event not in names:
        raise InvalidInput(
            f"event: {event!r} does not start this workflow, its `on` has {', '.join(names)}; "
            "choose one of these or add the event to `on`",
            field="event",
        )
    return event


def _load(source: str | bytes) -> Mapping[str, Value]:
    size = len(source.encode("utf-8", "surrogatepass")) if isinstance(source, str) else len(source)
    if size > SOURCE_BYTES_MAX:
        raise InvalidInput(f"workflow: has {size} bytes, more than {SOURCE_BYTES_MAX}; shorten it", field="workflow")
    try:
        document = load(source)
    except WorkflowYamlError as error:
        raise InvalidInput(
            f"workflow: line {error.line}, column {error.column}: {error.message}", field="workflow"
        ) from error
    if document is None:
        raise InvalidInput("workflow: is empty; it needs at least `on` and `jobs`", field="workflow")
    if not is_object(document):
        raise InvalidInput(
            f"workflow: must be a mapping with `on` and `jobs`, not {kind_of(document)}", field="workflow"
        )
    return document
