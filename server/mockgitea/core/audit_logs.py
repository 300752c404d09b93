"""The log contract: rows go on exactly where the last acknowledgement said, and end once.

What a runner must know is judged by the answers that had certainly reached it when a call began; a call whose answer
a fault touched, or that failed, excuses a repeat. Source: docs/testing.md, "Audits".
"""

from collections.abc import Iterator

from mockgitea.core.audit_rules import Finding, Rule, TaskStory
from mockgitea.core.call_record import CallRecord


def check_log(story: TaskStory, *, is_complete: bool) -> Iterator[Finding]:
    """Yield the findings about one task's log.

    Args:
        story: the task.
        is_complete: False when older calls were evicted, so the beginning is not known.
    """
    known = _Known(0 if is_complete or story.delivered is not None else None)
    sent_to = 0
    before: CallRecord | None = None
    for call in story.logs:
        request = call.request
        if request is None or "rows" not in request:
            continue
        known.hear(call)
        index, rows = request["index"], len(request["rows"])
        if known.end is not None and rows and index + rows > known.ack:
            yield story.finding(Rule.LOG_AFTER_END, f"sent {rows} rows from {index} on after the end", known.end, call)
        elif known.is_known and index > known.ack_max:
            message = (
                f"sent rows from {index} on, but the last ack was {known.ack_max}: {index - known.ack_max} missing"
            )
            yield story.finding(Rule.LOG_GAP, message, *known.last_ack, call)
        elif known.is_known and not known.is_unsure and index < known.ack:
            if before is not None and index < _index(before):
                message = f"went back to index {index} from {_index(before)}, though the last ack was {known.ack}"
                yield story.finding(Rule.LOG_REGRESS, message, *known.last_ack, call)
            elif rows:
                message = f"sent rows from {index} on again, though {known.ack} were acknowledged"
                yield story.finding(Rule.LOG_REPEAT, message, *known.last_ack, call)
        sent_to = max(sent_to, index + rows, known.ack)
        yield from _check_ack(story, call, known, sent_to)
        before = call
        known.pending.append(call)


class _Known:
    """What the runner has been told about its log, at the moment it begins a call."""

    def __init__(self, ack: int | None) -> None:
        self.ack = ack or 0
        """The last ack that certainly arrived."""
        self.ack_max = self.ack
        """The highest ack that may have arrived."""
        self.is_known = ack is not None
        self.last_ack: tuple[CallRecord, ...] = ()
        self.is_unsure = False
        """True when a call after the last certain answer may have been stored or not."""
        self.end: CallRecord | None = None
        self.pending: list[CallRecord] = []
        """Earlier calls whose answers were not taken note of yet."""
        self._has_failed = False

    def hear(self, call: CallRecord) -> None:
        """Take note of the answers that had come before ``call`` began."""
        waiting = []
        for one in self.pending:
            if call.began_after(one):
                self._take(one)
            else:
                waiting.append(one)
                self.ack_max = max(self.ack_max, ack_of(one) or 0)
        self.pending = waiting
        self.is_unsure = self._has_failed or bool(waiting)

    def _take(self, one: CallRecord) -> None:
        ack = ack_of(one)
        self.ack_max = max(self.ack_max, ack or 0)
        if not one.is_answered or ack is None:
            self._has_failed = True
            return
        self.ack, self.is_known, self._has_failed, self.last_ack = ack, True, False, (one,)
        if one.request and one.request.get("no_more") and ack >= _index(one) + len(one.request["rows"]):
            self.end = self.end or one


def _check_ack(story: TaskStory, call: CallRecord, known: _Known, sent_to: int) -> Iterator[Finding]:
    ack = ack_of(call)
    if ack is None or not known.is_known:
        return
    by = f" (fault {call.fault})" if call.fault else ""
    if ack < known.ack:
        message = f"the server's ack went back from {known.ack} to {ack}{by}"
        yield story.finding(Rule.LOG_ACK, message, *known.last_ack, call)
    elif ack > sent_to and known.ack_max <= sent_to:
        message = f"the server acknowledged {ack} rows of {sent_to} that were sent{by}"
        yield story.finding(Rule.LOG_ACK, message, call)


def ack_of(call: CallRecord) -> int | None:
    """Return the ack index that the server answered, None when it answered none."""
    response = call.response
    return None if response is None or "ack_index" not in response else int(response["ack_index"])


def _index(call: CallRecord) -> int:
    return int(call.request["index"]) if call.request and "index" in call.request else 0
