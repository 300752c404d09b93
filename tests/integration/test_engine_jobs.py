"""Whole jobs through the engine: conditions, contexts, environment, outputs, commands, refusals."""

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from actionsrunner.engine.job import conduct_job
from actionswire.labels import Label
from actionswire.result import Result
from enginejob import RecordingSink, Switch, left_over, need, options, run, task, workflow

pytestmark = pytest.mark.slow


def test_job_reports_rows_and_steps_in_order(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: echo one\n- name: second\n  run: |\n\n    echo two\n    echo three"))
    assert job.result is Result.SUCCESS
    assert job.sink.calls == ["known", "start 0", "end 0 success", "start 1", "end 1 success"]
    assert job.rows[0] == "test-runner(version:1.2.3)"
    assert job.rows[1] == "::group::Runner Information"
    assert "Runner labels: host" in job.rows
    assert "Task: 7" in job.rows
    assert "Job: build" in job.rows
    assert job.rows.index("workflow prepared") < job.rows.index("Complete job name: build")
    assert job.sink.step_rows[0] == [
        "::group::Run echo one",
        "echo one",
        "shell: bash --noprofile --norc -e -o pipefail {0}",
        "::endgroup::",
        "one",
    ]
    assert job.sink.step_rows[1][0] == "::group::Run echo two"
    assert job.output_of(1) == ["two", "three"]
    assert job.rows[-1] == "Job succeeded"
    assert left_over(tmp_path) == []


def test_job_of_forgejo_uses_its_forms(tmp_path: Path) -> None:
    steps = "- run: echo $FORGEJO_SHA ${{ forgejo.sha == github.sha }} && echo ::group::x"
    job = run(tmp_path, workflow(steps), family="forgejo")
    assert job.rows[0] == "test-runner(version:1.2.3) received task 7 of job build, be triggered by event: push"
    assert job.output_of(0)[0].endswith("6789 true")
    assert job.output_of(0)[1] == "##[group]x"
    assert job.sink.step_rows[0][0].startswith("##[group]Run echo")


@pytest.mark.parametrize(
    ("condition", "needs", "result"),
    [
        ("", {}, Result.SUCCESS),
        ("false", {}, Result.SKIPPED),
        ("${{ false }}", {}, Result.SKIPPED),
        ("needs.a.outputs.x == '1'", {"a": need(x="1")}, Result.SUCCESS),
        ("needs.a.outputs.x == '2'", {"a": need(x="1")}, Result.SKIPPED),
        ("", {"a": need(Result.FAILURE)}, Result.SKIPPED),
        ("failure()", {"a": need(Result.FAILURE)}, Result.SUCCESS),
        ("failure()", {"a": need()}, Result.SKIPPED),
        ("always()", {"a": need(Result.SKIPPED)}, Result.SUCCESS),
        ("github.ref == 'refs/heads/main'", {}, Result.SUCCESS),
    ],
)
def test_job_condition_decides(tmp_path: Path, condition: str, needs: dict[str, Any], result: Result) -> None:
    payload = workflow("- run: echo ran ${{ needs.a.result }}\n- run: 'true'", job=f"if: {condition}")
    job = run(tmp_path, task(payload, needs=needs))
    assert job.result is result
    assert job.steps == [result, result]
    if result is Result.SKIPPED:
        assert "start 0" not in job.sink.calls
        assert left_over(tmp_path) == []


def test_step_conditions_follow_the_status(tmp_path: Path) -> None:
    steps = """
    - run: echo first
    - run: exit 1
      id: bad
      continue-on-error: true
    - run: echo ${{ steps.bad.outcome }}/${{ steps.bad.conclusion }}/${{ steps.BAD.outcome }}
    - run: exit 1
    - run: echo not this
    - run: echo on failure
      if: failure()
    - run: echo mixed text is true
      if: ${{ 'a' }} == 'b'
    - run: echo a string is no call
      if: "'failure()'"
    - run: echo ${{ toJSON(steps['4']) == '' }} ${{ steps['4'].conclusion }}
      if: ${{ !cancelled() }}
    """
    job = run(tmp_path, workflow(steps))
    assert job.result is Result.FAILURE
    ok, bad, skipped = Result.SUCCESS, Result.FAILURE, Result.SKIPPED
    assert job.steps == [ok, ok, ok, bad, skipped, ok, skipped, skipped, ok]
    assert "failure/success/failure" in job.rows
    assert "on failure" in job.rows
    assert "false skipped" in job.rows


def test_environment_layers(tmp_path: Path) -> None:
    steps = """
    - run: |
        echo "$A $B $C $D $HOST"
        echo "B=written" >> $GITHUB_ENV
        echo "D=written" >> $GITHUB_ENV
        printf 'MULTI<<EOF\\none\\ntwo=2<<3\\nEOF\\n' >> $GITHUB_ENV
        echo "GITHUB_SHA=mine" >> $GITHUB_ENV
        mkdir bin && printf '#!/bin/sh\\necho from bin' > bin/tool && chmod +x bin/tool
        echo "$PWD/bin" >> $GITHUB_PATH
    - run: |
        echo "$A $B $C $D"
        echo "$MULTI"
        tool
        echo "${GITHUB_SHA}" "$CI"
        echo ${{ env.B }} ${{ env.STEP }} ${{ env.step }}
      env:
        B: step
        STEP: ${{ env.D }}!
    - run: echo "[$STEP] $B"
      if: env.B == 'written'
    """
    job = run(
        tmp_path,
        workflow(steps, top="env: {A: workflow, B: workflow, C: workflow, CI: mine}", job="env: {B: job, C: job}"),
        envs={"C": "configured", "D": "configured"},
        host_env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOST": "host", "A": "host"},
    )
    assert job.steps == [Result.SUCCESS] * 3
    assert job.output_of(0)[0] == "workflow job configured configured host"
    assert any("GITHUB_SHA belongs to the runner" in row for row in job.output_of(0))
    assert job.output_of(1) == [
        "workflow step configured written",
        "one",
        "two=2<<3",
        "from bin",
        "0123456789012345678901234567890123456789 true",
        "step written! written!",
    ]
    assert "  STEP: written!" in job.sink.step_rows[1]
    assert job.output_of(2) == ["[] written"]


def test_shells_and_working_directories(tmp_path: Path) -> None:
    steps = """
    - run: mkdir -p sub/deep other
      working-directory: .
      shell: sh
    - run: echo "$(basename $PWD) ${BASH:-none}"
    - run: import os; print(os.path.basename(os.getcwd()))
      shell: python
      working-directory: other
    - run: just text
      shell: cat {0}
    - run: false; true
      continue-on-error: true
    - run: false | true
      shell: bash
      continue-on-error: true
    - run: echo ${{ steps['4'].outcome }} ${{ steps['5'].outcome }}
      working-directory: ${{ github.workspace }}/sub/deep
    """
    job = run(
        tmp_path,
        workflow(
            steps, top="defaults: {run: {shell: sh}}", job="defaults: {run: {working-directory: 'sub${{ vars.no }}'}}"
        ),
    )
    assert job.result is Result.SUCCESS
    assert job.output_of(1) == ["sub none"]
    assert job.output_of(2) == ["other"]
    assert job.output_of(3) == ["just text"]
    assert job.output_of(6) == ["failure failure"]


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("{run: x, shell: 'no-such-program {0}'}", "Cannot find: no-such-program in PATH"),
        ("{run: x, shell: pwsh}", "Cannot find: pwsh in PATH"),
        ("{run: x, shell: fish}", "shell: fish"),
        ("{run: x, working-directory: nowhere}", "steps[0].working-directory: the directory `nowhere` does not exist"),
        (f"{{run: x, working-directory: {'d' * 5000}}}", "working-directory"),
        ("{run: x, timeout-minutes: soon}", "steps[0].timeout-minutes must be a number of minutes"),
        ("{run: 'echo ${{ nope.x }}'}", "steps[0].run: "),
        ("{run: x, if: 'nope.x'}", "steps[0].if: "),
        ("{run: x, env: {A: '${{ fromJSON(1,2) }}'}}", "steps[0].env: "),
        ("{run: x, env: {'A=B': 1}}", "cannot be an environment variable"),
        ('{run: "x", env: {A: "a\\0b"}}', "cannot be an environment variable"),
        ("{run: 'echo no pair >> $GITHUB_OUTPUT'}", "invalid content of the file in $GITHUB_OUTPUT"),
        ("{run: 'echo \"A<<EOF\" >> $GITHUB_ENV'}", "`EOF` of `A` does not appear"),
        ("{run: 'echo \"::set-env name=A::1\"'}", "`set-env` is disabled"),
        ("{run: 'exit 1', continue-on-error: perhaps}", "steps[0].continue-on-error must be true or false"),
    ],
)
def test_bad_step_fails_with_a_row_that_names_it(tmp_path: Path, step: str, part: str) -> None:
    job = run(tmp_path, workflow(f"- {step}\n- run: echo tidy\n  if: always()"))
    assert job.result is Result.FAILURE
    assert job.steps == [Result.FAILURE, Result.SUCCESS]
    assert any(row.startswith("##[error]") and part in row for row in job.sink.step_rows[0]), job.text
    assert "tidy" in job.rows


