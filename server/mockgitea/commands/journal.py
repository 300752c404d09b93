"""`mockgitea journal`: show, query and export the calls that a server recorded."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockgitea.commands.client import CommandFailed, add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "journal",
        help="show or export recorded calls",
        description="Show the calls on the runner's ports, oldest first, or export all of them to a file.",
        epilog="Tokens and secrets are masked. Exit code: 0 done, 1 refused or failed, 2 wrong usage.",
    )
    parser.add_argument("--method", action="append", default=[], help="only this method; repeatable")
    parser.add_argument("--runner", default="", metavar="NAME", help="only this runner, by name or UUID")
    parser.add_argument("--outcome", action="append", default=[], help="only this outcome; repeatable")
    parser.add_argument("--task", type=int, metavar="ID", help="only calls about this task")
    parser.add_argument("--limit", type=int, default=50, help="only the newest so many (default: %(default)s)")
    parser.add_argument("--format", choices=("text", "json", "jsonl", "har"), default="text", help="default: text")
    parser.add_argument("--output", metavar="FILE", help="with jsonl or har: write to a file")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    return run_with_client(options, lambda client: _journal(client, options))


def _journal(client: "ControlClient", options: argparse.Namespace) -> int:
    if options.format in ("jsonl", "har"):
        if options.method or options.runner or options.outcome or options.task is not None:
            raise CommandFailed(f"--format: {options.format} exports everything; leave the filters out")
        return _export(client, options)
    if options.output:
        raise CommandFailed("--output: only with --format jsonl or har")
    wanted = {"method": options.method, "outcome": options.outcome, "runner": options.runner, "task": options.task}
    match = {name: value for name, value in wanted.items() if value not in ([], "", None)}
    answer = client.call("POST", "/journal/query", {"match": match, "limit": options.limit})
    if options.format == "json":
        print(json.dumps(answer["entries"], indent=2))
        return 0
    for entry in answer["entries"]:
        print(_line(entry))
    print(f"{answer['matched']} of {answer['recorded']} recorded calls; {answer['evicted_total']} were evicted")
    return 0


def _export(client: "ControlClient", options: argparse.Namespace) -> int:
    text = client.text("/journal/export", query={"format": options.format})
    if not options.output:
        sys.stdout.write(text)
        return 0
    path = Path(options.output)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"--output: cannot write {path} ({error.strerror})") from error
    print(f"the recorded session is in {path}")
    return 0


def _line(entry: dict[str, Any]) -> str:
    what = entry["method"] if entry["request"] is not None else f"{entry['method']} {entry['verb']} {entry['path']}"
    parts = [f"#{entry['number']}", entry["at"], what, entry["runner_uuid"][:8], f"-> {entry['outcome']}"]
    if entry["code"]:
        parts.append(f"({entry['status']} {entry['code']})")
    if entry["fault"]:
        parts.append(f"[fault {entry['fault']}]")
    if entry["duration_s"] is not None:
        parts.append(f"{entry['duration_s'] * 1000:.1f} ms")
    return " ".join(part for part in parts if part)
