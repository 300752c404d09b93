"""What all commands that talk to a running server share: the `--server` option, the connection, one-line errors.

Imports no part of the server and no HTTP library before a call is made, so `--help` is instant.
"""

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mockgitea.commands.control_http import ControlClient

DEFAULT_URL: Final = "http://127.0.0.1:3001"
URL_ENV: Final = "MOCKGITEA_CONTROL_URL"
TOKEN_ENV: Final = "MOCKGITEA_CONTROL_TOKEN"
EXIT_FAILED: Final = 1


class CommandFailed(Exception):
    """A command cannot do its work; the text is for the person at the terminal."""


def add_server_options(parser: argparse.ArgumentParser) -> None:
    """Add the option that every command of this kind has."""
    parser.add_argument(
        "--server", metavar="URL", help=f"control port of the server (default: ${URL_ENV}, else {DEFAULT_URL})"
    )


def control_client(options: argparse.Namespace) -> "ControlClient":
    """Return the client for the server that options or environment name; tests hand in a ``transport``."""
    # Imported here because httpx costs 150 ms, which no `--help` should pay.
    from mockgitea.commands.control_http import ControlClient  # noqa: PLC0415

    environ: Mapping[str, str] = options.environ
    url = options.server or environ.get(URL_ENV) or DEFAULT_URL
    return ControlClient(url, environ.get(TOKEN_ENV, ""), transport=getattr(options, "transport", None))


def run_with_client(options: argparse.Namespace, work: Callable[["ControlClient"], int]) -> int:
    """Run ``work`` with a client and return its exit code; a failure becomes one line on standard error and 1."""
    try:
        client = control_client(options)
        try:
            return work(client)
        finally:
            client.close()
    except CommandFailed as failure:
        print(f"mockgitea {options.command}: {failure}", file=sys.stderr)
        return EXIT_FAILED


def scope_of(text: str) -> dict[str, str]:
    """Return the scope that `--scope` names: `owner/name`, `owner`, or empty for the whole server."""
    if not text:
        return {}
    return {"repository": text} if "/" in text else {"owner": text}