@pytest.mark.parametrize(
    ("payload", "count", "part"),
    [
        (b"\x00", 0, "the workflow cannot be read"),
        (b"jobs: [", 0, "the workflow cannot be read: line "),
        (b"jobs: {a: {steps: []}, b: {steps: []}}", 0, "multiple jobs found"),
        (b"name: x", 0, "no job found"),
        (b"jobs: {a: {steps: [null, {run: x}]}}", 2, "steps[0] must be a mapping"),
        (b"jobs: {a: {steps: [{run: x, uses: y}]}}", 1, "both `run` and `uses`"),
        (b"jobs: {a: {steps: [{}]}}", 1, "neither `run` nor `uses`"),
        (b"jobs: {a: {steps: [{run: x}, {uses: actions/checkout@v4}]}}", 2, "steps[1].uses is not supported"),
        (b"jobs: {a: {container: node, steps: [{run: x}]}}", 1, "jobs.a.container is not supported"),
        (b"jobs: {a: {services: {db: {image: x}}, steps: [{run: x}]}}", 1, "jobs.a.services is not supported"),
        (b"jobs: {a: {uses: ./.gitea/workflows/x.yaml}}", 0, "jobs.a.uses is not supported"),
        (b"jobs: {a: {if: 'nope()', steps: [{run: x}]}}", 1, "jobs.a.if: "),
        (b"jobs: {a: {timeout-minutes: later, steps: [{run: x}]}}", 1, "jobs.a.timeout-minutes"),
        (b"jobs: {a: {strategy: {matrix: {n: 1}}, steps: [{run: x}]}}", 1, "strategy.matrix.n must be a list"),
        (b"jobs: {a: {strategy: {matrix: {n: [1, 2]}}, steps: [{run: x}]}}", 1, "has 2 combinations"),
        (b"jobs: {a: {strategy: '${{ 1 }}', steps: [{run: x}]}}", 1, "jobs.a.strategy must be a mapping"),
        (b"jobs: {a: {env: {A: '${{ nope }}'}, steps: [{run: x}]}}", 1, "jobs.a.env: "),
        (b"jobs: {a: {name: '${{ nope }}', steps: [{run: x}]}}", 1, "jobs.a.name: "),
        (b"jobs: {a: {runs-on: box, steps: [{run: x}]}}", 1, "asks for a container"),
    ],
)
def test_refused_job_fails_with_a_last_row_that_says_why(tmp_path: Path, payload: bytes, count: int, part: str) -> None:
    job = run(tmp_path, payload, labels=(Label("host"), Label("box", "docker", "//node")))
    assert job.result is Result.FAILURE
    assert job.sink.count == count
    assert job.steps == [Result.CANCELLED] * count
    assert job.rows[-1].startswith("##[error]")
    assert part in job.rows[-1]
    assert left_over(tmp_path) == []


