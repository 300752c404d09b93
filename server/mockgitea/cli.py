"""The `mockgitea` command: finds the subcommand, imports only that one, and is the only reader of the environment."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Final

from mockgitea import __version__

COMMANDS: Final = {
    "serve": "start the server",
    "enqueue": "hand workflow files to a running server",
    "runner": "create runners on a running server and print their `.runner` files",
    "token": "show or renew a registration token of a running server",
    "watch": "follow a run in the terminal",
    "cancel": "cancel a run",
    "rerun": "run an ended run again",
    "clock": "show or move the server's clock",
    "age-task": "make one task older",
    "counters": "show how many calls were answered, and how",
    "fault": "make a running server misbehave",
    "downtime": "take the runner port of a running server down for a while",
    "journal": "show or export recorded calls",
    "audit": "check recorded calls against the rules of the protocol",
    "replay": "play a recorded runner session against a server",
    "lab": "compare polling and reporting strategies",
    "reset": "make a running server as new",
}
EXIT_USAGE: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code: 0 done, 1 failed, 2 wrong usage or settings."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    chosen = next((argument for argument in given if not argument.startswith("-")), "")
    options = _parser(chosen).parse_args(given)
    if options.command is None:
        _parser("").print_help()
        return EXIT_USAGE
    options.environ = dict(os.environ)
    try:
        return int(_module(options.command).run(options))
    except KeyboardInterrupt:
        return 130


def _parser(chosen: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="mockgitea", description="A mock Gitea Actions server for integration tests of CI runners and CI servers."
    )
    parser.add_argument("--version", action="version", version=f"mockgitea {__version__} (a mock, not Gitea)")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        # Only the chosen command is imported: `--help` and every small command stay fast.
        if name == chosen:
            _module(name).add_parser(subparsers)
        else:
            subparsers.add_parser(name, help=text, add_help=False)
    return parser


def _module(name: str):  # type: ignore[no-untyped-def]
    return importlib.import_module(f"mockgitea.commands.{name.replace('-', '_')}")
