"""Cutting a workflow file into tasks for `exec`."""

from typing import Any

import pytest

from actionsrunner.core.seams import Need
from actionsrunner.localrun import (
    LocalSettings,
    WorkflowUnusable,
    combination_title,
    cut_tasks,
    order_jobs,
    read_workflow,
    worst,
)
from actionswire.result import Result
from actionswire.workflow_yaml import load

FILE = b"""
on: push
env: {E: 1}
jobs:
  c: {needs: [a, b], runs-on: x, steps: [{run: c}]}
  b: {needs: a, runs-on: x, strategy: {matrix: {n: [1, 2], o: [x]}}, steps: [{run: b}]}
  a: {runs-on: x, steps: [{run: a}]}
  d: {runs-on: x, steps: [{run: d}]}
"""


def test_jobs_come_after_those_they_need() -> None:
    assert [job.id for job in order_jobs(read_workflow(FILE))] == ["a", "b", "c", "d"]


def test_one_job_brings_only_what_it_needs() -> None:
    assert [job.id for job in order_jobs(read_workflow(FILE), "b")] == ["a", "b"]


def test_matrix_gives_one_task_for_each_combination() -> None:
    workflow = read_workflow(FILE)
    job = order_jobs(workflow)[1]
    tasks = cut_tasks(workflow, job, {"a": Need(Result.SUCCESS)}, LocalSettings(), first_id=4)
    assert [task.id for task in tasks] == [4, 5]
    assert [combination_title(task, job) for task in tasks] == ["b (1, x)", "b (2, x)"]
    payload: Any = load(tasks[1].payload)
    assert list(payload["jobs"]) == ["b"]
    assert payload["env"] == {"E": 1}
    assert "needs" not in payload["jobs"]["b"]
    assert payload["jobs"]["b"]["strategy"]["matrix"] == {"n": [2], "o": ["x"]}


def test_matrix_may_depend_on_what_the_job_needs() -> None:
    text = b"jobs: {a: {steps: []}, b: {needs: a, strategy: {matrix: '${{ fromJSON(needs.a.outputs.m) }}'}, steps: []}}"
    workflow = read_workflow(text)
    needs = {"a": Need(Result.SUCCESS, {"m": '{"n": [7, 8, 9]}'})}
    assert len(cut_tasks(workflow, order_jobs(workflow)[1], needs, LocalSettings(), first_id=1)) == 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"jobs: {", "line"),
        (b"a: 1", "`jobs` is missing"),
        (b"jobs: {a: 1}", "jobs.a: expected a mapping"),
        (b"jobs: {a: {needs: b}}", "jobs.a.needs: there is no job `b`"),
        (b"jobs: {a: {needs: b}, b: {needs: a}}", "circle: a -> b -> a"),
        (b"jobs: {a: {needs: {b: 1}}}", "jobs.a.needs: expected"),
    ],
)
def test_unusable_file_is_explained(text: bytes, words: str) -> None:
    with pytest.raises(WorkflowUnusable) as caught:
        order_jobs(read_workflow(text))
    assert words in str(caught.value)


def test_unknown_job_is_explained() -> None:
    with pytest.raises(WorkflowUnusable, match="there is no job `z`"):
        order_jobs(read_workflow(FILE), "z")


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        ([Result.SUCCESS, Result.FAILURE], Result.FAILURE),
        ([Result.SUCCESS, Result.CANCELLED], Result.CANCELLED),
        ([Result.SKIPPED, Result.SUCCESS], Result.SUCCESS),
        ([Result.SKIPPED], Result.SKIPPED),
        ([], Result.SKIPPED),
    ],
)
def test_worst_result_counts(results: list[Result], expected: Result) -> None:
    assert worst(results) is expected
