"""`mockgitea reset`: make a running server as new."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "reset",
        help="make a running server as new",
        description="Make a running server as new: no runs, runners, secrets, faults, journal or counters. "
        "Clock, seed and settings stay.",
    )
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def reset(client: "ControlClient") -> int:
        client.call("POST", "/reset")
        print("the server is as new")
        return 0

    return run_with_client(options, reset)
