"""What `make demo-faults` reads out of recorded calls: requests per second around a downtime, and a plot in text.

Pure: takes times in seconds from the start of watching, and knows neither servers nor terminals.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

COLUMNS_MAX = 100
HEIGHT = 8
SECOND_COLUMNS_MAX = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Window:
    """The seconds that were watched, and the downtime among them; both half-open."""

    down_s: float
    up_s: float
    end_s: float


@dataclass(frozen=True)
class Figures:
    """Requests per second before, during and after a downtime, and the busiest second after it."""

    before: float
    during: float
    after: float
    busiest: int

    @property
    def herd(self) -> float:
        """The busiest second after recovery over the mean before; infinite when nothing came before."""
        return self.busiest / self.before if self.before else float("inf")


@dataclass(frozen=True)
class Ink:
    """The characters of a plot: a bar, and in the shaded window a bar and the ground."""

    bar: str = "█"
    shaded_bar: str = "▓"
    shade: str = "░"


PLAIN_INK = Ink("#", "=", ".")


def measure(times_s: Sequence[float], window: Window) -> Figures:
    """Count the calls on either side of a downtime.

    Args:
        times_s: when each call began, in seconds from the start of watching, in any order.
        window: the seconds that were watched; calls outside of them do not count.

    Returns:
        Means per second of the three parts, and the most calls that any second after `up_s` had. Seconds count from
        `up_s`, so that the first one is that of the recovery.
    """

    def rate(start_s: float, end_s: float) -> float:
        return sum(start_s <= at < end_s for at in times_s) / (end_s - start_s)

    recovery = Counter(int(at - window.up_s) for at in times_s if window.up_s <= at < window.end_s)
    return Figures(
        before=rate(0.0, window.down_s),
        during=rate(window.down_s, window.up_s),
        after=rate(window.up_s, window.end_s),
        busiest=max(recovery.values(), default=0),
    )


def plot(times_s: Sequence[float], window: Window, ink: Ink | None = None) -> list[str]:
    """Draw requests per second over time as bars, the downtime shaded.

    Args:
        times_s: when each call began, in seconds from the start of watching.
        window: the seconds to draw, and the downtime among them.
        ink: what to draw with; None for block characters.

    Returns:
        Lines of one width or shorter, the axis of time last.
    """
    ink = ink or Ink()
    shift = window.up_s % 1  # seconds are cut as `measure` cuts them, so that the busiest one is seen
    seconds = max(1, min(COLUMNS_MAX, int(window.end_s - shift + _ROUNDING)))
    wide = max(1, min(SECOND_COLUMNS_MAX, COLUMNS_MAX // seconds))
    counts = Counter(int(at - shift + _ROUNDING) for at in times_s if shift <= at < shift + seconds)
    top = max(counts.values(), default=0) or 1
    height = min(HEIGHT, top)
    is_down = [window.down_s <= second + shift + 0.5 < window.up_s for second in range(seconds)]
    lines = []
    for level in range(height, 0, -1):
        least = top * (level - 1) / height
        cells = [_cell(ink, is_bar=counts[second] > least, is_down=down) for second, down in enumerate(is_down)]
        lines.append(f"{top * level / height:5.1f} |{''.join(cell * wide for cell in cells)}".rstrip())
    down, up = (round((second - shift) * wide) for second in (window.down_s, window.up_s))
    lines.append("      +" + "-" * (seconds * wide))
    return [*lines, _axis({0: "0 s", down: "down", up: f"up, {window.up_s:.0f} s"})]


def _cell(ink: Ink, *, is_bar: bool, is_down: bool) -> str:
    if is_bar:
        return ink.shaded_bar if is_down else ink.bar
    return ink.shade if is_down else " "


def _axis(marks: dict[int, str]) -> str:
    line = ""
    for column, mark in sorted(marks.items()):
        line = line.ljust(column) + mark + " "
    return f"       {line}".rstrip()
