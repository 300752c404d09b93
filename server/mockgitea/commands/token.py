"""`mockgitea token`: show or renew a registration token of a running server."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client, scope_of

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "token",
        help="show or renew a registration token of a running server",
        description="Print the registration token that runners register with.",
    )
    parser.add_argument("--scope", default="", metavar="OWNER[/NAME]", help="default: the whole server")
    parser.add_argument("--reset", action="store_true", help="make a new one; older ones of the scope stop working")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def show(client: "ControlClient") -> int:
        body = {"scope": scope_of(options.scope), "reset": options.reset}
        print(client.call("POST", "/registration-tokens", body)["token"])
        return 0

    return run_with_client(options, show)
