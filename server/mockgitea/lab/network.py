"""A small model of the network between a fleet and the server: latency, and what connections cost.

Says whether a connection can be made; counts connections and handshakes. Models no bandwidth, no packet loss and no
CPU cost. Faults and downtime act behind it, on the port. Figures that come from here say so in the report.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.port import LabPort

KEEP_ALIVE_S: Final = 120.0
"""How long the server keeps an idle connection, as real servers do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPolicy:
    """The model's numbers. ``round_trip_us`` 0 makes every call take no time at all."""

    round_trip_us: int = 0
    has_tls: bool = True
    keep_alive_us: int = round(KEEP_ALIVE_S * 1e6)


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
    """The connection was reset in the middle of a call."""


class ConnectionEnded(Exception):
    """The connection ended in an orderly way before the answer was whole."""


@dataclass(slots=True, eq=False)
class Connection:
    """One connection of one runner."""

    closings: int = 0
    """The port's, when it was opened."""
    opened_us: int = 0
    idle_since_us: int = 0


class Network:
    """Everything between the fleet and the server.

    Args:
        clock: virtual time.
        policy: latency, TLS and keep-alive.
        port: of the server; an open one when absent.
    """

    def __init__(self, clock: RunnerClock, policy: LinkPolicy, port: LabPort | None = None) -> None:
        self._clock = clock
        self._policy = policy
        self._round_trip_us = policy.round_trip_us
        self.is_instant = not policy.round_trip_us
        """True when bytes always arrive at once."""
        self.port = port or LabPort()
        self.counts = LinkCounts()
        self.on_attempt: Callable[[str, int], None] | None = None
        """Called with path and time of every request that a runner tries to send."""

    def attempted(self, path: str) -> None:
        """Count a request that a runner is about to send."""
        self.counts.attempts += 1
        if self.on_attempt is not None:
            self.on_attempt(path, self._clock.now_us())

    async def connect(self) -> Connection:
        """Open a connection: one round trip, one more for TLS.

        Raises:
            ConnectionRefused: nobody listens.
        """
        await self._travel(self._round_trip_us)
        if not await self.port.accepts():
            self.counts.refused += 1
            raise ConnectionRefused
        connection = Connection(closings=self.port.closings)
        if self._policy.has_tls:
            await self._travel(self._round_trip_us)
            self.counts.tls_handshakes += 1
        self.counts.opened += 1
        connection.opened_us = self._clock.now_us()
        return connection

    def was_needless(self) -> None:
        """Take back that a connection was opened: its call took no time, and neither did one that had another."""
        self.counts.opened -= 1
        self.counts.tls_handshakes -= self._policy.has_tls
        self.counts.reused += 1

    async def pass_half(self) -> None:
        """Carry bytes one way."""
        await self._travel(self._round_trip_us // 2)

    def is_stale(self, connection: Connection, now_us: int) -> bool:
        """Tell whether the server has closed an idle connection by now, and count it if so."""
        if connection.closings != self.port.closings:
            self.counts.reset += 1
            return True
        if now_us - connection.idle_since_us >= self._policy.keep_alive_us:
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
        idle = self._idle
        if not idle:
            return None
        now_us, counts = self.clock.now_us(), self.network.counts
        while idle:
            connection = idle.pop()
            if now_us - connection.idle_since_us >= self.policy.idle_timeout_us:
                counts.closed_idle += 1
            elif not self.network.is_stale(connection, now_us):
                counts.reused += 1
                return connection
        return None

    def give_back(self, connection: Connection) -> None:
        """Keep a connection after a whole answer, or close it when enough are kept.

        Calls that begin and end in one microsecond do not overlap, whichever the loop happens to finish first.
        """
        now_us = self.clock.now_us()
        other = self._idle[-1] if self._idle else None
        if other is not None and other.idle_since_us == now_us and now_us in (connection.opened_us, other.opened_us):
            self.network.was_needless()
            if connection.opened_us == now_us:
                return
            self._idle.pop()
        if len(self._idle) >= self.policy.idle_max:
            self.network.counts.closed_surplus += 1
            return
        connection.idle_since_us = now_us
        self._idle.append(connection)
