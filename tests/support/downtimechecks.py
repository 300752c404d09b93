"""What must hold after downtime, judged from outside: by recorded calls, by stored logs and by the jobs' own marks.

The same checks serve real processes and simulations. Nothing here asks a runner what it thinks it did.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Sequence

from mockgitea.core.audit import AuditFacts, Rule, audit
from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method

SECOND_US = 1_000_000
FINAL = frozenset({"success", "failure", "cancelled", "skipped"})
REPORTS = (Method.UPDATE_LOG, Method.UPDATE_TASK)


def check_log(task: int, calls: Iterable[CallRecord], stored: Sequence[str]) -> None:
    """Check that every acknowledged row is stored exactly once and in order, and nothing else is.

    Args:
        task: whose log.
        calls: all that were recorded.
        stored: the rows that the server shows, without their times.
    """
    sent: dict[int, str] = {}
    acknowledged = 0
    for call in calls:
        if call.method != Method.UPDATE_LOG or task not in call.tasks or call.request is None:
            continue
        for place, row in enumerate(call.request["rows"], call.request["index"]):
            before = sent.setdefault(place, row["content"])
            assert before == row["content"], f"task {task}: row {place} was {before!r}, then {row['content']!r}"
        acknowledged = max(acknowledged, (call.response or {}).get("ack_index", 0))
    assert len(stored) == acknowledged, f"task {task}: {acknowledged} rows acknowledged, {len(stored)} stored"
    assert list(stored) == [sent[place] for place in range(acknowledged)], f"task {task}: not the rows that were sent"


def check_audit(
    calls: Sequence[CallRecord],
    *,
    capacity: int | None = None,
    heartbeat_s: float = 60.0,
    unheard: Collection[int] = (),
) -> None:
    """Check that no peer broke the protocol, whatever it suffered.

    Args:
        calls: all that were recorded.
        capacity: of every runner.
        heartbeat_s: longest silence.
        unheard: tasks whose end may have been told to a closed port, which records nothing: their logs seem to have no
            end, and their runners seem to hold them still.
    """
    names = {call.runner: capacity for call in calls if call.runner and capacity is not None}
    report = audit(calls, AuditFacts(capacity=names, heartbeat_s=heartbeat_s))
    held = {call.runner for call in calls if set(call.tasks) & set(unheard)}
    found = [
        one
        for one in report.findings
        if not (one.rule is Rule.RESULT_BEFORE_LOG and one.task in unheard)
        and not (one.rule in (Rule.OVER_CAPACITY, Rule.FETCH_WHILE_FULL) and one.runner in held)
    ]
    assert not found, str(report)


def busiest_second(times_us: Iterable[int]) -> int:
    """Return the most of these moments that lie within any one second."""
    times = sorted(times_us)
    return max((place + 1 - bisect_right(times, at_us - SECOND_US) for place, at_us in enumerate(times)), default=0)


def count_between(times_us: Iterable[int], start_us: int, end_us: int) -> int:
    """Return how many of these moments lie in the half-open interval."""
    times = sorted(times_us)
    return bisect_left(times, end_us) - bisect_left(times, start_us)


def recovery_us(calls: Sequence[CallRecord], end_us: int) -> dict[str, int]:
    """Return how long after ``end_us`` each runner's first good answer began, by runner's name."""
    first: dict[str, int] = {}
    for call in calls:
        if call.runner and call.at_us >= end_us and call.is_answered:
            first.setdefault(call.runner, call.at_us - end_us)
    return first
