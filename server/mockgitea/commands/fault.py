"""`mockgitea fault`: add, list, release and remove fault rules, and heal the server.

The flags of `add` are the table of rule fields, so command, control API and documents cannot drift apart.
"""

import argparse
import json
from typing import TYPE_CHECKING, Any, Final

from mockgitea.commands.client import add_server_options, run_with_client
from mockgitea.commands.rule_options import add_field_options, field_values, print_rules, quoted
from mockgitea.core.faults import KINDS, FaultKind, Param, table

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient

CHOICES_SHOWN_MAX: Final = 6
_POSITIONAL: Final = ("name", "kind")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand with its own five."""
    parser = subparsers.add_parser(
        "fault",
        help="make a running server misbehave",
        description="Add, list, release and remove the fault rules of a running server; docs/faults.md explains them.",
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    add = actions.add_parser(
        "add",
        help="add a rule",
        description="Add a fault rule.",
        epilog="kinds: " + "; ".join(f"{kind}: {facts.peer}" for kind, facts in KINDS.items()),
    )
    add.add_argument("name", metavar="NAME", help=table()["name"][1].help)
    add.add_argument("kind", metavar="KIND", choices=[kind.value for kind in FaultKind], help="one of the kinds below")
    add_field_options(
        add, {name: (one.type, _help(param)) for name, (one, param) in table().items() if name not in _POSITIONAL}
    )
    add_server_options(add)
    listing = actions.add_parser("list", help="list rules", description="List fault rules and how often they hit.")
    listing.add_argument("--json", action="store_true", help="print JSON instead of lines")
    add_server_options(listing)
    for verb, text in (
        ("remove", "Remove rules; calls that they keep waiting go on."),
        ("release", "Let go of the calls that rules keep waiting; the rules stay."),
    ):
        one = actions.add_parser(verb, help=f"{verb} rules", description=text)
        one.add_argument("names", nargs="+", metavar="NAME", help="name of a rule, see `fault list`")
        add_server_options(one)
    reset = actions.add_parser(
        "reset",
        help="remove every fault and downtime rule",
        description="Heal the server: remove every fault and downtime rule. Data, journal and counters stay.",
    )
    add_server_options(reset)


def _help(param: Param) -> str:
    few = len(param.choices) <= CHOICES_SHOWN_MAX
    return f"{param.help} ({', '.join(param.choices)})" if param.choices and few else param.help


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    work = {"add": _add, "list": _list, "remove": _remove, "release": _release, "reset": _reset}[options.action]
    return run_with_client(options, lambda client: work(client, options))


def _add(client: "ControlClient", options: argparse.Namespace) -> int:
    body: dict[str, Any] = {"name": options.name, "kind": options.kind}
    made = client.call("POST", "/faults", body | field_values(options, [name for name in table() if name not in body]))
    print(json.dumps(made, indent=2))
    return 0


def _list(client: "ControlClient", options: argparse.Namespace) -> int:
    rules = client.call("GET", "/faults")["faults"]
    if options.json:
        print(json.dumps(rules, indent=2))
        return 0
    print_rules(rules, lambda rule: f"{rule['hits']} hits" + ("" if rule["left"] is None else f", {rule['left']} left"))
    return 0


def _remove(client: "ControlClient", options: argparse.Namespace) -> int:
    for name in options.names:
        client.call("DELETE", f"/faults/{quoted(name)}")
        print(f"fault {name} is removed")
    return 0


def _release(client: "ControlClient", options: argparse.Namespace) -> int:
    for name in options.names:
        client.call("POST", f"/faults/{quoted(name)}/release")
        print(f"calls held by fault {name} go on")
    return 0


def _reset(client: "ControlClient", options: argparse.Namespace) -> int:
    del options
    client.call("DELETE", "/faults")
    print("no fault and no downtime is left")
    return 0
