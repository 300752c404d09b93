"""`mockgitea downtime`: add, list and remove downtime windows of a running server."""

import argparse
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.rule_options import add_field_options, field_values, print_rules, quoted
from mockgitea.core.downtime import DownKind, Downtime

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient

HELP: Final = {
    "duration_s": "seconds that one window lasts",
    "start_s": "seconds until the first window; default: at once",
    "every_s": "seconds from one start to the next; default: it happens once",
    "rounds": "how often, with --every-s; default: without end",
    "jitter_s": "each start is late by up to so many seconds, drawn from the seed",
    "cuts": "reset connections that are open at the start; `refused` always does",
    "retry_after_s": "planned: seconds in a Retry-After header",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand with its own three."""
    parser = subparsers.add_parser(
        "downtime",
        help="take the runner port of a running server down for a while",
        description="Add, list and remove downtime windows; the control port stays up.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="add a rule", description="Add a downtime rule of one or several windows.")
    add.add_argument("name", metavar="NAME", help="a name of your choice, to remove the rule by")
    add.add_argument(
        "kind",
        choices=[kind.value for kind in DownKind],
        help="planned: every call is answered 503; refused: the port is closed; black-hole: nothing is ever answered",
    )
    types = {one.name: one.type for one in fields(Downtime)}
    add_field_options(add, {name: (types[name], text) for name, text in HELP.items()}, required=("duration_s",))
    add_server_options(add)
    listing = actions.add_parser("list", help="list rules", description="List downtime rules with their next window.")
    listing.add_argument("--json", action="store_true", help="print JSON instead of lines")
    add_server_options(listing)
    remove = actions.add_parser("remove", help="remove rules", description="Remove rules; an open window ends at once.")
    remove.add_argument("names", nargs="+", metavar="NAME", help="name of a rule, see `downtime list`")
    add_server_options(remove)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    work = {"add": _add, "list": _list, "remove": _remove}[options.action]
    return run_with_client(options, lambda client: work(client, options))


def _add(client: "ControlClient", options: argparse.Namespace) -> int:
    body = {"name": options.name, "kind": options.kind} | field_values(options, [*HELP])
    print(json.dumps(client.call("POST", "/downtime", body), indent=2))
    return 0


def _list(client: "ControlClient", options: argparse.Namespace) -> int:
    rules = client.call("GET", "/downtime")["downtimes"]
    if options.json:
        print(json.dumps(rules, indent=2))
        return 0
    print_rules(rules, _when)
    return 0


def _when(rule: dict[str, Any]) -> str:
    if rule["is_open"]:
        return f"down until {rule['ends_at']}"
    return f"next from {rule['starts_at']}" if rule["starts_at"] else "over"


def _remove(client: "ControlClient", options: argparse.Namespace) -> int:
    for name in options.names:
        client.call("DELETE", f"/downtime/{quoted(name)}")
        print(f"downtime {name} is removed")
    return 0
