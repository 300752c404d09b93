"""From a workflow to planned jobs, and the payload each of them carries."""

from hypothesis import given, settings
from hypothesis import strategies as st

from actionswire.workflow_yaml import dump, load
from mockgitea.core.plan import PlannedJob, plan_jobs
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow import parse_workflow

AROUND = Surroundings(
    github={"ref_name": "main", "actor": "alice"}, inputs={"os": "mac"}, vars={"POOL": "big", "LIST": "[1,2]"}
)


def plan(jobs: str, around: Surroundings = AROUND, *, puts_off: bool = False) -> tuple[PlannedJob, ...]:
    return plan_jobs(parse_workflow(f"name: CI\non: push\nenv: {{A: b}}\njobs:\n{jobs}\n"), around, puts_off=puts_off)


def only(jobs: str) -> PlannedJob:
    (planned,) = plan(jobs)
    return planned


def body(planned: PlannedJob) -> dict[str, object]:
    document = load(planned.payload.decode())
    assert isinstance(document, dict)
    ((job_id, found),) = document["jobs"].items()
    assert job_id == planned.job_id
    return found


def test_payload_keeps_the_workflow_and_one_job() -> None:
    text = "  a: {runs-on: x, if: always(), outputs: {o: '${{ steps.s.outputs.o }}'}, steps: [{run: 'echo ${{ 1 }}'}]}"
    planned = only(text)
    document = load(planned.payload.decode())
    assert document == {
        "name": "CI",
        "on": "push",
        "env": {"A": "b"},
        "jobs": {
            "a": {
                "runs-on": "x",
                "if": "always()",
                "outputs": {"o": "${{ steps.s.outputs.o }}"},
                "steps": [{"run": "echo ${{ 1 }}"}],
                "name": "a",
            }
        },
    }


def test_payload_loses_needs_and_keeps_one_combination() -> None:
    first, second, third = plan(
        "  a: {steps: [{run: x}]}\n"
        "  b: {needs: [a], runs-on: '${{ matrix.os }}', steps: [{run: x}],"
        " strategy: {fail-fast: false, matrix: {os: [l, w], v: [1]}}}"
    )
    assert first.needs == ()
    assert (second.name, third.name) == ("b (l, 1)", "b (w, 1)")
    assert second.needs == third.needs == ("a",)
    assert body(third) == {
        "runs-on": "w",
        "steps": [{"run": "x"}],
        "strategy": {"fail-fast": False, "matrix": {"os": ["w"], "v": [1]}},
        "name": "b (w, 1)",
    }


def test_name_with_an_expression_gets_no_suffix() -> None:
    planned = plan("  a: {name: 'on ${{ matrix.os }}', strategy: {matrix: {os: [l, w]}}, steps: [{run: x}]}")
    assert [each.name for each in planned] == ["on l", "on w"]


def test_name_is_evaluated_without_a_matrix_too() -> None:
    assert only("  a: {name: 'by ${{ github.actor }}', steps: [{run: x}]}").name == "by alice"


def test_runs_on_is_evaluated_in_every_shape() -> None:
    assert only("  a: {runs-on: '${{ vars.POOL }}', steps: [{run: x}]}").runs_on == ("big",)
    assert only("  a: {runs-on: [x, '${{ inputs.os }}'], steps: [{run: x}]}").runs_on == ("x", "mac")
    assert only("  a: {runs-on: {group: g, labels: '${{ inputs.os }}'}, steps: [{run: x}]}").runs_on == ("mac", "g")
    assert only("""  a: {runs-on: "${{ fromJSON('[\\"p\\",\\"q\\"]') }}", steps: [{run: x}]}""").runs_on == ("p", "q")


def test_missing_runs_on_stays_missing() -> None:
    planned = only("  a: {steps: [{run: x}]}")
    assert planned.runs_on == ()
    assert "runs-on" not in body(planned)


