"""`make demo-faults`: bad days on real processes, told in the terminal: what is done, expected and seen.

Three runners live through a downtime; a lost FetchTask answer is recovered on one server and ends in a reaped task on
another; a cancel is honoured. Then the audit, and requests per second as a plot. Exit code 0 only if all went as
narrated.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager

import httpx
from fault_stages import Spans, Watched, audit, cancelled, downtime, reaped, recovered
from playground import Playground
from rich.console import Console
from traffic import PLAIN_INK, Ink, plot
from verdicts import Story

RUNNERS = 3
CAPACITY = 4
FULL = Spans(before_s=12.0, down_s=30.0, after_s=12.0)
QUICK = Spans(before_s=2.0, down_s=3.0, after_s=3.0)
RUNNER_SETTINGS = {
    "capacity": CAPACITY,
    "fetch_interval": "300ms",
    "fetch_interval_max": "600ms",
    "log_report_max_latency": "500ms",
    "log_report_interval": "1s",
    "state_report_interval": "500ms",
}
EXIT_INTERRUPTED = 130


def ground_of(profile: str, runners: int) -> Playground:
    """A server of this profile whose clock can be moved, and so many runners, not yet started."""
    serve = ["--port", "0", "--control-port", "0", "--clock", "offset", "--profile", profile]
    return Playground(runners, serve_arguments=serve, runner_settings=RUNNER_SETTINGS)


def console_for_output() -> Console:
    """A console with colours only on a terminal and not when NO_COLOR says no."""
    is_terminal = sys.stdout.isatty()
    is_coloured = is_terminal and not os.environ.get("NO_COLOR")
    return Console(color_system="auto" if is_coloured else None, force_terminal=is_terminal, highlight=False)


def ink_of(console: Console) -> Ink:
    """Block characters where the output can show them."""
    try:
        f"{Ink()}".encode(console.encoding)
    except UnicodeEncodeError:
        return PLAIN_INK
    return Ink()


def show(story: Story, watched: Watched) -> None:
    """Print the plot of the downtime."""
    story.chapter("Requests per second of the fleet, the downtime shaded")
    for line in plot(watched.times_s, watched.window, ink_of(story.console)):
        story.say(line)


@contextmanager
def two_grounds() -> Iterator[tuple[Playground, Playground]]:
    """Start both servers with their runners side by side; end whatever was started."""
    gitea, forgejo = ground_of("gitea-1.27", RUNNERS), ground_of("forgejo-15", 1)
    with ThreadPoolExecutor(1) as pool:
        starting = pool.submit(forgejo.__enter__)
        try:
            with gitea:
                starting.result()
                yield gitea, forgejo
        finally:
            wait([starting])  # it bounds its own steps, and only then is known what there is to end
            forgejo.close()


def tell(story: Story, spans: Spans) -> None:
    """Play all stages, then show what was recorded."""
    story.say(f"starting a fresh gitea-1.27 server and {RUNNERS} runners, and a forgejo-15 server with one ...")
    with two_grounds() as (gitea, forgejo):
        story.say(f"pages: {gitea.control_url}/ and {forgejo.control_url}/   seed: {gitea.ready['seed']}")
        watched = downtime(gitea, story, spans, RUNNERS)
        recovered(forgejo, story)
        lost_task = reaped(gitea, story)
        cancelled(gitea, story)
        story.chapter("Audit", "`mockgitea audit` reads everything that was recorded on both servers.")
        audit(gitea, story, CAPACITY, lost_task)
        audit(forgejo, story, CAPACITY, None)
        show(story, watched)


def run(story: Story, telling: Callable[[Story], None]) -> int:
    """Tell a story whatever happens on the way; returns the exit code."""
    began = time.monotonic()
    try:
        telling(story)
    except KeyboardInterrupt:
        story.say("stopped; every process that was started has ended")
        return EXIT_INTERRUPTED
    except (httpx.HTTPError, subprocess.TimeoutExpired, SystemExit) as error:
        story.check("every process starts and answers", f"{type(error).__name__}: {error}", is_met=False)
    story.say(f"took {time.monotonic() - began:.0f} s")
    return story.end()


def main() -> int:
    """Run the demo and return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    quick = bool(os.environ.get("QUICK"))
    parser.add_argument("--quick", action="store_true", default=quick, help="a few seconds of downtime; also QUICK=1")
    spans = QUICK if parser.parse_args().quick else FULL
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    return run(Story(console_for_output()), lambda story: tell(story, spans))


if __name__ == "__main__":
    raise SystemExit(main())
