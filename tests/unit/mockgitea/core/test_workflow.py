"""What of a workflow file is accepted, and how each refusal names field and fix."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.workflow_yaml import dump
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow import SOURCE_BYTES_MAX, check_event, parse_workflow
from mockgitea.core.workflow_jobs import JOBS_PER_RUN_MAX, labels_of

JOB = "{runs-on: linux, steps: [{run: echo}]}"


def workflow(jobs: str, on: str = "push", extra: str = "") -> str:
    return f"on: {on}\n{extra}\njobs:\n{jobs}\n"


def one_job(keys: str) -> str:
    return workflow(f"  build: {{runs-on: linux, steps: [{{run: echo}}], {keys}}}")


def test_parse_minimal_workflow_returns_its_job() -> None:
    parsed = parse_workflow(workflow(f"  build: {JOB}"))
    assert [job.job_id for job in parsed.jobs] == ["build"]
    assert list(parsed.triggers) == ["push"]


def test_parse_takes_bytes_and_a_byte_order_mark() -> None:
    assert parse_workflow(b"\xef\xbb\xbf" + workflow(f"  a: {JOB}").encode()).jobs


@pytest.mark.parametrize(
    ("on", "events"),
    [
        ("push", ["push"]),
        ("[push, pull_request]", ["push", "pull_request"]),
        ("{push: {branches: [main]}, workflow_dispatch: }", ["push", "workflow_dispatch"]),
        ("{schedule: [{cron: '0 0 * * *'}]}", ["schedule"]),
    ],
)
def test_on_in_each_shape_names_its_events(on: str, events: list[str]) -> None:
    assert list(parse_workflow(workflow(f"  a: {JOB}", on=on)).triggers) == events


def test_needs_as_text_or_list_without_repeats() -> None:
    jobs = f"  a: {JOB}\n  b: {{needs: a, steps: [{{run: x}}]}}\n  c: {{needs: [a, b, a], steps: [{{run: x}}]}}"
    parsed = parse_workflow(workflow(jobs))
    assert [job.needs for job in parsed.jobs] == [(), ("a",), ("a", "b")]


@pytest.mark.parametrize(
    ("source", "field", "words"),
    [
        ("", "workflow", "empty"),
        ("- a", "workflow", "must be a mapping"),
        ("on: push\n\tjobs:", "workflow", "line 2, column 1"),
        ("on: push\non: push\n", "workflow", "line 2"),
        ("jobs: {a: {steps: [{run: x}]}}", "on", "is missing"),
        (workflow(f"  a: {JOB}", on="[]"), "on", "no event"),
        (workflow(f"  a: {JOB}", on="Push Me"), "on.Push Me", "no event name"),
        (workflow(f"  a: {JOB}", on="{push: main}"), "on.push", "must be a mapping"),
        (workflow(f"  a: {JOB}", on="{schedule: daily}"), "on.schedule", "list"),
        (workflow(f"  a: {JOB}", on="{workflow_dispatch: {inputs: {x: {type: date}}}}"), (
            "on.workflow_dispatch.inputs.x.type"
        ), "choose string"),
        (workflow(f"  a: {JOB}", on="{workflow_dispatch: {inputs: {x: {type: choice}}}}"), (
            "on.workflow_dispatch.inputs.x.options"
        ), "needs its options"),
        ("on: push", "jobs", "missing"),
        ("on: push\njobs: {}", "jobs", "empty"),
        ("on: push\njobs: [a]", "jobs", "must be a mapping"),
        (workflow(f"  a b: {JOB}"), "jobs.a b", "no job id"),
        (workflow("  a: 1"), "jobs.a", "must be a mapping"),
        (workflow("  a: {runs-on: x}"), "jobs.a.steps", "at least one step"),
        (workflow("  a: {runs-on: x, steps: []}"), "jobs.a.steps", "at least one step"),
        (workflow("  a: {runs-on: x, steps: [echo]}"), "jobs.a.steps[0]", "must be a mapping"),
        (workflow("  a: {uses: ./b.yml}"), "jobs.a.uses", "not supported yet"),
        (one_job("needs: [missing]"), "jobs.build.needs[0]", "no job 'missing'; the jobs are build"),
        (one_job("needs: build"), "jobs.build.needs[0]", "cannot need itself"),
        (one_job("needs: {a: b}"), "jobs.build.needs", "not a mapping"),
        (one_job("needs: [null]"), "jobs.build.needs[0]", "empty"),
        (one_job("if: [a]"), "jobs.build.if", "must be a text"),
        (one_job("if: 'a ==='"), "jobs.build.if", "column"),
        (one_job("if: '${{ nope( }}'"), "jobs.build.if", "column"),
        (one_job("name: '${{ a b }}'"), "jobs.build.name", "column"),
        (one_job("strategy: {matrix: {}}"), "jobs.build.strategy.matrix", "no combination"),
        (one_job("strategy: {matrix: {os: []}}"), "jobs.build.strategy.matrix.os", "empty list"),
        (one_job("strategy: {matrix: {os: linux}}"), "jobs.build.strategy.matrix.os", "must be a list"),
        (one_job("strategy: {matrix: [1]}"), "jobs.build.strategy.matrix", "must be a mapping"),
        (one_job("strategy: {matrix: {os: ['${{ ( }}']}}"), "jobs.build.strategy.matrix.os[0]", "column"),
        (one_job("strategy: [1]"), "jobs.build.strategy", "must be a mapping"),
        (one_job("continue-on-error: maybe"), "jobs.build.continue-on-error", "true, false"),
        (one_job("concurrency: {group: a, cancel-in-progress: maybe}"), (
            "jobs.build.concurrency.cancel-in-progress"
        ), "true, false"),
        (one_job("concurrency: [a]"), "jobs.build.concurrency.group", "must be a text"),
    ],
)  # fmt: skip
def test_bad_workflow_is_refused_naming_field_and_fix(source: str, field: str, words: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_workflow(source)
    assert refusal.value.field == field
    assert words in refusal.value.message
    assert refusal.value.message.startswith(field.split(".", maxsplit=1)[0])


def test_runs_on_of_an_unknown_shape_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"jobs\.a\.runs-on\.size: unknown"):
        parse_workflow(workflow("  a: {runs-on: {size: big}, steps: [{run: x}]}"))


def test_cycle_of_needs_is_refused_with_its_path() -> None:
    jobs = "\n".join(f"  {a}: {{needs: {b}, steps: [{{run: x}}]}}" for a, b in ["ab", "bc", "ca"])
    with pytest.raises(InvalidInput, match="a -> b -> c -> a"):
        parse_workflow(workflow(f"{jobs}\n  d: {{needs: a, steps: [{{run: x}}]}}"))


def test_too_many_jobs_are_refused_before_anything_is_made() -> None:
    jobs = "\n".join(f"  j{n}: {JOB}" for n in range(JOBS_PER_RUN_MAX + 1))
    with pytest.raises(InvalidInput, match="257 jobs, more than 256"):
        parse_workflow(workflow(jobs))


def test_jobs_of_several_matrices_count_together() -> None:
    strategy = f"strategy: {{matrix: {{n: {list(range(200))}}}}}"
    jobs = "\n".join(f"  j{n}: {{{strategy}, steps: [{{run: x}}]}}" for n in range(2))
    with pytest.raises(InvalidInput, match="400 jobs"):
        parse_workflow(workflow(jobs))


def test_too_large_source_is_refused() -> None:
    with pytest.raises(InvalidInput, match="more than 1048576"):
        parse_workflow("#" * (SOURCE_BYTES_MAX + 1))


@pytest.mark.parametrize(
    ("value", "labels"),
    [
        (None, ()),
        ("linux", ("linux",)),
        (["a", "b"], ("a", "b")),
        ({"group": "g", "labels": ["a"]}, ("a", "g")),
        ({"labels": "a"}, ("a",)),
    ],
)
def test_runs_on_in_each_shape_gives_labels(value: object, labels: tuple[str, ...]) -> None:
    assert labels_of(value, "runs-on") == labels  # type: ignore[arg-type] - test values


@pytest.mark.parametrize(
    ("on", "event", "started"),
    [
        ("[push, schedule]", "", "push"),
        ("[schedule, release]", "", "schedule"),
        ("[push, release]", "release", "release"),
    ],
)
def test_event_is_checked_or_chosen(on: str, event: str, started: str) -> None:
    if "schedule" in on:
        on = "{push: , schedule: []}" if "push" in on else "{schedule: [], release: }"
    assert check_event(parse_workflow(workflow(f"  a: {JOB}", on=on)), event) == started


@pytest.mark.parametrize(
    ("on", "event"), [("push", "release"), ("workflow_call", ""), ("workflow_call", "workflow_call")]
)
def test_event_that_does_not_start_the_file_is_refused(on: str, event: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        check_event(parse_workflow(workflow(f"  a: {JOB}", on=on)), event)
    assert refusal.value.field == "event"


_PIECES = st.sampled_from([
    "on: ", "jobs:", "push", "\n  a:", "\n", " ", "needs: [a]", "matrix: ", "{", "}", "[", "]", "${{ ", " }}", "'",
    "steps:", "- run: x", "strategy:", "runs-on: ", "&x ", "*x", "!!int ", ": ", "? ", "|", ">", "\t", "null", "1e999",
    "\u2028",
])  # fmt: skip


@given(st.one_of(st.text(max_size=200), st.lists(_PIECES, max_size=40).map("".join), st.binary(max_size=200)))
@settings(max_examples=300, deadline=None)
def test_arbitrary_text_is_parsed_or_refused_never_anything_else(source: str | bytes) -> None:
    try:
        parsed = parse_workflow(source)
    except InvalidInput as refusal:
        assert refusal.message
        assert refusal.field
    else:
        assert parsed.jobs


_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.text(max_size=5), st.just("${{ x }}")),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    [
        "name",
        "needs",
        "runs-on",
        "if",
        "strategy",
        "continue-on-error",
        "concurrency",
        "steps",
        "uses",
        "env",
        "outputs",
    ]
)


@given(job=st.dictionaries(_KEYS, _VALUES, max_size=5), on=_VALUES)
@settings(max_examples=200, deadline=None)
def test_well_formed_but_odd_values_are_parsed_or_refused(job: dict[str, object], on: object) -> None:
    document = {"on": on, "jobs": {"a": {"steps": [{"run": "x"}], **job}}}
    try:
        parse_workflow(dump(document))  # type: ignore[arg-type] - any value
    except InvalidInput as refusal:
        assert refusal.field
