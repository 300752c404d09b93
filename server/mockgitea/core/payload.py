"""Reduce a workflow to the single-job workflow that travels to a runner.

Only what the server has decided is replaced: needs, name, matrix and runs-on; all else stays as written.
Source: docs/workflows.md, "What the runner gets".
"""

from collections.abc import Mapping, Sequence

from actionswire.expressions import Value
from actionswire.expressions.values import is_object
from actionswire.workflow_yaml import dump
from mockgitea.core.workflow_model import WorkflowJob


def reduce_job(
    job: WorkflowJob, *, name: str, matrix: Mapping[str, Value] | None, runs_on: Sequence[str]
) -> dict[str, Value]:
    """Return the body of ``job`` with the server's decisions filled in.

    Args:
        job: as written.
        name: the evaluated display name.
        matrix: the chosen combination, None when the job has no matrix.
        runs_on: the evaluated labels.
    """
    body = {key: value for key, value in job.body.items() if key != "needs"}
    body["name"] = name
    if "runs-on" in body or runs_on:
        body["runs-on"] = runs_on[0] if len(runs_on) == 1 else list(runs_on)
    if matrix is not None:
        strategy = body.get("strategy")
        kept = dict(strategy) if is_object(strategy) else {}
        body["strategy"] = kept | {"matrix": {key: [value] for key, value in matrix.items()}}
    return body


def write_payload(document: Mapping[str, Value], job_id: str, body: Mapping[str, Value]) -> bytes:
    """Write the workflow with exactly this one job.

    Args:
        document: the whole file as loaded.
        job_id: the job's key.
        body: what `reduce_job` returned.

    Returns:
        YAML that Go's reader and ours understand alike.
    """
    return dump({**document, "jobs": {job_id: dict(body)}}).encode()
