"""`mockgitea enqueue`: hand workflow files to a running server, and wait for their runs if asked."""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockgitea.commands import durations
from mockgitea.commands.client import CommandFailed, add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient

WORKFLOW_BYTES_MAX: Final = 1024 * 1024
POLL_S: Final = 0.25
"""How often --wait looks; a person does not see the difference to a push."""
FINAL: Final = frozenset(("success", "failure", "cancelled", "skipped"))
GOOD: Final = frozenset(("success", "skipped"))


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "enqueue",
        help="hand workflow files to a running server",
        description="Hand workflow files to a running server: each becomes a run whose jobs runners can fetch.",
        epilog="Exit code: 0 all good, 1 refused or (with --wait) a run did not succeed, 2 wrong usage.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE", help="workflow file; - reads standard input")
    parser.add_argument("--event", default="", help="event that triggers it (default: push, or the file's first)")
    parser.add_argument(
        "--input", action="append", default=[], metavar="KEY=VALUE", help="input of workflow_dispatch; repeatable"
    )
    parser.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="KEY[=VALUE]",
        help="secret of the repository; without a value it is taken from the environment variable KEY; repeatable",
    )
    parser.add_argument(
        "--var", action="append", default=[], metavar="KEY=VALUE", help="variable of the repository; repeatable"
    )
    parser.add_argument("--repository", default="demo/demo", metavar="OWNER/NAME", help="default: %(default)s")
    parser.add_argument("--create-repository", action="store_true", help="create the repository if it is missing")
    parser.add_argument("--ref", help="git ref, such as refs/heads/main or refs/tags/v1 (default: the main branch)")
    parser.add_argument("--actor", default="", help="user who triggers it (default: the repository's owner)")
    parser.add_argument("--wait", action="store_true", help="wait until every run has ended")
    parser.add_argument(
        "--timeout", default="1h", metavar="DURATION", help="longest wait, such as 10m (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    return run_with_client(options, lambda client: _enqueue(client, options))


def _enqueue(client: "ControlClient", options: argparse.Namespace) -> int:
    timeout_s = duration_option("--timeout", options.timeout)
    # Every file is read before the first is sent, so that a wrong name does not leave half of the work done.
    bodies = [request_body(options, file) for file in options.files]
    made = []
    for body in bodies:
        made.append(client.call("POST", "/enqueue", body))
        if not options.json:
            _print_made(made[-1])
    if not options.wait:
        if options.json:
            print(json.dumps(made, indent=2))
        return 0
    ended = [_wait(client, run["run_id"], time.monotonic() + timeout_s) for run in made]
    if options.json:
        print(json.dumps(ended, indent=2))
    else:
        for run in ended:
            print_run(run)
    return 0 if all(run["status"] in GOOD for run in ended) else 1


def _print_made(run: Mapping[str, Any]) -> None:
    jobs = ", ".join(job["name"] for job in run["jobs"])
    print(f"run {run['run_id']} (#{run['run_number']} of {run['repository']}) {run['status']}: {jobs}")


def request_body(options: argparse.Namespace, file: str) -> dict[str, Any]:
    """Return the body of the control call for one workflow file."""
    body: dict[str, Any] = {
        "repository": options.repository,
        "workflow_file": "workflow.yml" if file == "-" else Path(file).name,
        "workflow": _read(file),
        "event": options.event,
        "inputs": pairs("--input", options.input),
        "secrets": secrets("--secret", options.secret, options.environ),
        "vars": pairs("--var", options.var),
        "create_repository": options.create_repository,
        "actor": options.actor,
    }
    if options.ref:
        body["ref"] = options.ref
    return body


def pairs(option: str, given: Sequence[str]) -> dict[str, str]:
    """Split `KEY=VALUE` texts; raises `CommandFailed` naming the option."""
    found = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key or not sign:
            raise CommandFailed(f"{option}: write KEY=VALUE, got {text!r}")
        found[key] = value
    return found


def secrets(option: str, given: Sequence[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Split `KEY=VALUE` texts and look `KEY` alone up in the environment; raises `CommandFailed` naming the option."""
    found = {}
    for text in given:
        key, sign, value = text.partition("=")
        if not key:
            raise CommandFailed(f"{option}: write KEY=VALUE, or KEY to take it from the environment")
        if not sign and key not in environ:
            raise CommandFailed(f"{option}: the environment has no variable {key}; set it or write {key}=VALUE")
        found[key] = value if sign else environ[key]
    return found


def duration_option(option: str, text: str) -> float:
    """Return a duration in seconds; raises `CommandFailed` naming the option."""
    try:
        return durations.seconds(text)
    except ValueError as error:
        raise CommandFailed(f"{option}: {error}") from error


def print_run(run: Mapping[str, Any]) -> None:
    """Print a run and its jobs in a few lines."""
    print(f"run {run['id']} {run['status']}")
    for job in run["jobs"]:
        reason = f" ({job['failure_reason']})" if job["failure_reason"] else ""
        print(f"  {job['name']}: {job['status']}{reason}")


def _read(file: str) -> str:
    try:
        raw = sys.stdin.buffer.read(WORKFLOW_BYTES_MAX + 1) if file == "-" else _read_file(Path(file))
    except OSError as error:
        raise CommandFailed(f"{file}: {error.strerror or error}") from error
    if len(raw) > WORKFLOW_BYTES_MAX:
        raise CommandFailed(f"{file}: larger than {WORKFLOW_BYTES_MAX} bytes, which no workflow file is")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{file}: not UTF-8 text") from error


def _read_file(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(WORKFLOW_BYTES_MAX + 1)


def _wait(client: "ControlClient", run_id: int, deadline: float) -> dict[str, Any]:
    """Poll one run until it has ended; raises `CommandFailed` at the deadline (monotonic seconds)."""
    while True:
        run: dict[str, Any] = client.call("GET", f"/runs/{run_id}")
        if run["status"] in FINAL and all(job["status"] in FINAL for job in run["jobs"]):
            return run
        if time.monotonic() >= deadline:
            raise CommandFailed(f"run {run_id} is still {run['status']} after the --timeout; it goes on")
        time.sleep(POLL_S)
