"""The ack-index arithmetic of UpdateLog, for the receiver and for the sender.

``held`` is the number of rows the receiver has stored, which is also the index of the next row it wants.
Source: docs/protocol.md, "UpdateLog".
"""

from typing import NamedTuple


class Accepted(NamedTuple):
    """What the receiver does with one call: skip ``skip`` rows, store ``take`` rows, answer ``ack_index``."""

    skip: int
    take: int
    ack_index: int


def accept(held: int, index: int, count: int) -> Accepted:
    """Decide which of ``count`` rows starting at ``index`` extend a log that holds ``held`` rows.

    Returns:
        Rows are fresh only if ``index <= held < index + count``; a gap, a repeat and an empty call store nothing
        and answer ``held``. ``ack_index`` never decreases.
    """
    if index <= held < index + count:
        return Accepted(skip=held - index, take=index + count - held, ack_index=index + count)
    return Accepted(skip=count, take=0, ack_index=held)


class Acknowledged(NamedTuple):
    """What the sender does with one answer: drop ``drop`` rows from the front, or report ``lost`` ones."""

    drop: int
    lost: bool


def acknowledge(offset: int, sent: int, ack_index: int) -> Acknowledged:
    """Decide what an ``ack_index`` means for a sender whose buffer starts at ``offset`` and who sent ``sent`` rows.

    Returns:
        ``lost`` when the server asks for rows that were acknowledged before (nothing is renumbered); an ack above
        what was sent is clamped, so a wrong server cannot make rows disappear unsent.
    """
    if ack_index < offset:
        return Acknowledged(drop=0, lost=True)
    return Acknowledged(drop=min(ack_index - offset, sent), lost=False)
