"""What the engine is told once about the runner it works for.

Owns the option record, its defaults and the limits that are settings. It knows nothing of a particular task.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from actionswire.labels import Label

Family = Literal["gitea", "forgejo"]


def _process_environment() -> dict[str, str]:
    return dict(os.environ)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Everything `run_job` needs besides the task; durations are seconds.

    ``workdir_parent`` is made when missing; every job gets a directory of its own below it. ``envs`` goes into every
    job's environment above the workflow's and the job's own `env`. ``host_env`` is the lowest layer, by default this
    process's environment. ``job_started`` and ``job_completed`` are optional hook scripts, started directly and so
    executable. The interrupt, terminate and kill signals of a stopped step are ``interrupt_grace_s`` and
    ``terminate_grace_s`` apart. ``post_task_grace_s`` is the fresh budget in which steps with `always()` or
    `cancelled()` run after a cancel or a job timeout. ``pipe_grace_s`` bounds the wait for output after a step's
    process ended while a background process holds the pipe.
    """

    workdir_parent: Path
    labels: tuple[Label, ...]
    runner_name: str
    runner_version: str
    instance_url: str = ""
    envs: Mapping[str, str] = field(default_factory=dict)
    job_timeout_s: float = 10_800.0
    family: Family = "gitea"
    set_act_env: bool = True
    step_debug: bool = False
    tool_cache_shared: bool = False
    host_env: Mapping[str, str] = field(default_factory=_process_environment)
    job_started: Path | None = None
    job_completed: Path | None = None
    post_task_grace_s: float = 300.0
    hook_timeout_s: float = 60.0
    interrupt_grace_s: float = 7.5
    terminate_grace_s: float = 2.5
    pipe_grace_s: float = 10.0
    cleanup_timeout_s: float = 30.0
