"""`mockgitea rerun`: run an ended run again, in whole or in part."""

import argparse
from typing import TYPE_CHECKING

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.enqueue import print_run

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "rerun",
        help="run an ended run again",
        description="Run an ended run again: all of it, its failed jobs, or one job. Dependants are run again too.",
    )
    parser.add_argument("run", type=int, metavar="RUN", help="number of the run, as `enqueue` prints it")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--failed", action="store_true", help="only failed and cancelled jobs")
    part.add_argument("--job", type=int, metavar="ID", help="only this job")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""

    def rerun(client: "ControlClient") -> int:
        body = {"job_id": options.job, "failed_only": options.failed}
        print_run(client.call("POST", f"/runs/{options.run}/rerun", body))
        return 0

    return run_with_client(options, rerun)
