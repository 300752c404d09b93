"""`mockgitea audit`: check recorded calls against the built-in rules, on a running server or in an exported file."""

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mockgitea.commands.client import CommandFailed, add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient

EXIT_FINDINGS = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "audit",
        help="check recorded calls against the rules of the protocol",
        description="Check the calls of a running server, or of an exported journal, against the built-in rules.",
        epilog="Exit code: 0 no rule was broken, 1 findings or a failure, 2 wrong usage.",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="exported journal (jsonl); default: a running server")
    parser.add_argument(
        "--capacity",
        action="append",
        default=[],
        metavar="RUNNER=NUMBER",
        help="most tasks at once of a runner, by name or UUID; repeatable",
    )
    parser.add_argument(
        "--stopped",
        action="append",
        default=[],
        metavar="RUNNER=CALL",
        help="number of the last call that had begun when the runner was told to stop; repeatable",
    )
    parser.add_argument(
        "--heartbeat", type=float, default=60.0, metavar="SECONDS", help="longest silence (default: %(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    if options.file:
        return run_with_client(options, lambda _client: _show(_audit_file(options), options))
    return run_with_client(options, lambda client: _show(_audit_server(client, options), options))


def _audit_server(client: "ControlClient", options: argparse.Namespace) -> dict[str, Any]:
    query = {"capacity": options.capacity, "stopped": options.stopped, "heartbeat_s": options.heartbeat}
    report: dict[str, Any] = client.call("GET", "/audit", query=query)
    return report


def _audit_file(options: argparse.Namespace) -> dict[str, Any]:
    # Imported here because only a file is judged in this process.
    from mockgitea.core.audit import audit  # noqa: PLC0415

    session = read_session(Path(options.file))
    facts = session.facts(
        capacity=_numbers("--capacity", options.capacity),
        stopped=_numbers("--stopped", options.stopped),
        heartbeat_s=options.heartbeat,
    )
    return audit(session.records(), facts).as_json()


def read_session(path: Path) -> Any:
    """Read an exported journal; raises `CommandFailed` naming the file and what is wrong."""
    from mockgitea.verify.session import Session, SessionError  # noqa: PLC0415 - see `_audit_file`

    try:
        with path.open(encoding="utf-8") as file:
            return Session.from_lines(file)
    except SessionError as error:
        raise CommandFailed(f"{path}: {error}") from error
    except OSError as error:
        raise CommandFailed(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise CommandFailed(f"{path}: not UTF-8 text; this is no exported journal") from error


def _numbers(option: str, texts: list[str]) -> dict[str, int]:
    found = {}
    for text in texts:
        runner, _, number = text.rpartition("=")
        if not runner or not number.isdecimal():
            raise CommandFailed(f"{option}: write RUNNER=NUMBER, got {text!r}")
        found[runner] = int(number)
    return found


def _show(report: dict[str, Any], options: argparse.Namespace) -> int:
    findings = report["findings"]
    if options.json:
        print(json.dumps(report, indent=2))
        return EXIT_FINDINGS if findings else 0
    for finding in findings:
        where = finding["runner"] + (f" task {finding['task']}" if finding["task"] is not None else "")
        numbers = ", ".join(f"#{number}" for number in finding["entries"])
        print(f"{finding['rule']}: {where}: {finding['message']} ({numbers})")
        print(f"    a correct peer {finding['correct']}")
    for note in report["notes"]:
        print(f"note: {note}")
    verdict = f"{len(findings)} findings" if findings else "no rule was broken"
    print(f"{verdict} ({report['calls']} calls, {report['tasks']} tasks, {report['runners']} runners)")
    return EXIT_FINDINGS if findings else 0
