"""When the server will be down in a simulation: the rounds of every downtime rule, jitter drawn, overlaps resolved.

Asks a copy of the rules what they will say, so that the simulation itself draws nothing earlier than it would.
"""

import copy
from dataclasses import dataclass
from typing import Final

from mockgitea.core.downtime import DownKind, Downtimes

OUTAGES_MAX: Final = 10_000
"""Rounds of a simulation that get figures of their own; later ones act and are not described."""


@dataclass(frozen=True, slots=True)
class Outage:
    """The half-open interval ``start_us .. end_us`` of the simulation."""

    kind: DownKind
    start_us: int
    end_us: int


def outages(downtimes: Downtimes, *, start_us: int, end_us: int) -> tuple[Outage, ...]:
    """Return every window that ends before ``end_us``, in order.

    Args:
        downtimes: the rules; not changed.
        start_us: the server's time at the start of the simulation, which the answer counts from.
        end_us: the server's time at its end.
    """
    rules = copy.deepcopy(downtimes)
    found: list[Outage] = []
    now_us: int | None = start_us
    while now_us is not None and now_us <= end_us and len(found) < OUTAGES_MAX:
        window, next_us = rules.current(now_us), rules.next_change_us(now_us)
        if window is not None and next_us is not None and next_us <= end_us:
            last = found[-1] if found else None
            kind, began_us, ended_us = window.downtime.kind, now_us - start_us, next_us - start_us
            if last is not None and last.kind is kind and last.end_us == began_us:
                # Another rule began or ended meanwhile.
                found[-1] = Outage(kind, last.start_us, ended_us)
            else:
                found.append(Outage(kind, began_us, ended_us))
        now_us = next_us
    return tuple(found)
