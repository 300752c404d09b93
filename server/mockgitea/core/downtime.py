"""Downtime windows: when the whole runner port is unavailable, refused or a black hole, as half-open intervals.

Windows may repeat, with jitter that is drawn once per round from the seed. Time must not go back between two calls.
Knows no socket; real listeners and the laboratory's model of connections ask the same questions here.
Source: docs/faults.md, "Downtime".
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, NamedTuple

from mockgitea.core.errors import Conflict, InvalidInput, LimitExceeded, NotFound

SECOND_US: Final = 1_000_000
SECONDS_MAX: Final = 366 * 24 * 3600.0
ROUNDS_MAX: Final = 1_000_000
WINDOWS_MAX: Final = 100
NAME_LENGTH_MAX: Final = 100


class DownKind(StrEnum):
    """How a server that is down looks from outside."""

    PLANNED = "planned"
    """Every call is answered 503 by something in front of the server."""
    REFUSED = "refused"
    """The port is closed: open connections are reset, new ones are refused."""
    BLACK_HOLE = "black-hole"
    """Connections are accepted and never answered; only the caller's own deadline ends a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Downtime:
    """One rule. Seconds count from the moment it is added."""

    name: str
    kind: DownKind
    duration_s: float
    start_s: float = 0.0
    every_s: float | None = None
    """From one start to the next; None: it happens once."""
    rounds: int | None = None
    """How often it happens; None with ``every_s``: without end."""
    jitter_s: float = 0.0
    """Each start is late by a draw between 0 and this."""
    cuts: bool = False
    """Reset the connections that are open when it starts; a refused window always does."""
    retry_after_s: int | None = None
    """Retry-After header of a planned window's answers."""

    def __post_init__(self) -> None:
        for name, problem in self._problems():
            raise InvalidInput(f"{name}: {problem}", field=name)

    def shown(self) -> dict[str, Any]:
        """Return the fields that are set, as JSON-like values."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: value for name, value in values.items() if value is not None}

    def _problems(self) -> Iterator[tuple[str, str]]:
        if not 0 < len(self.name) <= NAME_LENGTH_MAX or not self.name.isprintable() or "/" in self.name:
            yield "name", f"1 to {NAME_LENGTH_MAX} printable characters without a slash"
        if not 0 < self.duration_s <= SECONDS_MAX:
            yield "duration_s", f"above 0 and at most {SECONDS_MAX:.0f}"
        for name in ("start_s", "jitter_s"):
            if not 0 <= getattr(self, name) <= SECONDS_MAX:
                yield name, f"at least 0 and at most {SECONDS_MAX:.0f}"
        if self.every_s is not None and not self.duration_s + self.jitter_s <= self.every_s <= SECONDS_MAX:
            yield "every_s", "at least duration_s + jitter_s, so that no round runs into the next"
        if self.rounds is not None and not 1 <= self.rounds <= ROUNDS_MAX:
            yield "rounds", f"at least 1 and at most {ROUNDS_MAX}"
        if self.rounds not in (None, 1) and self.every_s is None:
            yield "every_s", "needed when there are several rounds"
        if self.retry_after_s is not None and (self.kind is not DownKind.PLANNED or self.retry_after_s < 0):
            yield "retry_after_s", "at least 0, and only for planned, the kind that answers"


class Window(NamedTuple):
    """One round: ``start_us <= now < end_us`` is down."""

    downtime: Downtime
    start_us: int
    end_us: int

    @property
    def cuts(self) -> bool:
        """True when connections that are open at its start are reset."""
        return self.downtime.cuts or self.downtime.kind is DownKind.REFUSED


class DowntimeState(NamedTuple):
    """A rule as it stands; ``window`` is the round that runs or comes next, None when it is over."""

    downtime: Downtime
    window: Window | None
    is_open: bool
    rounds_begun: int


@dataclass(slots=True, eq=False)
class _Series:
    """The rounds of one rule, drawn in order as time passes."""

    downtime: Downtime
    added_us: int
    rng: random.Random
    number: int = 0
    window: Window | None = field(init=False)
    begun: int = 0
    last_cut_us: int = -1

    def __post_init__(self) -> None:
        self.window = self._draw()

    def advance(self, now_us: int) -> Window | None:
        """Return the round that has not ended by ``now_us``."""
        while (window := self.window) is not None:
            if now_us >= window.start_us and self.begun == self.number:
                self.begun += 1
                if window.cuts:
                    self.last_cut_us = window.start_us
            if now_us < window.end_us:
                return window
            self.number += 1
            self.window = self._draw()
        return None

    def _draw(self) -> Window | None:
        downtime = self.downtime
        rounds = downtime.rounds or (1 if downtime.every_s is None else None)
        if rounds is not None and self.number >= rounds:
            return None
        late_s = self.rng.uniform(0, downtime.jitter_s) if downtime.jitter_s else 0.0
        start_s = downtime.start_s + self.number * (downtime.every_s or 0.0) + late_s
        start_us = self.added_us + round(start_s * SECOND_US)
        return Window(downtime, start_us, start_us + round(downtime.duration_s * SECOND_US))


class Downtimes:
    """The windows in force; where two overlap, the one whose rule was added first counts."""

    def __init__(self) -> None:
        self._series: dict[str, _Series] = {}
        self.is_active = False
        """False exactly when no rule is left."""

    def add(self, downtime: Downtime, *, now_us: int, rng: random.Random) -> None:
        """Add a rule.

        Args:
            downtime: the rule.
            now_us: the moment from which its seconds count.
            rng: draws the jitter of its rounds, so a stream of its own.

        Raises:
            Conflict: the name is taken.
            LimitExceeded: `WINDOWS_MAX` rules exist.
        """
        if downtime.name in self._series:
            raise Conflict(f"name: downtime {downtime.name!r} exists; remove it first", field="name")
        if len(self._series) >= WINDOWS_MAX:
            raise LimitExceeded(f"downtime: at most {WINDOWS_MAX} rules at once; remove some first")
        self._series[downtime.name] = _Series(downtime, now_us, rng)
        self.is_active = True

    def remove(self, name: str) -> None:
        """Remove a rule; the server is up again if its window was open. Raises `NotFound`."""
        if name not in self._series:
            raise NotFound(f"downtime {name!r} does not exist", field="name")
        del self._series[name]
        self.is_active = bool(self._series)

    def reset(self) -> None:
        """Remove every rule."""
        self._series.clear()
        self.is_active = False

    def current(self, now_us: int) -> Window | None:
        """Return the window that is open now."""
        for series in self._series.values():
            window = series.advance(now_us)
            if window is not None and window.start_us <= now_us:
                return window
        return None

    def next_change_us(self, now_us: int) -> int | None:
        """Return when a window starts or ends next; None when none ever will."""
        times = [
            window.start_us if now_us < window.start_us else window.end_us
            for series in self._series.values()
            if (window := series.advance(now_us)) is not None
        ]
        return min(times, default=None)

    def last_cut_us(self, now_us: int) -> int:
        """Return when connections were last reset: one opened before then is gone; -1 for never."""
        for series in self._series.values():
            series.advance(now_us)
        return max((series.last_cut_us for series in self._series.values()), default=-1)

    def states(self, now_us: int) -> tuple[DowntimeState, ...]:
        """Return every rule with its present or next round."""
        found = []
        for series in self._series.values():
            window = series.advance(now_us)
            is_open = window is not None and window.start_us <= now_us
            found.append(DowntimeState(series.downtime, window, is_open, series.begun))
        return tuple(found)