def test_matrix_needs_inputs_and_other_contexts_are_there(tmp_path: Path) -> None:
    steps = """
    - run: |
        echo ${{ matrix.os }}-${{ matrix.n }} ${{ strategy.fail-fast }} ${{ strategy.max-parallel }}
        echo ${{ needs.a.outputs.tag }} ${{ needs.a.result }} ${{ join(needs.*.result) }}
        echo ${{ vars.V }} ${{ secrets.S }} ${{ secrets.GITHUB_TOKEN == github.token }}
        echo ${{ runner.os }} ${{ runner.environment }} ${{ runner.temp == env.T }}
        echo ${{ github.event.ref }} ${{ gitea.actor }} ${{ github.job }} ${{ job.status }}
        cat $GITHUB_EVENT_PATH
      env:
        T: ${{ runner.temp }}
    """
    payload = workflow(steps, job="strategy: {max-parallel: 2, matrix: {os: [a], n: [1.10], include: [{os: a, x: y}]}}")
    job = run(tmp_path, task(payload, needs={"a": need(tag="v1")}, vars={"V": "v"}, secrets={"S": "s3cret"}))
    *rows, event = job.output_of(0)
    assert rows == [
        "a-1.1 true 2",
        "v1 success success",
        "v s3cret true",
        "Linux self-hosted true",
        "refs/heads/main alice build success",
    ]
    assert json.loads(event) == {"ref": "refs/heads/main"}
    assert {"s3cret", "job-token-text", "runtime-token-text"} <= set(job.sink.masks)


