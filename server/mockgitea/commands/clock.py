"""`mockgitea clock`: show the server's clock or move it forward."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.enqueue import duration_option

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand with its own two."""
    parser = subparsers.add_parser(
        "clock",
        help="show or move the server's clock",
        description="Show the server's clock, or move it. It moves when the server runs with --clock offset or manual.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    show = actions.add_parser("show", help="print the server's time", description="Print the server's time.")
    add_server_options(show)
    advance = actions.add_parser(
        "advance",
        help="move the clock forward",
        description="Move the clock forward: every timeout that falls due acts at once, on all tasks.",
    )
    advance.add_argument("duration", metavar="DURATION", help="such as 10m, 1h30m or 500ms")
    add_server_options(advance)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def work(client: "ControlClient") -> int:
        if options.action == "advance":
            seconds = duration_option("DURATION", options.duration)
            clock = client.call("POST", "/clock/advance", {"seconds": seconds})
        else:
            clock = client.call("GET", "/clock")
        print(f"{clock['now']} ({clock['mode']})")
        return 0

    return run_with_client(options, work)
