"""The variables that the runner itself sets for a job (`CI`, `GITHUB_*`, `RUNNER_*`, `ACTIONS_*`). Pure.

Owns their names and values; which layer they stand in is `environment`'s business.
"""

import platform
from collections.abc import Mapping
from typing import Final

from actionsrunner.core.seams import TaskSpec
from actionsrunner.engine.contexts import instance_url, private_text
from actionsrunner.engine.options import EngineOptions, Family
from actionswire.expressions import Value, to_text
from actionswire.headers import PIPELINE_PREFIX

# Context key -> variable: GITHUB_ + the key in upper case.
_GITHUB_KEYS: Final = (
    "actor",
    "api_url",
    "base_ref",
    "event_name",
    "event_path",
    "head_ref",
    "job",
    "ref",
    "ref_name",
    "ref_type",
    "repository",
    "repository_owner",
    "retention_days",
    "run_id",
    "run_number",
    "run_attempt",
    "server_url",
    "sha",
    "triggering_actor",
    "workflow",
    "workspace",
)
_OS_NAMES: Final = {"Linux": "Linux", "Windows": "Windows", "Darwin": "macOS"}
_ARCH_NAMES: Final = {
    "x86_64": "X64",
    "amd64": "X64",
    "aarch64": "ARM64",
    "arm64": "ARM64",
    "i386": "X86",
    "i686": "X86",
    "armv7l": "ARM",
    "armv6l": "ARM",
}


def runner_os() -> str:
    """The operating system by GitHub's name, e.g. ``Linux``."""
    return _OS_NAMES.get(platform.system(), platform.system())


def runner_arch() -> str:
    """The architecture by GitHub's name, e.g. ``X64``."""
    return _ARCH_NAMES.get(platform.machine().lower(), platform.machine())


def step_debug(task: TaskSpec, options: EngineOptions) -> bool:
    """Tell whether debug rows are wanted: by configuration, or by a secret or variable ``ACTIONS_STEP_DEBUG``."""
    asked = "true" in (task.secrets.get("ACTIONS_STEP_DEBUG", ""), task.vars.get("ACTIONS_STEP_DEBUG", ""))
    return options.step_debug or asked


def file_prefixes(family: Family) -> tuple[str, ...]:
    """Prefixes under which the command files are named."""
    return ("GITHUB_", "GITEA_") if family == "gitea" else ("GITHUB_", "GITEA_", "FORGEJO_")


def image_os(runs_on: Value) -> str:
    """The ``ImageOS`` that set-up tools use in cache keys, e.g. ``ubuntu22``; empty when `runs-on` names none."""
    names = [runs_on] if isinstance(runs_on, str) else runs_on if isinstance(runs_on, list) else []
    for name in names:
        if isinstance(name, str) and name:
            return name.replace("-", "", 1).partition(".")[0]
    return ""


def configured_variables(task: TaskSpec, options: EngineOptions) -> dict[str, str]:
    """Layer 4: service addresses and tokens, the operator's `envs` over them."""
    base = instance_url(task, options)
    family = options.family
    variables = {
        "ACTIONS_RUNTIME_URL": base + PIPELINE_PREFIX,
        "ACTIONS_RESULTS_URL": base,
        "ACTIONS_RUNTIME_TOKEN": runtime_token(task, family),
    }
    oidc = {
        "ACTIONS_ID_TOKEN_REQUEST_URL": private_text(task, "actions_id_token_request_url", family),
        "ACTIONS_ID_TOKEN_REQUEST_TOKEN": private_text(task, "actions_id_token_request_token", family),
    }
    variables |= {name: value for name, value in oidc.items() if value or family == "forgejo"}
    if options.set_act_env:
        variables["ACT"] = "true"
    return variables | dict(options.envs)


def runtime_token(task: TaskSpec, family: Family) -> str:
    """The bearer of artifact and cache calls: the runtime token, else the job's token."""
    return private_text(task, "runtime_token", family) or to_text(task.context.get("token"))


def runner_context(options: EngineOptions, temp: str, tool_cache: str, *, debug: bool) -> dict[str, Value]:
    """Build the context `runner`."""
    context: dict[str, Value] = {
        "os": runner_os(),
        "arch": runner_arch(),
        "name": options.runner_name,
        "temp": temp,
        "tool_cache": tool_cache,
        "environment": "self-hosted",
    }
    return context | {"debug": "1"} if debug else context


def runner_variables(
    github: Mapping[str, Value], runner: Mapping[str, Value], options: EngineOptions, runs_on: Value
) -> dict[str, str]:
    """Layer 6: what identifies run, job and runner; the same for all steps of a job.

    Args:
        github: the complete `github` context.
        runner: the complete `runner` context.
        options: the runner's settings.
        runs_on: the job's evaluated `runs-on`.
    Source: docs/running-jobs.md, "Variables".
    """
    variables = {"CI": "true", "GITHUB_ACTIONS": "true", "GITEA_ACTIONS": "true"}
    variables |= {f"GITHUB_{key.upper()}": to_text(github.get(key)) for key in _GITHUB_KEYS}
    variables |= {f"RUNNER_{key.upper()}": to_text(value) for key, value in runner.items()}
    variables |= {
        "RUNNER_TRACKING_ID": "",
        "RUNNER_PERFLOG": "/dev/null",
        "RUNNER_WORKSPACE": to_text(github.get("workspace")).rpartition("/")[0],
        "GITEA_ACTIONS_RUNNER_VERSION": options.runner_version,
    }
    if name := image_os(runs_on):
        variables["ImageOS"] = name
    return variables | _family_variables(variables, github, options)


def _family_variables(
    variables: Mapping[str, str], github: Mapping[str, Value], options: EngineOptions
) -> dict[str, str]:
    if options.family == "gitea":
        return {"GITHUB_GRAPHQL_URL": "", "GITEA_RUN_ID": to_text(github.get("run_id"))}
    more = {"GITHUB_WORKFLOW_REF": to_text(github.get("workflow_ref")), "GITHUB_TOKEN": to_text(github.get("token"))}
    named = {name: value for name, value in {**variables, **more}.items() if name.startswith("GITHUB_")}
    twins = {name.replace("GITHUB_", "FORGEJO_", 1): value for name, value in named.items()}
    return more | twins | {"FORGEJO_ACTIONS_RUNNER_VERSION": options.runner_version}


def step_variables(step_id: str, files: Mapping[str, str]) -> dict[str, str]:
    """Layer 6 for one step: its name as an action, and where its command files are."""
    action = {
        "GITHUB_ACTION": step_id,
        "GITHUB_ACTION_PATH": "",
        "GITHUB_ACTION_REF": "",
        "GITHUB_ACTION_REPOSITORY": "",
    }
    return action | dict(files)
