"""`mockgitea watch RUN`: follow a run in the terminal through the page's JSON, once a second as the page does."""

import argparse
import sys
import time
from typing import TYPE_CHECKING, Any, Final

from mockgitea.commands.client import DEFAULT_URL, TOKEN_ENV, URL_ENV

if TYPE_CHECKING:
    from mockgitea.commands.page_client import PageClient
    from mockgitea.commands.watch_follow import Event, Follower, JobState
    from mockgitea.commands.watch_view import View

POLL_S: Final = 1.0
PATIENCE_S: Final = 30.0
"""How long a server that stopped answering is asked again before the watcher gives up."""
ROUNDS_MAX: Final = 1000
"""Requests for the last rows of a job that has ended; each brings at least one row or is the last."""
EXIT_SUCCESS, EXIT_FAILED, EXIT_ERROR = 0, 1, 2


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "watch",
        help="follow a run in the terminal",
        description="Follow a run until it ends: jobs, steps and rows as the page shows them, asked for once a second.",
        epilog="Exit code: 0 the run succeeded, 1 it failed or was cancelled, 2 wrong usage or no connection.",
    )
    parser.add_argument("run", metavar="RUN", help="id of the run; where the server's URLs use numbers, its number")
    parser.add_argument(
        "--server",
        metavar="URL",
        help=f"control port of the server, or its runner port with --repository (default: ${URL_ENV}, "
        f"else {DEFAULT_URL})",
    )
    parser.add_argument(
        "--repository", metavar="OWNER/NAME", default="", help="ask the runner port, as a browser would"
    )
    parser.add_argument("--job", metavar="NAME", action="append", default=[], help="only this job; may be repeated")
    parser.add_argument("--no-logs", action="store_true", help="show jobs and steps, but no rows")


def run(options: argparse.Namespace) -> int:
    """Follow the run and return the exit code."""
    # Imported here because httpx and rich cost 300 ms, which `--help` should not pay.
    from mockgitea.commands.page_client import PageClient, WatchFailed  # noqa: PLC0415
    from mockgitea.commands.watch_follow import Follower  # noqa: PLC0415

    try:
        _check(options)
        server = options.server or options.environ.get(URL_ENV) or DEFAULT_URL
        client = PageClient(
            server,
            options.run,
            repository=options.repository,
            token=options.environ.get(TOKEN_ENV, ""),
            transport=getattr(options, "transport", None),
        )
        try:
            follower = Follower(options.job)
            _follow(client, follower, _view(options), sleep=getattr(options, "sleep", time.sleep))
        finally:
            client.close()
    except WatchFailed as failure:
        print(f"mockgitea watch: {failure}", file=sys.stderr)
        return EXIT_ERROR
    return EXIT_SUCCESS if follower.succeeded() else EXIT_FAILED


def _check(options: argparse.Namespace) -> None:
    from mockgitea.commands.page_client import WatchFailed  # noqa: PLC0415

    if not (options.run.isascii() and options.run.isdigit()) and not (options.run == "latest" and options.repository):
        raise WatchFailed(f"RUN: must be a number, got {options.run!r} (`latest` works with --repository)")
    if options.repository and len(options.repository.split("/")) != 2:
        raise WatchFailed(f"--repository: must be owner/name, got {options.repository!r}")


def _view(options: argparse.Namespace) -> "View":
    from rich.console import Console  # noqa: PLC0415

    from mockgitea.commands.watch_view import LiveView, PlainView  # noqa: PLC0415

    console = Console()
    if console.is_terminal and not options.environ.get("NO_COLOR"):
        return LiveView(console, has_logs=not options.no_logs)
    return PlainView(sys.stdout, has_logs=not options.no_logs)


def _follow(client: "PageClient", follower: "Follower", view: "View", *, sleep: Any) -> None:
    from mockgitea.commands.page_client import WatchFailed  # noqa: PLC0415

    first = client.run()
    events = follower.accept_run(first)
    if not follower.jobs:
        raise WatchFailed(f"--job: the run has no such job; it has {', '.join(follower.names)}")
    with view:
        view.show(events, follower)
        failing_since: float | None = None
        while not follower.is_over():
            begun = time.monotonic()
            try:
                _turn(client, follower, view)
                failing_since = None
            except WatchFailed as failure:
                failing_since = begun if failing_since is None else failing_since
                if not failure.is_passing or begun - failing_since > PATIENCE_S:
                    raise
                view.note(f"{failure}; trying again")
            if follower.is_over():
                view.show(follower.closing(), follower)
            else:
                sleep(max(0.0, POLL_S - (time.monotonic() - begun)))


def _turn(client: "PageClient", follower: "Follower", view: "View") -> None:
    """Ask once about every job that can still change, and again at once where a click would: a step was opened."""
    waiting = [job for job in follower.jobs if not job.is_settled]
    if not waiting:
        view.show(follower.accept_run(client.run()), follower)
    for job in waiting:
        for _ in range(ROUNDS_MAX):
            view.show(_ask(client, follower, job), follower)
            if not job.is_pressing or job not in follower.jobs:
                break


def _ask(client: "PageClient", follower: "Follower", job: "JobState") -> "list[Event]":
    answer = client.job(job)
    changed = follower.accept_run(answer)
    new = follower.accept_job(job, answer)
    return [*new, *changed]