def test_outputs_of_the_job_are_limited_and_hold_no_secret(tmp_path: Path) -> None:
    steps = """
    - id: one
      run: |
        echo "plain=1" >> $GITHUB_OUTPUT
        echo "::set-output name=old::2"
        echo "::add-mask::hidden-text"
        echo "leak=has hidden-text inside" >> $GITHUB_OUTPUT
        echo "secret=$SECRET" >> $GITHUB_OUTPUT
        printf 'big=' >> $GITHUB_OUTPUT; head -c 1048577 /dev/zero | tr '\\0' x >> $GITHUB_OUTPUT
      env:
        SECRET: ${{ secrets.S }}
    - run: exit 1
    """
    outputs = "outputs:\n" + "".join(
        f"  {name}: ${{{{ steps.one.outputs.{name} }}}}\n" for name in ("plain", "old", "leak", "secret", "big", "none")
    )
    job = run(tmp_path, task(workflow(steps, job=outputs), secrets={"S": "s3cret"}))
    assert job.result is Result.FAILURE
    assert job.sink.outputs == {"plain": "1", "old": "2", "none": ""}
    dropped = [row for row in job.rows if "is dropped" in row]
    assert [row.split("`")[1] for row in dropped] == ["leak", "secret", "big"]
    assert "hidden-text" in job.sink.masks
    assert "::add-mask::hidden-text" not in job.output_of(0)


def test_output_with_a_bad_expression_fails_the_job(tmp_path: Path) -> None:
    job = run(tmp_path, workflow("- run: 'true'", job="outputs: {good: 1, bad: '${{ nope }}'}"))
    assert job.result is Result.FAILURE
    assert job.sink.outputs == {"good": "1"}
    assert any("jobs.build.outputs.bad" in row for row in job.rows)


def test_commands_between_stop_and_token_are_text(tmp_path: Path) -> None:
    steps = """
    - run: |
        echo "::stop-commands::tok"
        echo "::add-mask::visible"
        echo "::tok::"
        echo "::debug::quiet"
        echo "::add-mask::gone"
        echo "::warning file=a.py,line=3::careful"
    - run: echo "::add-mask::next"
    """
    job = run(tmp_path, workflow(steps))
    assert job.output_of(0) == ["::add-mask::visible", "::warning::a.py:3: careful"]
    assert job.output_of(1) == []
    assert "visible" not in job.sink.masks


def test_step_debug_shows_debug_rows(tmp_path: Path) -> None:
    job = run(
        tmp_path,
        task(
            workflow("- run: echo ::debug::x${RUNNER_DEBUG}${{ runner.debug }}"), secrets={"ACTIONS_STEP_DEBUG": "true"}
        ),
    )
    assert job.output_of(0) == ["::debug::x11"]


def test_unsecure_commands_work_when_allowed(tmp_path: Path) -> None:
    steps = """
    - run: |
        echo "::set-env name=A::1"
        echo "::add-path::/extra"
    - run: echo $A ${PATH%%:*}
    """
    job = run(tmp_path, workflow(steps, job="env: {ACTIONS_ALLOW_UNSECURE_COMMANDS: true}"))
    assert job.output_of(1) == ["1 /extra"]


