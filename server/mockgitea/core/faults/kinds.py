"""Every kind of fault, once: what the peer sees, what is stored, and which transports can do it.

The table feeds the checks of a rule, `mockgitea fault --help`, the control API and docs/faults.md. Knows no transport.
Source: docs/faults.md, "Kinds".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from mockgitea.core.calls import Method


class FaultKind(StrEnum):
    """What happens to a call."""

    REFUSE = "refuse"
    DELAY = "delay"
    HOLD = "hold"
    HANG = "hang"
    CLOSE = "close"
    RESET = "reset"
    SLOW_BODY = "slow-body"
    BANDWIDTH = "bandwidth"
    PARTIAL_BODY = "partial-body"
    TRUNCATE = "truncate"
    CORRUPT = "corrupt"
    LOSE_ANSWER = "lose-answer"
    ANSWER_TWICE = "answer-twice"
    STALE_ANSWER = "stale-answer"
    REORDER = "reorder"
    WRONG_ACK = "wrong-ack"
    LOST_WAKEUP = "lost-wakeup"
    LOST_CLAIM = "lost-claim"
    EXPIRED_TOKEN = "expired-token"
    DATABASE_BUSY = "database-busy"
    CLOCK_SKEW = "clock-skew"
    RUNNER_DELETED = "runner-deleted"
    RESTART = "restart"


class Stage(StrEnum):
    """When a fault acts."""

    BEFORE = "before"
    """Before the server does anything for the call."""
    AFTER = "after"
    """After the work is done and stored, before the answer leaves."""


class Transport(StrEnum):
    """A way by which calls come in. Virtual time counts as HTTP."""

    HTTP = "http"
    GRPC = "grpc"


NO_SOCKET: Final = "the gRPC library exposes no sockets and no bytes of an answer; put a relay in front of that port"


@dataclass(frozen=True, slots=True, kw_only=True)
class KindFacts:
    """One row of the table. ``stages``: allowed ones, the default first; ``methods``: empty for all of them."""

    peer: str
    stored: str
    stages: tuple[Stage, ...]
    methods: frozenset[Method] = frozenset()
    on_grpc: bool = False
    why_not_grpc: str = NO_SOCKET
    ends: bool = False
    """True when no later rule of the same stage can act on the call any more."""

    @property
    def transports(self) -> tuple[Transport, ...]:
        """Return where the kind can act."""
        return (Transport.HTTP, Transport.GRPC) if self.on_grpc else (Transport.HTTP,)


_EITHER: Final = (Stage.BEFORE, Stage.AFTER)
_BEFORE: Final = (Stage.BEFORE,)
_AFTER: Final = (Stage.AFTER,)
_FETCHES: Final = frozenset({Method.FETCH_TASK, Method.FETCH_SINGLE_TASK})
_AUTHENTICATED: Final = frozenset({Method.DECLARE, Method.UPDATE_TASK, Method.UPDATE_LOG, *_FETCHES})
_WORK: Final = "nothing (`before`), or all of the call's work (`after`)"
_ALL_WORK: Final = "all of the call's work"
_NOTHING: Final = "nothing"

KINDS: Final[Mapping[FaultKind, KindFacts]] = {
    FaultKind.REFUSE: KindFacts(
        peer="an error answer: a Connect code, or a bare HTTP status with a body of your choice",
        stored=_WORK,
        stages=_EITHER,
        on_grpc=True,
        ends=True,
    ),
    FaultKind.DELAY: KindFacts(
        peer="the usual answer, later", stored="what the call asks for, later", stages=_EITHER, on_grpc=True
    ),
    FaultKind.HOLD: KindFacts(
        peer="nothing until the rule is released or removed, then the usual answer",
        stored=_WORK + " while it waits",
        stages=_EITHER,
        on_grpc=True,
    ),
    FaultKind.HANG: KindFacts(
        peer="nothing until it gives up, or until the rule is removed",
        stored=_WORK + " while it waits",
        stages=_EITHER,
        on_grpc=True,
    ),
    FaultKind.CLOSE: KindFacts(
        peer="the connection ends (FIN) without an answer", stored=_WORK, stages=_EITHER, ends=True
    ),
    FaultKind.RESET: KindFacts(
        peer="the connection is reset (RST) without an answer", stored=_WORK, stages=_EITHER, ends=True
    ),
    FaultKind.SLOW_BODY: KindFacts(
        peer="the head at once, then the body in small pieces with pauses", stored=_ALL_WORK, stages=_AFTER, ends=True
    ),
    FaultKind.BANDWIDTH: KindFacts(peer="the body at a steady rate", stored=_ALL_WORK, stages=_AFTER, ends=True),
    FaultKind.PARTIAL_BODY: KindFacts(
        peer="the head with the whole length, part of the body, then the end of the connection (FIN)",
        stored=_ALL_WORK,
        stages=_AFTER,
        ends=True,
    ),
    FaultKind.TRUNCATE: KindFacts(
        peer="valid HTTP with the first bytes of the payload, which no longer decodes", stored=_ALL_WORK, stages=_AFTER
    ),
    FaultKind.CORRUPT: KindFacts(
        peer="valid HTTP whose payload has some bytes changed", stored=_ALL_WORK, stages=_AFTER
    ),
    FaultKind.LOSE_ANSWER: KindFacts(
        peer="the connection ends without an answer, as with `close`, but always after the work",
        stored=_ALL_WORK + "; an assigned task stays running until it is recovered or reaped",
        stages=_AFTER,
        ends=True,
    ),
    FaultKind.ANSWER_TWICE: KindFacts(
        peer="the answer, and at once the same bytes again as an unsolicited second response",
        stored=_ALL_WORK + ", once",
        stages=_AFTER,
        ends=True,
    ),
    FaultKind.STALE_ANSWER: KindFacts(
        peer="an earlier answer to this runner and method again; the usual one while there is none",
        stored=_ALL_WORK,
        stages=_AFTER,
    ),
    FaultKind.REORDER: KindFacts(
        peer="its answer after that of the next matching call, or (swap) that call's answer",
        stored=_ALL_WORK + " of both calls, in the order of arrival",
        stages=_AFTER,
    ),
    FaultKind.WRONG_ACK: KindFacts(
        peer="an ack index that is too low or too high",
        stored=_ALL_WORK + ": the rows that were sent",
        stages=_AFTER,
        methods=frozenset({Method.UPDATE_LOG}),
    ),
    FaultKind.LOST_WAKEUP: KindFacts(
        peer="the newest tasks_version and no task, although jobs may wait: it sleeps until the next bump",
        stored="nothing: no look into the queue",
        stages=_BEFORE,
        methods=_FETCHES,
        on_grpc=True,
    ),
    FaultKind.LOST_CLAIM: KindFacts(
        peer="no task and the newest tasks_version, or the next job where the profile goes on to it",
        stored="nothing of the job whose claim was lost: it still waits",
        stages=_BEFORE,
        methods=_FETCHES,
        on_grpc=True,
    ),
    FaultKind.EXPIRED_TOKEN: KindFacts(
        peer="`unregistered runner` in the profile's dialect; 401 over REST",
        stored="nothing, not even that the runner was seen",
        stages=_BEFORE,
        methods=_AUTHENTICATED | {Method.REST},
        on_grpc=True,
        ends=True,
    ),
    FaultKind.DATABASE_BUSY: KindFacts(
        peer="`database is locked` as an internal error in the profile's dialect, after `busy_s`; 500 over REST",
        stored=_NOTHING,
        stages=_BEFORE,
        on_grpc=True,
        ends=True,
    ),
    FaultKind.CLOCK_SKEW: KindFacts(
        peer="a Date header that is `skew_s` off",
        stored=_ALL_WORK + "; stored times and time-outs follow the true clock",
        stages=_AFTER,
    ),
    FaultKind.RUNNER_DELETED: KindFacts(
        peer="`unregistered runner`, for this call and every later one",
        stored="the calling runner is deleted; its tasks stay running until they are reaped",
        stages=_BEFORE,
        methods=_AUTHENTICATED,
        on_grpc=True,
    ),
    FaultKind.RESTART: KindFacts(
        peer="graceful: its answer, then a closed connection; kill: a reset; then a refused port for `down_s`",
        stored="graceful: everything; kill: what was committed, but not the last-online times still in memory",
        stages=_EITHER,
        ends=True,
    ),
}
