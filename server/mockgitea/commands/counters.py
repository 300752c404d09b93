"""`mockgitea counters`: show how many calls the server answered, by method and outcome."""

import argparse
import json
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "counters",
        help="show how many calls were answered, and how",
        description="Show how many calls the server answered since its start or last reset, by method and outcome.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, with the totals of each runner")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def show(client: "ControlClient") -> int:
        counters = client.call("GET", "/counters")
        if options.json:
            print(json.dumps(counters, indent=2))
            return 0
        # Rich costs 100 ms to import, and only the table needs it.
        from rich.console import Console  # noqa: PLC0415
        from rich.table import Table  # noqa: PLC0415

        table = Table("method", "outcome", "calls")
        for method, outcomes in counters["calls"].items():
            for outcome, calls in outcomes.items():
                table.add_row(method, outcome, str(calls))
        table.add_row("total", "", str(counters["total"]))
        Console().print(table)
        return 0

    return run_with_client(options, show)
