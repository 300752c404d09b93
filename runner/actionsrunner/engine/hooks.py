"""The operator's scripts before the first and after the last step.

Owns how they are started: directly, in the job's environment, with their output among the set-up or closing rows. The
workflow commands in their output only mask; they belong to no step.
"""

import os
from pathlib import Path

from actionsrunner.core.seams import JobSink
from actionsrunner.engine.interrupts import StopWatch
from actionsrunner.engine.process import Command, EndedBy, JobProcesses, StartError, StopConditions
from actionsrunner.engine.state import JobState
from actionsrunner.engine.step_output import StepOutput


class HookError(Exception):
    """A hook that failed; the text says how."""


async def run_hook(script: Path, job: JobState, *, processes: JobProcesses, watch: StopWatch, sink: JobSink) -> None:
    """Run one hook script to its end, at most ``hook_timeout_s``.

    Args:
        script: an executable file.
        job: gives the environment and the workspace, which is the working directory.
        processes: starts it and cleans up after it.
        watch: stops it.
        sink: takes its rows.

    Raises:
        HookError: it is no executable file, exited with another code than 0, or was stopped.
    """
    program = _program(script)

    output = StepOutput(job, sink)
    command = Command(
        argv=(program,),
        cwd=job.directories.workspace,
        env=job.environment.for_step({}, {}),
        mark=f"{job.directories.name}-hook",
    )
    # A cancel that came before a hook must not stop it, only one that comes while it runs or its own limit.
    conditions = StopConditions(stop=watch.phase_end, forced=watch.forced, timeout_s=job.options.hook_timeout_s)
    try:
        ending = await processes.run(command, conditions, output.take)
    except StartError as error:
        raise HookError(str(error)) from error
    if ending.ended_by is not EndedBy.ITSELF:
        raise HookError(f"{script} was stopped")
    if ending.code != 0:
        raise HookError(f"{script} exited with code {ending.exit_code}")


def _program(script: Path) -> str:
    if not (script.is_file() and os.access(script, os.X_OK)):
        raise HookError(f"{script} is no executable file")
    return str(script.resolve())
