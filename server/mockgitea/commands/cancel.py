"""`mockgitea cancel`: cancel a run."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.enqueue import print_run

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "cancel",
        help="cancel a run",
        description="Cancel everything of a run that has not ended. Its runners learn it from their next report.",
    )
    parser.add_argument("run", type=int, metavar="RUN", help="number of the run, as `enqueue` prints it")
    parser.add_argument("--force", action="store_true", help="end running tasks at once, without post steps")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def cancel(client: "ControlClient") -> int:
        print_run(client.call("POST", f"/runs/{options.run}/cancel", {"force": options.force}))
        return 0

    return run_with_client(options, cancel)
