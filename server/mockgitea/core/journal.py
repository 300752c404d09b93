"""The request journal: a bounded, ordered record of every call, refused and dropped ones too.

An entry is opened before anything may act on the call and closed exactly once. It keeps the bodies as raw bytes;
decoding and masking happen on reading (`transport.journal_view`), because most entries are never read.
Source: docs/metrics.md, "Journal".
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Final

from mockgitea.core.calls import Method, Outcome

BODY_KEPT_BYTES_MAX: Final = 256 * 1024
"""A longer body is kept up to here and marked as cut; it can no longer be decoded."""


# Bound once: reading a member off its enum class costs more than the rest of a line here, and every call passes.
_PAGE: Final = Method.PAGE
_OPEN: Final = Outcome.OPEN
ANSWER_DOUBT_S: Final = 0.25
"""How long an answer may be under way: a connection that is reset before then may have lost it."""
_BETWEEN: Final = b"\0"
"""Stands in no header: HTTP forbids it."""


class Entry:
    """One call. ``*_us`` are microseconds since the epoch, ``opened_s`` is monotonic seconds."""

    __slots__ = (
        "at_us",
        "closed_after",
        "code",
        "content_type",
        "duration_s",
        "fault",
        "head",
        "is_cut",
        "is_kept",
        "kept_bytes",
        "method",
        "number",
        "opened_s",
        "outcome",
        "path",
        "peer",
        "request",
        "request_bytes",
        "response",
        "response_bytes",
        "runner_uuid",
        "status",
        "transport",
        "verb",
    )

    def __init__(self, number: int, at_us: int, opened_s: float) -> None:
        self.number = number
        self.at_us = at_us
        self.opened_s = opened_s
        self.method = _PAGE
        self.outcome = _OPEN
        self.transport = "http"
        self.verb = ""
        self.path = ""
        """Without the query, which may hold a token."""
        self.runner_uuid = ""
        """The authenticated caller; empty when there is none."""
        self.content_type = ""
        """Canonical type of a decodable RPC body; empty when bodies are not kept."""
        self.request = b""
        self.response = b""
        self.request_bytes = 0
        self.response_bytes = 0
        self.is_cut = False
        self.kept_bytes = 0
        """Bytes of bodies and headers that count against the ring's limit; 0 while open."""
        self.is_kept = True
        """It is in the ring; the ring keeps this true."""
        self.status = 0
        self.code = ""
        """Connect code as it travelled, dialect applied; empty on success."""
        self.fault = ""
        """Name of the fault that acted, if one did."""
        self.duration_s = 0.0
        self.closed_after = 0
        """How many calls had been opened when this one closed: a later number began after this answer. 0 while open."""
        self.head = b""
        """Header names and values in one piece; see `headers`."""
        self.peer = ""
        """Address and port of the other end; empty when the transport does not tell."""

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """As received, secrets included; shown masked only."""
        parts = self.head.split(_BETWEEN) if self.head else []
        return list(zip(parts[::2], parts[1::2], strict=True))

    @headers.setter
    def headers(self, pairs: Iterable[tuple[bytes, bytes]]) -> None:
        # One object instead of three a header: ten thousand entries would otherwise hold so many that making room
        # for the next one costs more than answering it. What is not in the ring nobody will read.
        if self.is_kept:
            self.head = _BETWEEN.join(chain.from_iterable(pairs))


