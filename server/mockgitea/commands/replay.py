"""`mockgitea replay`: play a recorded runner session against a server, ours or a real one."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockgitea.commands.audit import read_session
from mockgitea.commands.client import CommandFailed, add_server_options, run_with_client

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient
    from mockgitea.verify.replay import RecordedTask

EXIT_DIFFERENT: Final = 1


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the subcommand."""
    parser = subparsers.add_parser(
        "replay",
        help="play a recorded runner session against a server",
        description=(
            "Send the runner calls of an exported journal to a server, in their order and with its ids, and report "
            "which answers differ. Runners register anew; tasks are enqueued as they are needed."
        ),
        epilog="Exit code: 0 all answers alike, 1 differences or a failure, 2 wrong usage.",
    )
    parser.add_argument("file", metavar="FILE", help="exported journal, from `mockgitea journal --format jsonl`")
    parser.add_argument("--runner", default="", metavar="NAME", help="only this runner's calls, by name or UUID")
    parser.add_argument(
        "--instance", default="", metavar="URL", help="instance URL of another server than that of --server"
    )
    parser.add_argument("--token", default="", help="registration token; with --instance it is needed")
    parser.add_argument("--no-enqueue", action="store_true", help="do not enqueue recorded tasks before their fetch")
    add_server_options(parser)


def run(options: argparse.Namespace) -> int:
    """Run the subcommand and return its exit code."""
    return run_with_client(options, lambda client: _replay(client, options))


def _replay(client: "ControlClient", options: argparse.Namespace) -> int:
    # Imported here because protobuf and httpx cost 200 ms, which no `--help` should pay.
    from mockgitea.verify.replay import Replay, ReplayFailed  # noqa: PLC0415
    from mockgitea.verify.replay_peer import HttpPeer  # noqa: PLC0415

    session = read_session(Path(options.file))
    if options.instance and not options.token:
        raise CommandFailed("--token: missing; another server's registration token is needed with --instance")
    url = options.instance or client.call("GET", "/version")["runner_url"]
    token = options.token or client.call("POST", "/registration-tokens", {})["token"]
    enqueues = not options.no_enqueue and not options.instance
    peer = HttpPeer(url, transport=getattr(options, "transport", None))
    replay = Replay(
        session,
        peer,
        registration_token=token,
        runner=options.runner,
        provide=(lambda task: _enqueue(client, task)) if enqueues else None,
    )
    try:
        report = replay.run()
    except ReplayFailed as error:
        raise CommandFailed(str(error)) from error
    finally:
        peer.close()
    print(report)
    return EXIT_DIFFERENT if report.differences else 0


def _enqueue(client: "ControlClient", task: "RecordedTask") -> None:
    body = {
        "repository": task.repository,
        "workflow_file": "replayed.yml",
        "workflow": task.workflow,
        "event": task.event,
        "create_repository": True,
        **({"ref": task.ref} if task.ref else {}),
    }
    client.call("POST", "/enqueue", body)
