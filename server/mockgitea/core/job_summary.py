"""What a job summary may be: its type, its size, and which places of a request have to agree.

Source: docs/protocol.md, "Job summaries".
"""

from collections.abc import Collection
from typing import Final

from mockgitea.core.errors import InvalidInput

SUMMARY_BYTES_MAX: Final = 1024 * 1024
"""Of one step, and of all steps of a job together."""
_TYPES: Final = frozenset({"", "text/markdown", "application/octet-stream"})


def check_type(content_type: str) -> None:
    """Refuse anything but Markdown, or a type that says nothing; raises `InvalidInput`."""
    base = content_type.partition(";")[0].strip().lower()
    if base not in _TYPES:
        raise InvalidInput(f"content-type: send text/markdown, got {base[:100]}", field="content-type")


def check_place(*, run: tuple[int, int], job: tuple[int, int], step: int, steps: Collection[int]) -> None:
    """Refuse a summary for a place that its token does not stand for.

    Args:
        run: number of the run in the address, and of the token's.
        job: likewise of the job.
        step: number of the step in the address.
        steps: numbers of the job's steps.

    Raises:
        InvalidInput: they differ, or there is no such step.
    """
    if run[0] != run[1]:
        raise InvalidInput(f"run_id: the token is for run {run[1]}, not {run[0]}", field="run_id")
    if job[0] != job[1]:
        raise InvalidInput(f"job_id: the token is for job {job[1]}, not {job[0]}", field="job_id")
    if step not in steps:
        raise InvalidInput(f"step_index: job {job[1]} has no step {step}", field="step_index")


def check_size(size: int, *, others: int = 0) -> None:
    """Refuse a summary that is too large; raises `InvalidInput`.

    Args:
        size: its bytes.
        others: bytes of the other steps' summaries of the job.
    """
    if size > SUMMARY_BYTES_MAX:
        raise InvalidInput(f"summary: at most {SUMMARY_BYTES_MAX} bytes a step, got {size}", field="summary")
    if size + others > SUMMARY_BYTES_MAX:
        raise InvalidInput(
            f"summary: at most {SUMMARY_BYTES_MAX} bytes a job, this one makes it {size + others}", field="summary"
        )
