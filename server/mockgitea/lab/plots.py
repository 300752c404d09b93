"""Plots as inline SVG: lines over shaded windows, and bars. Made of text, without scripts, styles or outside resources.

Colours are classes (``c0`` to ``c9``) that the page defines for light and dark. Knows nothing of simulations.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup, escape

WIDTH: Final = 760
HEIGHT: Final = 260
LEFT: Final = 58
RIGHT: Final = 14
TOP: Final = 12
BOTTOM: Final = 40
TICKS: Final = 5
POINTS_MAX: Final = 360
COLOURS: Final = 10
LABEL_CHARS_MAX: Final = 24
BAR_HEIGHT: Final = 26
BAR_LEFT: Final = 170


@dataclass(frozen=True, slots=True)
class Line:
    """One curve; ``colour`` is the number of its class."""

    name: str
    points: Sequence[tuple[float, float]]
    colour: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """What is around the curves."""

    title: str
    told: str
    """What the curves show, in words; screen readers read it after the title."""
    x: str
    y: str
    shaded: Sequence[tuple[float, float]] = ()
    """Stretches of the x axis, such as downtimes."""
    y_max: float | None = None
    """Common upper end of several plots; None fits the curves."""


def line_plot(lines: Sequence[Line], frame: Frame) -> Markup:
    """Return a plot of curves with axes, grid and shaded windows; a sentence where there is nothing to draw."""
    drawn = [line for line in lines if line.points]
    if not drawn:
        return Markup('<p class="soft">Nothing was seen.</p>')
    xs = [x for line in drawn for x, _ in line.points]
    x_low = 0.0 if min(xs) >= 0 else min(xs)
    x_high = max(*xs, x_low + 1e-9)
    y_high = _ceiling(frame.y_max or max(y for line in drawn for _, y in line.points))

    def at(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
        return round(across, 1), round(HEIGHT - BOTTOM - y / y_high * (HEIGHT - TOP - BOTTOM), 1)

    parts = [_opening(f"{frame.title}: {frame.told}", HEIGHT)]
    for start, end in frame.shaded:
        left, right = at(max(start, x_low), 0)[0], at(min(end, x_high), 0)[0]
        parts.append(
            f'<rect class="down" x="{left}" y="{TOP}" width="{max(0.0, round(right - left, 1))}" '
            f'height="{HEIGHT - TOP - BOTTOM}"><title>server down, {start:g} s to {end:g} s</title></rect>'
        )
    for tick in range(TICKS + 1):
        value = y_high * tick / TICKS
        _, down = at(x_low, value)
        parts.append(f'<path class="grid" d="M{LEFT} {down}H{WIDTH - RIGHT}"/>')
        parts.append(_text(LEFT - 8, down + 4, number(value), "end"))
    step = _ceiling((x_high - x_low) / (TICKS + 1))
    for tick in range(int((x_high - x_low) / step) + 1):
        value = x_low + step * tick
        parts.append(_text(at(value, 0)[0], HEIGHT - BOTTOM + 18, number(value), "middle"))
    for line in drawn:
        corners = " ".join(f"{x},{y}" for x, y in (at(*point) for point in line.points))
        parts.append(f'<polyline class="curve c{line.colour % COLOURS}" points="{corners}"/>')
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, frame.x, "middle"))
    parts.append(
        f'<text transform="translate(13 {(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(frame.y)}</text></svg>"
    )
    # Every piece is a number or has been escaped.
    return Markup("".join(parts)) + legend(  # noqa: S704
        [(line.name, line.colour) for line in drawn], has_shade=bool(frame.shaded)
    )


def bar_plot(bars: Sequence[tuple[str, float, int]], *, title: str) -> Markup:
    """Return horizontal bars of (name, value, colour), each with its number."""
    height = BAR_HEIGHT * len(bars) + 8
    largest = max((value for _, value, _ in bars), default=0.0) or 1.0
    told = ", ".join(f"{name} {number(value)}" for name, value, _ in bars)
    parts = [_opening(f"{title}: {told}", height)]
    for place, (name, value, colour) in enumerate(bars):
        top = 4 + place * BAR_HEIGHT
        length = round(value / largest * (WIDTH - BAR_LEFT - 90), 1)
        parts.append(_text(BAR_LEFT - 10, top + 16, name, "end"))
        parts.append(
            f'<rect class="bar c{colour % COLOURS}" x="{BAR_LEFT}" y="{top + 3}" width="{max(length, 1.0)}" '
            f'height="{BAR_HEIGHT - 8}" rx="3"/>'
        )
        parts.append(_text(BAR_LEFT + max(length, 1.0) + 8, top + 16, number(value), "start"))
    return Markup("".join(parts) + "</svg>")  # noqa: S704 - as above


def legend(names: Sequence[tuple[str, int]], *, has_shade: bool = False) -> Markup:
    """Return names with the colours of their curves, and what a shade means."""
    items = Markup("").join(
        Markup('<li><span class="key k{}"></span>{}</li>').format(colour % COLOURS, name) for name, colour in names
    )
    shade = Markup('<li><span class="key shade"></span>server down</li>') if has_shade else Markup("")
    return Markup('<ul class="legend">{}{}</ul>').format(items, shade)


def thinned(
    values: Sequence[float], *, step: float = 1.0, start: float = 0.0, is_peak: bool = False
) -> list[tuple[float, float]]:
    """Return values at equal distances as at most `POINTS_MAX` points: means of neighbours, or their peaks."""
    each = max(1, math.ceil(len(values) / POINTS_MAX))
    return [
        (start + place * step, max(part) if is_peak else round(sum(part) / len(part), 3))
        for place in range(0, len(values), each)
        if (part := values[place : place + each])
    ]


def _opening(title: str, height: int) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{round(x, 1)}" y="{round(y, 1)}" text-anchor="{anchor}">{escape(text[:LABEL_CHARS_MAX])}</text>'


def number(value: float) -> str:
    """Return a number with the digits that a plot has room for."""
    if value == round(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.1f}"


def _ceiling(value: float) -> float:
    """Return the next number of the form 1, 2, 2.5 or 5 times a power of ten."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(nice * power for nice in (1, 2, 2.5, 5, 10) if nice * power >= value * 0.999)
