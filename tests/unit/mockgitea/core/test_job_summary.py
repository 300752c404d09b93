"""Limits, types and places of job summaries."""

import pytest

from mockgitea.core.errors import InvalidInput
from mockgitea.core.job_summary import SUMMARY_BYTES_MAX, check_place, check_size, check_type


@pytest.mark.parametrize("taken", ["", "text/markdown", "Text/Markdown; charset=utf-8", "application/octet-stream"])
def test_markdown_and_types_that_say_nothing_are_taken(taken: str) -> None:
    check_type(taken)


@pytest.mark.parametrize("refused", ["text/html", "text/markdown2", "application/json", "x" * 500])
def test_other_types_are_refused(refused: str) -> None:
    with pytest.raises(InvalidInput, match="content-type") as caught:
        check_type(refused)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("size", "others"), [(SUMMARY_BYTES_MAX, 0), (0, SUMMARY_BYTES_MAX), (1, SUMMARY_BYTES_MAX - 1)]
)
def test_size_up_to_the_limit_is_taken(size: int, others: int) -> None:
    check_size(size, others=others)


@pytest.mark.parametrize(
    ("size", "others", "words"),
    [(SUMMARY_BYTES_MAX + 1, 0, "a step"), (1, SUMMARY_BYTES_MAX, "a job"), (SUMMARY_BYTES_MAX, 1, "a job")],
)
def test_size_above_the_limit_is_refused(size: int, others: int, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        check_size(size, others=others)


@pytest.mark.parametrize(
    ("run", "job", "step", "named"), [(2, 1, 0, "run_id"), (1, 2, 0, "job_id"), (1, 1, 2, "step_index")]
)
def test_place_must_be_the_tokens_own(run: int, job: int, step: int, named: str) -> None:
    check_place(run=(1, 1), job=(1, 1), step=1, steps={0, 1})
    with pytest.raises(InvalidInput, match=named):
        check_place(run=(run, 1), job=(job, 1), step=step, steps={0, 1})
