"""`mockgitea lab`: what polling and reporting strategies cost a server and the people in front of it.

Reads options, shows progress, writes files; the laboratory itself is `mockgitea.lab`.
"""

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockgitea.commands.durations import seconds

if TYPE_CHECKING:
    from mockgitea.lab.scenario import Scenario

DEFAULT_PRESET: Final = "headline"
COMPARE: Final = "compare"
FAIL_OVER: Final = "10%"
EXIT_DONE, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

Show = Callable[[int, float], None]


class Misused(Exception):
    """Wrong usage or a wrong file; the text is for the person at the terminal."""


def add_parser(subparsers: Any) -> None:
    """Add the command's parser."""
    parser = subparsers.add_parser(
        "lab",
        help="compare polling and reporting strategies",
        description="Run a scenario under each of its strategies in virtual time and compare what it costs. "
        "`lab compare A.json B.json` compares two results. docs/lab.md has the scenarios and the figures.",
        epilog="Exit code: 0 done, 1 a rate differs from its closed form or a comparison fails, 2 wrong usage or file.",
    )
    parser.add_argument(
        "what",
        metavar="PRESET|FILE.yaml|compare",
        nargs="*",
        default=[],
        help=f"a preset, a scenario file, or `compare` with two results (default: {DEFAULT_PRESET})",
    )
    parser.add_argument(
        "--strategy", metavar="NAME", action="append", default=[], help="compare these instead; may be repeated"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="of everything random, in place of the scenario's")
    parser.add_argument("--duration", metavar="DURATION", help="measured time after the warm-up, e.g. 10m")
    parser.add_argument("--runners", type=int, metavar="N", help="size of the fleet, in place of the scenario's")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the figures, one line a strategy")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write a self-contained report with plots")
    parser.add_argument("--attach", metavar="URL", help="measure runners that somebody else runs, by this control port")
    parser.add_argument("--fail-over", metavar="PERCENT", help=f"of compare: default {FAIL_OVER.replace('%', '%%')}")
    parser.add_argument("--quiet", action="store_true", help="no progress bar")


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    # Imported here because they load both programs, which `--help` should not pay.
    from mockgitea.commands.client import CommandFailed  # noqa: PLC0415
    from mockgitea.lab.compare import NotComparable  # noqa: PLC0415
    from mockgitea.lab.fields import ScenarioError  # noqa: PLC0415

    try:
        if options.what and options.what[0] == COMPARE:
            return _compare(options)
        return _measure(options)
    except (Misused, NotComparable, ScenarioError) as error:
        print(f"mockgitea lab: {error}", file=sys.stderr)
        return EXIT_USAGE
    except CommandFailed as failure:
        # Other commands name the control port with --server.
        print(f"mockgitea lab: {str(failure).replace('--server', '--attach')}", file=sys.stderr)
        return EXIT_FAILED
    except OSError as error:
        print(f"mockgitea lab: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return EXIT_FAILED


def _compare(options: argparse.Namespace) -> int:
    from mockgitea.lab.compare import compare, read_document  # noqa: PLC0415

    if len(options.what) != 3:
        raise Misused("compare: name two files that `mockgitea lab --json` wrote")
    _refuse_others(options, "compare", allowed=("fail_over", "quiet"))
    allowance = options.fail_over or FAIL_OVER
    share = _share(allowance)
    before, after = (read_document(Path(name)) for name in options.what[1:])
    changes = compare(before, after, fail_over=share)
    for change in changes:
        print(("WORSE  " if change.is_worse else "       ") + change.text)
    worse = sum(change.is_worse for change in changes)
    print(f"{len(changes)} figures differ, {worse} are worse by more than {allowance}")
    return EXIT_FAILED if worse else EXIT_DONE


def _measure(options: argparse.Namespace) -> int:
    from rich.console import Console  # noqa: PLC0415

    from mockgitea.lab.suite import disagreements  # noqa: PLC0415
    from mockgitea.lab.table import terminal_table  # noqa: PLC0415

    if options.fail_over:
        raise Misused("--fail-over: only `compare` uses it")
    _check_targets(options)
    content = _attached(options) if options.attach else _simulated(options)
    # A table of many strategies is wider than a terminal; piped into a file it must not be folded.
    Console(width=None if sys.stdout.isatty() else 200).print(terminal_table(content))
    _write(options, content)
    wrong = disagreements(content)
    for line in wrong:
        print(f"mockgitea lab: differs from its closed form: {line}", file=sys.stderr)
    return EXIT_FAILED if wrong else EXIT_DONE


def _simulated(options: argparse.Namespace) -> dict[str, Any]:
    from mockgitea.lab.real_time import run_real  # noqa: PLC0415
    from mockgitea.lab.scenario import TimeMode  # noqa: PLC0415
    from mockgitea.lab.suite import run_suite  # noqa: PLC0415

    scenario = _scenario(options)
    titles = [choice.title for choice in scenario.strategies]
    with _bar(titles, scenario.name, is_shown=_shows_progress(options)) as show:
        return run_real(scenario, show) if scenario.time is TimeMode.REAL else run_suite(scenario, show)


def _attached(options: argparse.Namespace) -> dict[str, Any]:
    from mockgitea.commands.client import TOKEN_ENV  # noqa: PLC0415
    from mockgitea.commands.control_http import ControlClient  # noqa: PLC0415
    from mockgitea.lab.attach import SPAN_S, attach  # noqa: PLC0415

    if options.what:
        raise Misused(f"--attach: measures what runs, so leave out {options.what[0]!r}")
    _refuse_others(options, "--attach", allowed=("attach", "duration", "json", "csv", "html", "quiet"))
    span_s = SPAN_S if options.duration is None else _seconds(options.duration)
    transport = getattr(options, "transport", None)
    control = ControlClient(options.attach, options.environ.get(TOKEN_ENV, ""), transport=transport)
    try:
        with _bar(["attached"], "attached", is_shown=_shows_progress(options)) as show:
            return attach(control, span_s=span_s, progress=show)
    finally:
        control.close()


def _scenario(options: argparse.Namespace) -> "Scenario":
    from mockgitea.lab.scenario_reader import PRESETS, read_file, read_preset  # noqa: PLC0415
    from mockgitea.lab.suite import Adjusted  # noqa: PLC0415

    if len(options.what) > 1:
        raise Misused(f"name one preset or scenario file; presets are {', '.join(PRESETS)}")
    name = options.what[0] if options.what else DEFAULT_PRESET
    is_file = name.endswith((".yaml", ".yml")) or "/" in name
    scenario = read_file(Path(name)) if is_file else read_preset(name)
    if options.runners is not None and options.runners < 1:
        raise Misused("--runners: must be at least 1")
    if options.seed is not None and options.seed < 0:
        raise Misused("--seed: must not be negative")
    duration_s = None if options.duration is None else _seconds(options.duration)
    return Adjusted(options.strategy, options.seed, duration_s, options.runners).apply(scenario)


def _seconds(text: str) -> int:
    try:
        length_s = seconds(text)
    except ValueError as error:
        raise Misused(f"--duration: {error}") from error
    if length_s < 1 or length_s != int(length_s):
        raise Misused("--duration: must be whole seconds, at least one")
    return int(length_s)


def _refuse_others(options: argparse.Namespace, mode: str, *, allowed: Sequence[str]) -> None:
    """Refuse options that this way of calling the command would ignore."""
    for name in ("attach", "strategy", "seed", "duration", "runners", "json", "csv", "html", "fail_over"):
        if name not in allowed and getattr(options, name) not in (None, []):
            raise Misused(f"--{name.replace('_', '-')}: has no meaning with {mode}; leave it out")


def _share(text: str) -> float:
    if not re.fullmatch(r"\d+(\.\d+)?%", text):
        raise Misused(f"--fail-over: {text!r} is not a percentage; write it like {FAIL_OVER}")
    return float(text[:-1]) / 100


def _check_targets(options: argparse.Namespace) -> None:
    """Refuse files that cannot be written before anything is simulated."""
    for name in ("json", "csv", "html"):
        path = getattr(options, name)
        if path is not None and (path.is_dir() or not path.parent.is_dir()):
            why = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
            raise Misused(f"--{name}: cannot write {path}: {why}")


def _write(options: argparse.Namespace, content: dict[str, Any]) -> None:
    from mockgitea.lab.csv_out import csv_text  # noqa: PLC0415
    from mockgitea.lab.html_report import html_text  # noqa: PLC0415
    from mockgitea.lab.suite import to_json  # noqa: PLC0415

    for path, text in ((options.json, to_json), (options.csv, csv_text), (options.html, html_text)):
        if path is not None:
            path.write_text(text(content), encoding="utf-8")


def _shows_progress(options: argparse.Namespace) -> bool:
    return not options.quiet and sys.stderr.isatty()


@contextlib.contextmanager
def _bar(titles: Sequence[str], name: str, *, is_shown: bool) -> Iterator[Show]:
    """Show one bar over all strategies on standard error."""
    if not is_shown:
        yield lambda number, share: None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(name, total=len(titles))

        def show(number: int, share: float) -> None:
            bar.update(task, completed=number + share, description=titles[number])

        yield show
