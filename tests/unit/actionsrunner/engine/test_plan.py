import pytest

from actionsrunner.engine.plan import PlanError, parse_plan


def test_parse_plan_reads_a_whole_job() -> None:
    plan = parse_plan(
        b"""
        name: CI
        on: push
        env: {W: 1}
        defaults: {run: {shell: sh, working-directory: w}}
        jobs:
          build:
            name: Build it
            runs-on: [linux, host]
            if: always()
            defaults: {run: {shell: bash}}
            env: ${{ fromJSON('{}') }}
            timeout-minutes: 1.5
            outputs: {o: 1}
            steps:
              - run: echo
              - id: two
                uses: actions/checkout@v4
                continue-on-error: true
        """
    )
    assert (plan.key, plan.name, plan.workflow_name, plan.condition) == ("build", "Build it", "CI", "always()")
    assert (plan.workflow_defaults.shell, plan.defaults.shell) == ("sh", "bash")
    assert plan.timeout_minutes == 1.5
    assert [step.id for step in plan.steps] == ["0", "two"]
    assert [step.label for step in plan.steps] == ["steps[0]", "steps[1] (id `two`)"]
    assert plan.steps[1].uses == "actions/checkout@v4"


@pytest.mark.parametrize(
    ("payload", "part"),
    [
        (b"", "must be a mapping"),
        (b"\xff\xfe\xfd", "cannot be read"),
        (b"a: [", "line"),
        (b"- a", "must be a mapping with a key `jobs`, found a list"),
        (b"name: x", "no job found"),
        (b"jobs: {}", "no job found"),
        (b"jobs: [a]", "jobs must be a mapping"),
        (b"jobs: {a: {steps: []}, b: {steps: []}}", "multiple jobs found: a, b"),
        (b"jobs: {a: }", "jobs.a must be a mapping, found nothing"),
        (b"jobs: {a: {}}", "jobs.a.steps must be a list of steps, found nothing"),
        (b"jobs: {a: {steps: {run: x}}}", "jobs.a.steps must be a list of steps, found a mapping"),
        (b"jobs: {a: {steps: [null]}}", "steps[0] must be a mapping with `run` or `uses`, found nothing"),
        (b"jobs: {a: {steps: [echo]}}", "found `echo`"),
        (b"jobs: {a: {steps: [{run: x}, {name: y}]}}", "steps[1] has neither `run` nor `uses`"),
        (b"jobs: {a: {steps: [{id: z, run: x, uses: y}]}}", "steps[0] (id `z`) has both `run` and `uses`"),
        (b"jobs: {a: {steps: [{run: [x]}]}}", "steps[0].run must be a single value, found a list"),
        (b"jobs: {a: {steps: [{run: x, if: {}}]}}", "steps[0].if must be a single value"),
        (b"jobs: {a: {steps: [{run: x, env: y}]}}", "steps[0].env must be a mapping, found `y`"),
        (b"jobs: {a: {steps: [{run: x, timeout-minutes: []}]}}", "steps[0].timeout-minutes"),
        (b"jobs: {a: {env: [], steps: []}}", "jobs.a.env must be a mapping, found a list"),
        (b"jobs: {a: {defaults: x, steps: []}}", "jobs.a.defaults must be a mapping"),
        (b"jobs: {a: {defaults: {run: {shell: []}}, steps: []}}", "jobs.a.defaults.run.shell"),
        (b"jobs: {a: {strategy: [], steps: []}}", "jobs.a.strategy"),
        (b"jobs: {a: {outputs: [], steps: []}}", "jobs.a.outputs"),
    ],
)
def test_parse_plan_refuses_and_names_the_field(payload: bytes, part: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(payload)
    assert part in str(caught.value)


def test_parse_plan_tells_how_many_steps_a_refused_job_has() -> None:
    with pytest.raises(PlanError) as caught:
        parse_plan(b"jobs: {a: {steps: [{run: x}, null, {run: y}]}}")
    assert caught.value.step_count == 3


def test_parse_plan_takes_scalars_as_text() -> None:
    plan = parse_plan(b"jobs: {a: {steps: [{run: 5, id: 1.0, shell: true}]}}")
    assert (plan.steps[0].run, plan.steps[0].shell) == ("5", "true")
