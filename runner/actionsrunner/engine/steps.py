"""Running the steps of a job, one after the other.

Owns the life of one step: evaluate, decide, start, follow, take over what it wrote, judge. The order of the steps and
the job around them are `job`'s business.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeVar

from actionsrunner.core.seams import JobSink
from actionsrunner.engine.command_files import CommandFileError, CommandFiles
from actionsrunner.engine.commands import StepEffects
from actionsrunner.engine.directories import safe_stem
from actionsrunner.engine.fields import FieldError, boolean_field, env_field, minutes_field, text_field
from actionsrunner.engine.interrupts import StopWatch
from actionsrunner.engine.plan import StepPlan
from actionsrunner.engine.process import (
    Command,
    EndedBy,
    Ending,
    JobProcesses,
    StartError,
    StopConditions,
    find_program,
)
from actionsrunner.engine.rows import Rows, first_line
from actionsrunner.engine.shells import Shell, ShellError, choose_shell
from actionsrunner.engine.state import JobState
from actionsrunner.engine.step_output import StepOutput
from actionsrunner.engine.variables import file_prefixes, step_variables
from actionswire.expressions import ExpressionError, Scope, evaluate_condition
from actionswire.result import Result

UNSECURE_SWITCH: Final = "ACTIONS_ALLOW_UNSECURE_COMMANDS"

_T = TypeVar("_T")


class StepError(Exception):
    """A step that fails without, or besides, its process; the text is its error row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Settings:
    """The evaluated fields of a step that is going to run."""

    script: str
    title: str
    shell: Shell
    cwd: Path
    timeout_s: float | None


@dataclass(slots=True, kw_only=True)
class _StepRun:
    """One step on its way; ``stop`` is what ends it, chosen when its condition was evaluated."""

    step: StepPlan
    stop: asyncio.Event
    env: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    started: bool = False


