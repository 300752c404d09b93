"""`mockgitea age-task`: make one task older, so that a reaper finds it and no other."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.enqueue import duration_option

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "age-task",
        help="make one task older",
        description="Make one task older, so that a reaper finds it while all others stay young: 11m makes a zombie.",
    )
    parser.add_argument("task", type=int, metavar="TASK", help="number of the task")
    parser.add_argument("duration", metavar="DURATION", help="such as 11m, 1h30m or 500ms")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def age(client: "ControlClient") -> int:
        body = {"seconds": duration_option("DURATION", options.duration)}
        task = client.call("POST", f"/tasks/{options.task}/age", body)
        print(f"task {task['id']} {task['status']}, last updated {task['updated_at']}")
        return 0

    return run_with_client(options, age)
