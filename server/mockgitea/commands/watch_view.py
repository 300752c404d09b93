"""The two ways a watched run is printed: plain lines for pipes and logs, live progress with colours for a terminal."""

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from mockgitea.commands.watch_follow import FINAL, Event, Follower, JobChanged, JobState, NewRow, RunChanged
from mockgitea.commands.watch_rows import coloured_text, plain_text, read_row

STYLES: Final = {
    "success": "green",
    "failure": "bold red",
    "cancelled": "magenta",
    "cancelling": "magenta",
    "skipped": "dim",
    "running": "yellow",
    "waiting": "yellow",
    "blocked": "dim",
}
MARKS: Final = {"success": "✓", "failure": "✕", "cancelled": "-", "skipped": "»", "waiting": "○", "blocked": "○"}
_ROW_STYLES: Final = {
    "error": "red", "warning": "yellow", "notice": "blue", "debug": "magenta", "command": "cyan", "group": "bold",
}  # fmt: skip
REFRESH_PER_S: Final = 4


class View(Protocol):
    """Shows what is new."""

    def __enter__(self) -> Self:
        """Begin to show."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the terminal as it was."""

    def show(self, events: Sequence[Event], follower: Follower) -> None:
        """Show these events; ``follower`` holds the whole state."""

    def note(self, text: str) -> None:
        """Show a remark of the watcher itself."""


class PlainView:
    """One line per event: job, time, text; no escape sequences at all."""

    def __init__(self, out: TextIO, *, has_logs: bool) -> None:
        self._out = out
        self._has_logs = has_logs

    def __enter__(self) -> Self:
        """Nothing to prepare."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to tidy up."""

    def show(self, events: Sequence[Event], follower: Follower) -> None:
        """Print one line for each event."""
        for event in events:
            if (line := self._line(event, follower)) is not None:
                print(line, file=self._out)
        self._out.flush()

    def note(self, text: str) -> None:
        """Print a remark."""
        print(f"[watch] {text}", file=self._out, flush=True)

    def _line(self, event: Event, follower: Follower) -> str | None:
        if isinstance(event, RunChanged):
            return f"[run] {plain_text(follower.title)}: {event.status}"
        job = plain_text(event.job)
        if isinstance(event, NewRow):
            return self._row(job, event)
        if isinstance(event, JobChanged):
            return f"[{job}] job: {event.status}{_after(event.status, event.duration)}"
        return f"[{job}] step {plain_text(event.step)}: {event.status}{_after(event.status, event.duration)}"

    def _row(self, job: str, event: NewRow) -> str | None:
        kind, text = read_row(event.message)
        if not self._has_logs or kind in ("hidden", "endgroup"):
            return None
        label = "" if kind in ("row", "command", "group") else f"{kind}: "
        return f"[{job}] {_clock(event.timestamp)} {label}{plain_text(text)}"


class LiveView:
    """Rows scroll by above a table of jobs that is drawn anew while things happen."""

    def __init__(self, console: Console, *, has_logs: bool) -> None:
        self._console = console
        self._has_logs = has_logs
        self._live = Live(console=console, refresh_per_second=REFRESH_PER_S, transient=False)

    def __enter__(self) -> Self:
        """Take over the lower part of the terminal."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last table standing."""
        self._live.stop()

    def show(self, events: Sequence[Event], follower: Follower) -> None:
        """Print new rows and redraw the table."""
        several = len(follower.jobs) > 1
        for event in events:
            if isinstance(event, NewRow) and self._has_logs and (row := _rich_row(event, several=several)) is not None:
                self._console.print(row, soft_wrap=True)
        self._live.update(_table(follower))

    def note(self, text: str) -> None:
        """Print a remark above the table."""
        self._console.print(Text(text, style="dim italic"))


def _rich_row(event: NewRow, *, several: bool) -> Text | None:
    kind, message = read_row(event.message)
    if kind in ("hidden", "endgroup"):
        return None
    row = Text()
    if several:
        row.append(f"{plain_text(event.job)}  ", style="cyan")
    row.append(f"{_clock(event.timestamp)}  ", style="dim")
    if kind in ("error", "warning", "notice", "debug"):
        row.append(f"{kind.title()}: ", style=f"bold {_ROW_STYLES[kind]}")
    body = Text.from_ansi(coloured_text(message))
    if kind in _ROW_STYLES:
        body.stylize_before(_ROW_STYLES[kind])
    return row.append_text(body)


def _table(follower: Follower) -> Group:
    head = Text.assemble(
        (plain_text(follower.title) or "run", "bold"), "  ", (follower.status, STYLES.get(follower.status, ""))
    )
    table = Table(box=None, padding=(0, 1), show_header=False)
    for job in follower.jobs:
        table.add_row(_mark(job.status), Text(plain_text(job.name)), _progress(job), Text(job.duration, style="dim"))
    return Group(Text(), head, table)


def _mark(status: str) -> Text | Spinner:
    if status in ("running", "cancelling"):
        return Spinner("dots", style=STYLES[status])
    return Text(MARKS.get(status, "·"), style=STYLES.get(status, ""))


def _progress(job: JobState) -> Text:
    ended = sum(step.status in FINAL for step in job.steps)
    current = next((step for step in job.steps if step.status in ("running", "cancelling")), None)
    failed = next((step for step in job.steps if step.status == "failure"), None)
    told = failed if failed is not None and job.is_final else current
    text = Text(job.status, style=STYLES.get(job.status, ""))
    if job.steps:
        text.append(f"  {ended}/{len(job.steps)} steps", style="dim")
    if job.status in ("waiting", "blocked") and job.detail:
        text.append(f"  {plain_text(job.detail)}", style="dim")
    if told is not None:
        text.append(f"  {plain_text(told.name)} {told.duration}")
    return text


def _after(status: str, duration: str) -> str:
    return f" after {duration}" if status in FINAL and status != "skipped" else ""


def _clock(timestamp: float) -> str:
    try:
        return time.strftime("%H:%M:%S", time.localtime(timestamp))
    except (OverflowError, ValueError, OSError):
        return "--:--:--"
