"""The rows that the runner itself writes: set-up facts, step headers, failures, closing words.

Owns their texts and order. Pure but for the operating system's name, which is read by the caller's function.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from actionsrunner.core.seams import JobSink, TaskSpec
from actionsrunner.engine.contexts import context_text
from actionsrunner.engine.options import EngineOptions, Family
from actionsrunner.engine.output_lines import split_rows
from actionsrunner.engine.variables import runner_arch, runner_os
from actionswire.expressions import to_text
from actionswire.result import Result

_OS_RELEASE: Final = Path("/etc/os-release")
_HIDDEN_NAMES: Final = frozenset({"PATH", "HOME", "CI"})
_HIDDEN_PREFIXES: Final = ("GITHUB_", "GITEA_", "FORGEJO_", "RUNNER_", "INPUT_")
_CLOSING_WORDS: Final = {
    Result.SUCCESS: "Job succeeded",
    Result.FAILURE: "Job failed",
    Result.CANCELLED: "Job cancelled",
}


class Rows:
    """Writes messages to a sink as clean rows, in the group form that the family's page folds."""

    def __init__(self, sink: JobSink, family: Family) -> None:
        self._sink = sink
        self._bracket = family == "forgejo"

    def write(self, text: str) -> None:
        """Log a message, one row per line."""
        for row in split_rows(text):
            self._sink.log(row)

    def error(self, text: str) -> None:
        """Log a failure; every line is marked, so that none looks like output."""
        for row in split_rows(text):
            self._sink.log(f"##[error]{row}")

    def warning(self, text: str) -> None:
        """Log something that does not fail the job."""
        for row in split_rows(text):
            self._sink.log(f"##[warning]{row}")

    def group(self, title: str, lines: Iterable[str]) -> None:
        """Log lines that the page folds under ``title``."""
        self.write(f"##[group]{title}" if self._bracket else f"::group::{title}")
        for line in lines:
            self.write(line)
        self.write("##[endgroup]" if self._bracket else "::endgroup::")

    def setup(self, task: TaskSpec, options: EngineOptions, job: str) -> None:
        """Log who runs what: runner, task and system facts.

        Source: docs/running-jobs.md, "Rows of the runner".
        """
        runner = f"{options.runner_name}(version:{options.runner_version})"
        event = context_text(task, "event_name")
        if options.family == "forgejo":
            self.write(f"{runner} received task {task.id} of job {job}, be triggered by event: {event}")
            return
        self.write(runner)
        labels = ", ".join(label.name for label in options.labels)
        facts = [f"Runner labels: {labels}"] if labels else []
        facts += [
            f"Task: {task.id}",
            f"Job: {job}",
            f"Repository: {context_text(task, 'repository')}",
            f"Triggered by event: {event}",
        ]
        self.group("Runner Information", facts)
        if inputs := _inputs(task.context.get("event")):
            self.group("Inputs", [f"{name}: {to_text(inputs[name])}" for name in sorted(inputs)])
        self.group("Operating System", [name for name in (os_name(), f"{runner_os()}/{runner_arch()}") if name])

    def step_header(self, title: str, script: str, shell: str, env: Mapping[str, str]) -> None:
        """Log what a step is going to run."""
        self.group(f"Run {title}", [*script.removesuffix("\n").split("\n"), f"shell: {shell}", *_env_rows(env)])

    def closing(self, result: Result) -> None:
        """Log how the job ended."""
        if words := _CLOSING_WORDS.get(result):
            self.write(words)


def _inputs(event: Any) -> Mapping[str, Any]:
    inputs = event.get("inputs") if isinstance(event, Mapping) else None
    return inputs if isinstance(inputs, Mapping) else {}


def _env_rows(env: Mapping[str, str]) -> Sequence[str]:
    rows = []
    for name, value in env.items():
        if name in _HIDDEN_NAMES or name.startswith(_HIDDEN_PREFIXES):
            continue
        first, *more = value.split("\n")
        rows += [f"  {name}: {first}", *(f"    {line}" for line in more)]
    return ["env:", *rows] if rows else []


def os_name(read: Callable[[], str] = lambda: _OS_RELEASE.read_text(encoding="utf-8", errors="replace")) -> str:
    """The distribution's name, e.g. ``Debian GNU/Linux 13 (trixie)``; empty where none is given."""
    try:
        text = read()
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.strip().partition("=")
        if key == "PRETTY_NAME":
            return value.strip("\"'")
    return ""


def first_line(script: str) -> str:
    """The first line of a script that is not blank; names a step without a name."""
    return next((line.strip() for line in script.split("\n") if line.strip()), "")
