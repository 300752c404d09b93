"""The command line: parse arguments, call one command, exit with its status.

Each command lives in a module of its own that is imported when it is called, so that `--help` starts at once.
"""

import argparse
import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Final

_COMMANDS: Final = {
    "register": "actionsrunner.commands.register",
    "daemon": "actionsrunner.commands.daemon",
    "exec": "actionsrunner.commands.exec_local",
    "generate-config": "actionsrunner.commands.generate_config",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `actionsrunner` with ``arguments`` (by default the process's); return the exit status."""
    parser = _build_parser()
    args = parser.parse_args(arguments)
    if args.version:
        sys.stdout.write(f"actionsrunner {importlib.import_module('actionsrunner.version').runner_version()}\n")
        return 0
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    run: Callable[[argparse.Namespace], int] = importlib.import_module(_COMMANDS[args.command]).run
    try:
        return run(args)
    except KeyboardInterrupt:
        return 130


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actionsrunner",
        description="A runner for Gitea Actions and Forgejo Actions that executes jobs on this host.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    parser.add_argument("-c", "--config", metavar="FILE", help="configuration file; without it the defaults hold")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("-c", "--config", metavar="FILE", default=argparse.SUPPRESS, help="configuration file")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_register(commands.add_parser("register", parents=[common], help="register with a server, write .runner"))
    _add_daemon(commands.add_parser("daemon", parents=[common], help="fetch tasks and run them until stopped"))
    _add_exec(commands.add_parser("exec", parents=[common], help="run a workflow file here, without a server"))
    commands.add_parser("generate-config", parents=[common], help="print a configuration file with every default")
    return parser


def _add_register(parser: argparse.ArgumentParser) -> None:
    parser.description = "Register with a server. What is not given is asked for, unless --no-interactive."
    parser.add_argument("--no-interactive", action="store_true", help="ask nothing; fail when something is missing")
    parser.add_argument("--instance", metavar="URL", default="", help="base URL of the server")
    parser.add_argument("--token", metavar="T", default="", help="registration token; shows in process lists")
    parser.add_argument("--token-file", metavar="F", default="", help="file that holds the registration token")
    parser.add_argument("--name", metavar="N", default="", help="name shown to people (default: the host's)")
    parser.add_argument("--labels", metavar="A,B", default="", help="labels as name:scheme, separated by commas")
    parser.add_argument("--ephemeral", action="store_true", help="a runner for one task, removed by the server after")


def _add_daemon(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Fetch tasks and run them. Without a .runner file it registers first, if GITEA_INSTANCE_URL and "
        "GITEA_RUNNER_REGISTRATION_TOKEN (or ..._TOKEN_FILE) are set."
    )
    parser.add_argument("--once", action="store_true", help="leave after one task")
    parser.add_argument("--labels", metavar="A,B", default="", help="labels instead of the configured ones")


def _add_exec(parser: argparse.ArgumentParser) -> None:
    parser.description = "Run the jobs of a workflow file on this host, without a server, and print their rows."
    parser.add_argument("file", metavar="FILE", help="workflow file")
    parser.add_argument("-j", "--job", metavar="ID", default="", help="run this job and those it needs")
    parser.add_argument("-E", "--event", metavar="NAME", default="push", help="event name (default: push)")
    parser.add_argument("-s", "--secret", metavar="K=V", action="append", default=[], help="a secret; bare K reads $K")
    parser.add_argument("--var", metavar="K=V", action="append", default=[], help="a variable of the vars context")
    parser.add_argument("--env", metavar="K=V", action="append", default=[], help="an environment variable")
