"""Decide what one UpdateLog call does to a log: the whole table of cases, as a function of two states.

Source: docs/protocol.md, "UpdateLog".
"""

from typing import NamedTuple

from actionswire.logwindow import accept
from mockgitea.core.profiles import LogSealRule


class LogVerdict(NamedTuple):
    """Skip ``skip`` rows, store the next ``take``, answer ``ack_index``; or refuse because the log is sealed."""

    skip: int
    take: int
    ack_index: int
    seals: bool = False
    is_refused: bool = False


def judge(*, held: int, sealed: bool, index: int, count: int, no_more: bool, rule: LogSealRule) -> LogVerdict:
    """Return what happens to a log that holds ``held`` rows when ``count`` rows arrive for position ``index``.

    Args:
        held: rows stored so far.
        sealed: the log was moved to storage and takes no more rows.
        index: position of the call's first row.
        count: rows in the call.
        no_more: the runner says that these are the last.
        rule: whether an empty or repeated final call seals too.
    """
    accepted = accept(held, index, count)
    if accepted.take and sealed:
        return LogVerdict(skip=count, take=0, ack_index=held, is_refused=True)
    if accepted.take:
        return LogVerdict(accepted.skip, accepted.take, accepted.ack_index, seals=no_more)
    seals = no_more and not sealed and index <= held and rule is LogSealRule.ALSO_EMPTY
    return LogVerdict(count, 0, accepted.ack_index, seals=seals)