def test_hash_files_sees_the_workspace_as_it_is_now(tmp_path: Path) -> None:
    steps = """
    - run: echo "[${{ hashFiles('**/*.lock') }}]"; printf a > a.lock; mkdir d; printf b > d/b.lock
    - run: echo ${{ hashFiles('**/*.lock') }}
      if: hashFiles('a.lock') != ''
    """
    job = run(tmp_path, workflow(steps))
    digests = b"".join(hashlib.sha256(text).digest() for text in (b"a", b"b"))
    assert job.output_of(0) == ["[]"]
    assert job.output_of(1) == [hashlib.sha256(digests).hexdigest()]


def test_text_from_an_expression_is_not_evaluated_again(tmp_path: Path) -> None:
    steps = """
    - run: echo '${{ vars.trap }}'
    """
    job = run(tmp_path, task(workflow(steps), vars={"trap": "${{ secrets.S }}"}, secrets={"S": "s3cret"}))
    assert job.result is Result.SUCCESS
    assert job.output_of(0) == ["${{ secrets.S }}"]


def test_strange_step_ids_are_safe_and_the_last_of_equal_ids_counts(tmp_path: Path) -> None:
    steps = """
    - id: ../../../evil
      run: echo "x=1" >> $GITHUB_OUTPUT
    - id: Same
      run: echo "x=1" >> $GITHUB_OUTPUT
    - id: same
      run: echo "y=2" >> $GITHUB_OUTPUT
    - run: echo "[${{ steps.same.outputs.x }}${{ steps.SAME.outputs.y }}${{ steps['../../../evil'].outputs.x }}]"
    """
    job = run(tmp_path, workflow(steps))
    assert job.output_of(3) == ["[21]"]


def hook(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_hooks_run_around_the_steps(tmp_path: Path) -> None:
    job = run(
        tmp_path / "work",
        workflow("- run: exit 1"),
        job_started=hook(tmp_path / "started", "echo starting $GITHUB_SHA"),
        job_completed=hook(tmp_path / "completed", "echo completing; exit 3"),
    )
    assert job.rows.index("starting 0123456789012345678901234567890123456789") < job.rows.index(
        "Complete job name: build"
    )
    assert job.rows[-3] == "completing"
    assert "exited with code 3" in job.rows[-2]
    assert job.rows[-1] == "Job failed"


def test_failing_started_hook_fails_the_job_before_its_steps(tmp_path: Path) -> None:
    job = run(tmp_path / "work", workflow("- run: echo no"), job_started=hook(tmp_path / "started", "exit 1"))
    assert job.result is Result.FAILURE
    assert job.steps == [Result.CANCELLED]
    assert "the job-started hook failed" in job.rows[-1]
    missing = run(tmp_path / "work", workflow("- run: echo no"), job_started=tmp_path / "missing")
    assert "is no executable file" in missing.rows[-1]


def test_environment_that_is_too_large_fails_the_step_only(tmp_path: Path) -> None:
    steps = """
    - run: printf 'BIG=' >> $GITHUB_ENV; head -c 3000000 /dev/zero | tr '\\0' x >> $GITHUB_ENV
    - run: echo never
    """
    job = run(tmp_path, workflow(steps))
    assert job.steps == [Result.SUCCESS, Result.FAILURE]
    assert any("cannot start" in row and "too long" in row for row in job.output_of(1))


def test_workdir_parent_that_is_no_directory_fails_the_job(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    job = run(tmp_path / "file", workflow("- run: echo no"))
    assert job.result is Result.FAILURE
    assert "cannot make the job's directories" in job.rows[-1]


def test_outcome_is_known_before_the_directories_are_removed(tmp_path: Path) -> None:
    async def scenario() -> None:
        job = task(workflow("- run: touch file"))
        outcome = await conduct_job(job, options(tmp_path), RecordingSink(), Switch())
        assert outcome.result is Result.SUCCESS
        assert len(left_over(tmp_path)) == 1
        assert outcome.clean_up is not None
        await outcome.clean_up()
        assert left_over(tmp_path) == []

    asyncio.run(scenario())