class StepRunner:
    """Runs steps of one job on the host."""

    def __init__(self, job: JobState, *, processes: JobProcesses, watch: StopWatch, sink: JobSink) -> None:
        self._job = job
        self._processes = processes
        self._watch = watch
        self._sink = sink
        self._rows = Rows(sink, job.options.family)

    async def run(self, step: StepPlan) -> None:
        """Take one step through to its conclusion; never raises for anything a workflow can contain."""
        if self._watch.over.is_set():
            self._skip(step)
            return
        run = _StepRun(step=step, stop=self._watch.phase_end)
        try:
            run.env = await self._evaluated(step, lambda: self._step_env(step))
            scope = self._job.scope(self._job.environment.context(run.env))
            if not await self._evaluated(step, lambda: _decide(step, scope)):
                self._skip(step)
                return
            self._start(run)
            outcome = await self._execute(run)
        except (StepError, FieldError, ShellError, StartError) as error:
            self._start(run)
            self._rows.error(str(error))
            outcome = Result.FAILURE
        self._note_interruption()
        self._conclude(run, outcome)

    def _start(self, run: _StepRun) -> None:
        if not run.started:
            run.started = True
            self._sink.step_started(run.step.index)

    def _skip(self, step: StepPlan) -> None:
        # After an interrupt a step that does not run counts as cancelled on the page, as an unfinished one does.
        result = Result.SKIPPED if self._watch.interruption is None else Result.CANCELLED
        self._job.record(step, Result.SKIPPED, Result.SKIPPED, {})
        self._sink.step_finished(step.index, result)

    def _conclude(self, run: _StepRun, outcome: Result) -> None:
        step, conclusion = run.step, outcome
        if outcome is Result.FAILURE:
            scope = self._job.scope(self._job.environment.context(run.env))
            try:
                if boolean_field(step.continue_on_error, scope, f"{step.label}.continue-on-error"):
                    conclusion = Result.SUCCESS
            except FieldError as error:
                self._rows.error(str(error))
        self._job.record(step, outcome, conclusion, run.outputs)
        self._sink.step_finished(step.index, conclusion)

    def _note_interruption(self) -> None:
        if self._watch.interruption is not None:
            self._job.status = Result.CANCELLED

    async def _evaluated(self, step: StepPlan, evaluate: Callable[[], _T]) -> _T:
        """Evaluate in place, or in a thread when file hashing might take long enough to stall other jobs."""
        texts = (step.run, step.condition, step.env, step.shell, step.working_directory)
        if any("hashfiles" in str(text).lower() for text in texts):
            return await asyncio.to_thread(evaluate)
        return evaluate()

    def _step_env(self, step: StepPlan) -> dict[str, str]:
        visible = self._job.environment.visible(step_variables(step.id, {}))
        return env_field(step.env, self._job.scope(visible), f"{step.label}.env")

    def _settings(self, step: StepPlan, env: Mapping[str, str]) -> _Settings:
        job, plan = self._job, self._job.plan
        scope = job.scope(job.environment.context(env))
        environ = job.environment.for_step({}, env)
        place = text_field(
            step.working_directory or plan.defaults.working_directory or plan.workflow_defaults.working_directory,
            scope,
            f"{step.label}.working-directory",
        )
        cwd = job.directories.workspace / place
        if not _is_directory(cwd):
            raise StepError(f"{step.label}.working-directory: the directory `{place or '.'}` does not exist")
        name = text_field(
            step.shell or plan.defaults.shell or plan.workflow_defaults.shell, scope, f"{step.label}.shell"
        )
        script = text_field(step.run or "", scope, f"{step.label}.run")
        return _Settings(
            script=script,
            title=first_line(script),
            shell=choose_shell(name, lambda program: find_program(program, environ.get("PATH", ""), cwd) is not None),
            cwd=cwd,
            timeout_s=minutes_field(step.timeout_minutes, scope, f"{step.label}.timeout-minutes"),
        )

    async def _execute(self, run: _StepRun) -> Result:
        job, step = self._job, run.step
        settings = await self._evaluated(step, lambda: self._settings(step, run.env))
        if run.stop.is_set():
            return self._stopped(run)
        self._rows.step_header(settings.title, settings.script, settings.shell.template, run.env)
        files, script = self._write_files(step, settings)
        variables = step_variables(step.id, files.variables(file_prefixes(job.options.family)))
        environ = job.environment.for_step(variables, run.env)
        output = StepOutput(job, self._sink, allow_unsecure=environ.get(UNSECURE_SWITCH, "").lower() == "true")
        ending = await self._processes.run(
            self._command(step, settings, script, environ),
            StopConditions(stop=run.stop, forced=self._watch.forced, timeout_s=settings.timeout_s),
            output.take,
        )
        self._note_interruption()
        problems = [*output.effects.errors, *self._collect(files, output.effects)]
        self._keep_summary(step, files)
        run.outputs.update(output.effects.outputs)
        for problem in problems:
            self._rows.error(problem)
        if ending.ended_by is EndedBy.STOP:
            return self._stopped(run)
        return Result.SUCCESS if self._passed(ending, settings) and not problems else Result.FAILURE

    def _command(self, step: StepPlan, settings: _Settings, script: Path, environ: Mapping[str, str]) -> Command:
        name, *arguments = settings.shell.argv(str(script))
        program = find_program(name, environ.get("PATH", ""), settings.cwd)
        if program is None:
            raise StepError(f"Cannot find: {name} in PATH")
        mark = f"{self._job.directories.name}-{step.index}"
        return Command(argv=(program, *arguments), cwd=settings.cwd, env=environ, mark=mark)

    def _write_files(self, step: StepPlan, settings: _Settings) -> tuple[CommandFiles, Path]:
        directory = self._job.directories.scripts
        stem = safe_stem(step.index, step.id)
        script = directory / f"{stem}{settings.shell.extension}"
        try:
            files = CommandFiles.create(directory, stem)
            script.write_text(settings.shell.content(settings.script), encoding="utf-8", errors="replace", newline="")
            script.chmod(0o755)
        except OSError as error:
            raise StepError(f"cannot write the step's files in {directory}: {error.strerror}") from error
        return files, script

    def _collect(self, files: CommandFiles, effects: StepEffects) -> list[str]:
        """Take over what the step wrote, also when it failed; the commands in its output came first."""
        environment, problems = self._job.environment, list[str]()

        def pairs(suffix: str) -> dict[str, str]:
            try:
                return files.pairs(suffix)
            except CommandFileError as error:
                problems.append(str(error))
                return {}

        for refused in environment.write({**effects.env, **pairs("ENV")}):
            self._rows.warning(refused)
        effects.state.update(pairs("STATE"))
        effects.outputs.update(pairs("OUTPUT"))
        try:
            environment.add_paths([*effects.paths, *files.lines("PATH")])
        except CommandFileError as error:
            problems.append(str(error))
        return problems

    def _keep_summary(self, step: StepPlan, files: CommandFiles) -> None:
        try:
            text = files.summary()
        except CommandFileError as error:
            self._rows.warning(str(error))
        else:
            if text.strip():
                self._job.keep_summary(step, text)

    def _passed(self, ending: Ending, settings: _Settings) -> bool:
        if ending.ended_by is EndedBy.TIMEOUT:
            minutes = (settings.timeout_s or 0) / 60
            self._rows.error(f"the step exceeded its limit of {minutes:g} minutes (timeout-minutes)")
            return False
        if ending.code != 0:
            by_signal = f" ({ending.signal_name})" if ending.signal_name else ""
            self._rows.error(f"exit with `FAILURE`: {ending.exit_code}{by_signal}")
        return ending.code == 0

    def _stopped(self, run: _StepRun) -> Result:
        self._rows.error(f"stopped: {self._watch.reason_of(run.stop)}")
        return Result.CANCELLED


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False  # such as a name that is too long


def _decide(step: StepPlan, scope: Scope) -> bool:
    try:
        return evaluate_condition(step.condition, scope)
    except ExpressionError as error:
        raise StepError(f"{step.label}.if: {error}") from error
