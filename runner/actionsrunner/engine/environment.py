"""Environment layering: which value of a variable a step sees. Pure.

Layers, later ones win: 1 host, 2 workflow `env`, 3 job `env`, 4 runner configuration, 5 what steps wrote to
`GITHUB_ENV`, 6 the variables the runner sets, 7 the step's own `env`. Layers 2 to 5 share one map, so a later write
beats an earlier one.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

RESERVED_PREFIXES: Final = ("GITHUB_", "GITEA_", "FORGEJO_", "RUNNER_")
"""Names that a step cannot write through `GITHUB_ENV`; they belong to the runner."""

_REFUSED_NAMES: Final = frozenset({"NODE_OPTIONS"})
# Variables of the machine or of an outer job that would mislead a job or give it the runner's own credentials.
_HOST_PREFIXES_KEPT_BACK: Final = (*RESERVED_PREFIXES, "ACTIONS_", "ACTIONSRUNNER_", "INPUT_", "STATE_")
_HOST_NAMES_KEPT_BACK: Final = frozenset(
    {"CREDENTIALS_DIRECTORY", "NOTIFY_SOCKET", "INVOCATION_ID", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES"}
)


def host_layer(environ: Mapping[str, str]) -> dict[str, str]:
    """Leave out of the runner's own environment what a job must not see."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _HOST_NAMES_KEPT_BACK and not name.startswith(_HOST_PREFIXES_KEPT_BACK)
    }


@dataclass(slots=True)
class JobEnvironment:
    """The environment of a job as it grows from step to step.

    ``host`` is layer 1, ``declared`` layers 2 to 5, ``runner`` layer 6; ``paths`` are the additions to PATH, newest
    first.
    """

    host: Mapping[str, str]
    declared: dict[str, str] = field(default_factory=dict)
    runner: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)

    def declare(self, values: Mapping[str, str]) -> None:
        """Lay ``values`` over what is declared so far."""
        self.declared.update(values)

    def write(self, values: Mapping[str, str]) -> list[str]:
        """Take what a step wrote to `GITHUB_ENV`.

        Returns:
            One message for each name that was refused; the others are set.
        """
        refused = []
        for name, value in values.items():
            if "\0" in name + value or "=" in name:
                refused.append(f"{name!r} cannot be an environment variable; it was ignored")
            elif name in _REFUSED_NAMES:
                refused.append(f"{name} cannot be set through $GITHUB_ENV; it was ignored")
            elif name.startswith(RESERVED_PREFIXES):
                refused.append(f"{name} belongs to the runner and cannot be set through $GITHUB_ENV; it was ignored")
            else:
                self.declared[name] = value
        return refused

    def add_paths(self, paths: Iterable[str]) -> None:
        """Put each entry in front of PATH, the last one first; an entry that is there already moves to the front."""
        for path in paths:
            if path in self.paths:
                self.paths.remove(path)
            self.paths.insert(0, path)

    def visible(self, step_variables: Mapping[str, str]) -> dict[str, str]:
        """What `env` holds while a step's own `env` is evaluated: all layers below it."""
        return {**self.host, **self.declared, **self.runner, **step_variables}

    def context(self, step_env: Mapping[str, str]) -> dict[str, str]:
        """What the context `env` holds for a step: declared values and the step's own, without host and runner."""
        return {**self.declared, **step_env}

    def for_step(self, step_variables: Mapping[str, str], step_env: Mapping[str, str]) -> dict[str, str]:
        """Build a step's process environment.

        Args:
            step_variables: the runner's variables that differ per step, such as `GITHUB_ENV`.
            step_env: the step's own `env`, evaluated.
        """
        environ = {**self.visible(step_variables), **step_env}
        base = environ.get("PATH", "")
        entries = [*self.paths, base] if base else self.paths
        if entries:
            environ["PATH"] = os.pathsep.join(entries)
        return environ