def test_matrix_from_an_expression_is_expanded() -> None:
    whole = plan("""  a: {strategy: {matrix: "${{ fromJSON('{\\"v\\":[1,2]}') }}"}, steps: [{run: x}]}""")
    values = plan("  a: {strategy: {matrix: {v: '${{ fromJSON(vars.LIST) }}'}}, steps: [{run: x}]}")
    assert [each.name for each in whole] == [each.name for each in values] == ["a (1)", "a (2)"]


def test_continue_on_error_may_depend_on_the_matrix() -> None:
    planned = plan(
        "  a: {continue-on-error: '${{ matrix.may }}', strategy: {matrix: {may: [true, false]}}, steps: [{run: x}]}"
    )
    assert [each.continues_on_error for each in planned] == [False, True]


def test_failing_expression_spoils_only_its_own_job() -> None:
    bad, good = plan("  bad: {runs-on: '${{ fromJSON(vars.POOL) }}', steps: [{run: x}]}\n  good: {steps: [{run: x}]}")
    assert bad.failure_reason.startswith("jobs.bad.runs-on: fromJSON")
    assert not good.failure_reason


def test_matrix_that_turns_out_empty_or_huge_spoils_its_job() -> None:
    empty, huge, good = plan(
        "  empty: {strategy: {matrix: {v: '${{ fromJSON(vars.NONE) }}'}}, steps: [{run: x}]}\n"
        "  huge: {strategy: {matrix: {v: '${{ fromJSON(vars.MANY) }}'}}, steps: [{run: x}]}\n"
        "  good: {steps: [{run: x}]}",
        Surroundings(github={}, vars={"NONE": "[]", "MANY": str(list(range(256)))}),
    )
    assert "empty list" in empty.failure_reason
    assert "more than 256 jobs" in huge.failure_reason
    assert not good.failure_reason


def test_matrix_from_needs_is_put_off_or_spoilt() -> None:
    jobs = (
        "  a: {steps: [{run: x}]}\n"
        "  b: {needs: a, strategy: {matrix: {v: '${{ fromJSON(needs.a.outputs.l) }}'}}, steps: [{run: x}]}"
    )
    assert plan(jobs, puts_off=True)[1].failure_reason == ""
    assert "reads `needs`" in plan(jobs)[1].failure_reason


def test_concurrency_and_combination_travel_with_the_plan() -> None:
    planned = plan("  a: {concurrency: 'g-${{ matrix.v }}', strategy: {matrix: {v: [1, 2]}}, steps: [{run: x}]}")
    assert [each.matrix for each in planned] == [{"v": 1}, {"v": 2}]
    assert planned[0].concurrency is not None
    assert planned[0].concurrency.group == "g-${{ matrix.v }}"


_TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=12)
_SCALARS = st.one_of(st.booleans(), st.integers(-(10**6), 10**6), _TEXTS)


@given(
    values=st.lists(_SCALARS, min_size=1, max_size=4, unique_by=repr), run=_TEXTS, env=st.dictionaries(_TEXTS, _SCALARS)
)
@settings(max_examples=150, deadline=None)
def test_reduced_payload_parses_again_to_one_job(values: list[object], run: str, env: dict[str, object]) -> None:
    if any("${{" in str(value) for value in values):
        return
    job = {"strategy": {"matrix": {"v": values}}, "env": env, "steps": [{"run": run}]}
    source = dump({"on": "push", "jobs": {"a": job}})  # type: ignore[dict-item] - any value
    planned = plan_jobs(parse_workflow(source), AROUND)
    assert len(planned) == len(values)
    for each in planned:
        again = parse_workflow(each.payload)
        assert [job.job_id for job in again.jobs] == ["a"]
        (same,) = plan_jobs(again, AROUND)
        assert same.matrix == each.matrix
        assert load(each.payload.decode())["jobs"]["a"]["env"] == env  # type: ignore[index, call-overload]
