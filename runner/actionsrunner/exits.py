"""The exit statuses of the `actionsrunner` command, as documented in docs/runner.md."""

from enum import IntEnum


class Exit(IntEnum):
    """Why the process ended."""

    OK = 0
    FAILED = 1
    """A job of `exec` failed, registration was refused, the configuration is unusable, or something crashed."""
    USAGE = 2
    """The command line makes no sense."""
    UNREGISTERED = 3
    """The server does not know this runner: register it again."""
    SERVER_TOO_OLD = 4
    """The server has no Declare; Gitea 1.21 or newer is needed."""
    ALREADY_RUNNING = 5
    """Another process uses the same `.runner` file."""
    FORCED = 130
    """Signals ended the process before all reports were delivered."""