class Journal:
    """A ring of entries, bounded in number and in bytes of bodies.

    Args:
        entries_max: calls kept; 0 keeps none (they are still counted).
        bytes_max: bytes of bodies and headers kept over all entries; the oldest entries go first.
        on_close: called with every entry when it closes, whole bodies included; the way to figures that do not
            depend on what is left in the ring.
    """

    def __init__(self, *, entries_max: int, bytes_max: int, on_close: Callable[[Entry], None] | None = None) -> None:
        self._entries_max = entries_max
        self._bytes_max = bytes_max
        self._on_close = on_close
        self._watchers: tuple[Callable[[], None], ...] = ()
        self._ring: deque[Entry] = deque()
        self._bytes = 0
        self.opened_total = 0
        self.closed_total = 0
        self.evicted_total = 0

    def __len__(self) -> int:
        return len(self._ring)

    @property
    def in_progress(self) -> int:
        """Calls opened and not yet closed."""
        return self.opened_total - self.closed_total

    @property
    def bytes_kept(self) -> int:
        """Bytes of bodies and headers held by closed entries."""
        return self._bytes

    def open(self, at_us: int, opened_s: float) -> Entry:
        """Start the record of one call; it is visible to readers at once."""
        self.opened_total += 1
        entry = Entry(self.opened_total, at_us, opened_s)
        if not self._entries_max:
            entry.is_kept = False
            self.evicted_total += 1
            return entry
        self._ring.append(entry)
        if len(self._ring) > self._entries_max:
            self._evict()
        return entry

    def close(self, entry: Entry, closed_s: float) -> None:
        """Finish the record. ``entry.outcome`` is set by now; a call left open by its handler counts as abandoned."""
        assert entry.duration_s == 0.0, "an entry is closed once"
        self.closed_total += 1
        lasted_s = closed_s - entry.opened_s
        entry.duration_s = lasted_s if lasted_s > 0 else 1e-9
        entry.closed_after = self.opened_total
        if entry.outcome is _OPEN:
            entry.outcome = Outcome.ABANDONED
        if self._on_close is not None:
            self._on_close(entry)
        self._keep_bodies(entry)
        for watcher in self._watchers:
            watcher()

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call ``watcher`` after every close, until `unwatch`; it must not wait."""
        self._watchers += (watcher,)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        """Stop calling ``watcher``."""
        self._watchers = tuple(each for each in self._watchers if each != watcher)

    def entries(self, *, method: str = "", runner_uuid: str = "", limit: int = 0) -> list[Entry]:
        """Return kept entries, oldest first.

        Args:
            method: only this method; empty for all.
            runner_uuid: only this runner's calls; empty for all.
            limit: only the newest so many; 0 for all.
        """
        found = [
            entry
            for entry in self._ring
            if (not method or entry.method == method) and (not runner_uuid or entry.runner_uuid == runner_uuid)
        ]
        return found[-limit:] if limit else found

    def in_doubt(self, now_s: float) -> list[Entry]:
        """Return the calls over HTTP whose answers are lost, or may be, when every connection is reset now."""
        found = []
        for entry in self._ring:
            closed_s = entry.opened_s + entry.duration_s if entry.closed_after else now_s
            if entry.transport == "http" and closed_s > now_s - ANSWER_DOUBT_S:
                found.append(entry)
        return found

    def __iter__(self) -> Iterator[Entry]:
        return iter(list(self._ring))

    def clear(self) -> None:
        """Drop every kept entry; they count as evicted, so the sums still hold."""
        while self._ring:
            self._evict()

    def reset(self) -> None:
        """Start again as a fresh journal would; only calls still in progress remain, so the sums still hold."""
        in_progress = self.in_progress
        self._ring = deque(entry for entry in self._ring if not entry.duration_s)
        self._bytes = 0
        self.opened_total = in_progress
        self.closed_total = 0
        self.evicted_total = in_progress - len(self._ring)
        for number, entry in enumerate(self._ring, self.evicted_total + 1):
            entry.number = number  # numbers stay unique and in order, as for calls opened from now on

    def _keep_bodies(self, entry: Entry) -> None:
        entry.request_bytes = requested = len(entry.request)
        entry.response_bytes = answered = len(entry.response)
        if requested > BODY_KEPT_BYTES_MAX or answered > BODY_KEPT_BYTES_MAX:
            entry.is_cut = True
            entry.request = entry.request[:BODY_KEPT_BYTES_MAX]
            entry.response = entry.response[:BODY_KEPT_BYTES_MAX]
            requested, answered = len(entry.request), len(entry.response)
        if not entry.is_kept:
            return  # evicted while it was open
        entry.kept_bytes = requested + answered + len(entry.head)
        self._bytes += entry.kept_bytes
        while self._bytes > self._bytes_max:
            self._evict()

    def _evict(self) -> None:
        gone = self._ring.popleft()
        gone.is_kept = False
        self.evicted_total += 1
        self._bytes -= gone.kept_bytes
