"""What jobs of a workload look like: when steps start and when rows are written. Pure arithmetic on offsets.

Every shape is a number of equal steps. Offsets are microseconds from the start of the task.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

SECOND_US: Final = 1_000_000
STEPS: Final = 5
DURATION_S: Final = 1800.0
SILENT_STEP_S: Final = 1200.0

CHATTY_EVERY_S: Final = 1.0
QUIET_EVERY_S: Final = 30.0
BURST_EVERY_S: Final = 30.0
BURST_ROWS: Final = 200
BURST_S: Final = 2.0
BURST_PIECE_ROWS: Final = 10
"""A process writes into a pipe in pieces; so many rows arrive at once unless a scenario says otherwise."""

MIXED: Final = ("chatty", "bursty-install", "quiet-download")
"""What `mixed` stands for: one third each, in turns."""
SHAPE_NAMES: Final = ("chatty", "bursty-install", "quiet-download", "silent")

_TAIL: Final = " of a line about as long as the output of a compiler or a package manager is"


@dataclass(frozen=True, slots=True)
class RecordedRow:
    """One row of a recorded log."""

    at_us: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobShape:
    """One kind of job: ``steps`` steps of ``step_us`` each; ``rows`` only for a recorded log."""

    name: str
    step_us: int
    steps: int = STEPS
    rows: tuple[RecordedRow, ...] = ()
    burst_piece_rows: int = BURST_PIECE_ROWS
    """Rows of a burst that are written at once; divides `BURST_ROWS`."""

    @property
    def duration_us(self) -> int:
        """How long the job runs."""
        return self.steps * self.step_us

    def pieces(self, step: int) -> Iterator[tuple[int, list[str]]]:
        """Yield when rows of this 0-based step are written, and which, in order."""
        start_us, end_us = step * self.step_us, (step + 1) * self.step_us
        match self.name:
            case "chatty":
                yield from _steady(start_us, end_us, _us(CHATTY_EVERY_S))
            case "quiet-download":
                yield from _steady(start_us, end_us, _us(QUIET_EVERY_S))
            case "bursty-install":
                yield from _bursts(start_us, end_us, self.burst_piece_rows)
            case "silent":
                return
            case _:
                for row in self.rows:
                    if start_us <= row.at_us < end_us:
                        yield row.at_us, [row.text]


def built_in(name: str, *, duration_s: float | None = None, burst_piece_rows: int = BURST_PIECE_ROWS) -> JobShape:
    """Return one of `SHAPE_NAMES`.

    Args:
        name: which.
        duration_s: of the whole job; default 30 minutes, for `silent` five steps of 20 minutes.
        burst_piece_rows: rows of a burst that are written at once.
    """
    assert name in SHAPE_NAMES, f"unknown shape {name}"
    usual_s = STEPS * SILENT_STEP_S if name == "silent" else DURATION_S
    return JobShape(name=name, step_us=_us(duration_s or usual_s) // STEPS, burst_piece_rows=burst_piece_rows)


def _steady(start_us: int, end_us: int, every_us: int) -> Iterator[tuple[int, list[str]]]:
    """Yield one row per interval, in the middle of it."""
    number = max(0, -(-(start_us - every_us // 2) // every_us))
    while (at_us := number * every_us + every_us // 2) < end_us:
        yield at_us, [f"row {number}{_TAIL}"]
        number += 1


def _bursts(start_us: int, end_us: int, rows: int) -> Iterator[tuple[int, list[str]]]:
    """Yield each burst in pieces of ``rows``, evenly over its two seconds."""
    pieces = BURST_ROWS // rows
    every_us, piece_us = _us(BURST_EVERY_S), _us(BURST_S) // pieces
    burst = start_us // every_us
    while burst * every_us < end_us:
        for piece in range(pieces):
            at_us = burst * every_us + piece * piece_us
            first = burst * BURST_ROWS + piece * rows
            if start_us <= at_us < end_us:
                yield at_us, [f"row {number}{_TAIL}" for number in range(first, first + rows)]
        burst += 1


def _us(seconds: float) -> int:
    return round(seconds * SECOND_US)
