"""A small model of the network between a fleet and the server: latency, downtime, and what connections cost.

Says whether a connection can be made and whether bytes arrive; counts connections and handshakes. Models no
bandwidth, no packet loss and no CPU cost. Figures that come from here say so in the report.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mockgitea.lab.clocks import RunnerClock

KEEP_ALIVE_S: Final = 120.0
"""How long the server keeps an idle connection, as real servers do."""


class DownKind(StrEnum):
    """How a server that is down looks from outside."""

    UNAVAILABLE = "unavailable"
    """Something in front answers every request with 503."""
    REFUSED = "refused"
    """Open connections are reset, new ones are refused."""
    BLACK_HOLE = "black-hole"
    """Bytes vanish in both directions; only the caller's own deadline ends a call."""


@dataclass(frozen=True, slots=True)
class Downtime:
    """The half-open interval ``start_us .. end_us`` of the simulation."""

    kind: DownKind
    start_us: int
    end_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPolicy:
    """The model's numbers. ``round_trip_us`` 0 makes every call take no time at all."""

    round_trip_us: int = 0
    has_tls: bool = True
    keep_alive_us: int = round(KEEP_ALIVE_S * 1e6)
    downtimes: tuple[Downtime, ...] = ()


@dataclass(slots=True)
class LinkCounts:
    """What the connections of all runners did."""

    opened: int = 0
    tls_handshakes: int = 0
    reused: int = 0
    """Requests on a connection that had carried one before."""
    refused: int = 0
    """Attempts to connect that failed."""
    reset: int = 0
    """Connections cut by the server while idle or in a call."""
    closed_idle: int = 0
    """Closed by the runner after its idle time-out."""
    closed_by_server: int = 0
    """Closed by the server after its keep-alive time."""
    closed_surplus: int = 0
    """Closed by the runner because enough idle ones were kept."""
    attempts: int = 0
    """Requests that runners tried to send, whatever became of them."""

    @property
    def reuse_ratio(self) -> float:
        """Share of sent requests that needed no new connection."""
        sent = self.opened + self.reused
        return self.reused / sent if sent else 0.0


class ConnectionRefused(Exception):
    """Nobody listens."""


class ConnectionReset(Exception):
    """The connection was cut in the middle of a call."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of one runner."""

    opened_us: int
    idle_since_us: int = 0


class Network:
    """Everything between the fleet and the server.

    Args:
        clock: virtual time.
        policy: latency, TLS, keep-alive and downtime windows.
    """

    def __init__(self, clock: RunnerClock, policy: LinkPolicy) -> None:
        self._clock = clock
        self._policy = policy
        self._downtimes: Sequence[Downtime] = sorted(policy.downtimes, key=lambda window: window.start_us)
        self._is_instant = not policy.round_trip_us and not policy.downtimes
        self.counts = LinkCounts()
        self.on_attempt: Callable[[str, int], None] | None = None
        """Called with path and time of every request that a runner tries to send."""

    @property
    def is_instant(self) -> bool:
        """True when bytes always arrive at once: no latency and no downtime in the whole simulation."""
        return self._is_instant

    def downtime(self) -> Downtime | None:
        """Return the window that is open now."""
        if not self._downtimes:
            return None
        now_us = self._clock.now_us()
        return next((window for window in self._downtimes if window.start_us <= now_us < window.end_us), None)

    def attempted(self, path: str) -> None:
        """Count a request that a runner is about to send."""
        self.counts.attempts += 1
        if self.on_attempt is not None:
            self.on_attempt(path, self._clock.now_us())

    async def connect(self) -> Connection:
        """Open a connection: one round trip, one more for TLS.

        Raises:
            ConnectionRefused: the server is down in that way.
        """
        window = self.downtime()
        if window is not None and window.kind is DownKind.BLACK_HOLE:
            await _for_ever()
        await self._travel(self._policy.round_trip_us)
        window = self.downtime()
        if window is not None and window.kind is DownKind.REFUSED:
            self.counts.refused += 1
            raise ConnectionRefused
        if self._policy.has_tls:
            await self._travel(self._policy.round_trip_us)
            self.counts.tls_handshakes += 1
        self.counts.opened += 1
        return Connection(opened_us=self._clock.now_us())

    async def pass_half(self, connection: Connection) -> bool:
        """Carry bytes one way; True when they reach the server, False when something in front answers 503.

        Raises:
            ConnectionReset: the connection was cut.
        """
        if self._policy.round_trip_us:
            await self._travel(self._policy.round_trip_us // 2)
        if not self._downtimes:
            return True
        if self.is_cut(connection):
            self.counts.reset += 1
            raise ConnectionReset
        window = self.downtime()
        if window is None:
            return True
        if window.kind is DownKind.BLACK_HOLE:
            await _for_ever()
        return window.kind is not DownKind.UNAVAILABLE

    def is_cut(self, connection: Connection) -> bool:
        """Tell whether a `REFUSED` window has begun since the connection was opened."""
        now_us = self._clock.now_us()
        return any(
            window.kind is DownKind.REFUSED and connection.opened_us < window.start_us <= now_us
            for window in self._downtimes
        )

    def is_stale(self, connection: Connection) -> bool:
        """Tell whether the server has closed an idle connection, and count it if so."""
        if self._downtimes and self.is_cut(connection):
            self.counts.reset += 1
            return True
        if self._clock.now_us() - connection.idle_since_us >= self._policy.keep_alive_us:
            self.counts.closed_by_server += 1
            return True
        return False

    async def _travel(self, span_us: int) -> None:
        if span_us:
            await self._clock.sleep_until(self._clock.now_us() + span_us)


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPolicy:
    """How many idle connections a runner keeps and for how long; the defaults are those of today's Gitea runner."""

    idle_max: int = 10
    idle_timeout_us: int = 90_000_000


@dataclass(slots=True)
class Pool:
    """The connections of one runner. The one used last is taken first, as Go's client does."""

    network: Network
    clock: RunnerClock
    policy: PoolPolicy
    _idle: list[Connection] = field(default_factory=list)

    def reuse(self) -> Connection | None:
        """Return an idle connection that still lives, if there is one."""
        now_us, counts = self.clock.now_us(), self.network.counts
        while self._idle:
            connection = self._idle.pop()
            if now_us - connection.idle_since_us >= self.policy.idle_timeout_us:
                counts.closed_idle += 1
            elif not self.network.is_stale(connection):
                counts.reused += 1
                return connection
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection after a whole answer, or close it when enough are kept."""
        if len(self._idle) >= self.policy.idle_max:
            self.network.counts.closed_surplus += 1
            return
        connection.idle_since_us = self.clock.now_us()
        self._idle.append(connection)


async def _for_ever() -> None:
    await asyncio.get_running_loop().create_future()
