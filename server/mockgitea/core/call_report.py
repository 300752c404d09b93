"""Why an expectation failed, in text: what was wanted, the nearest misses with their differences, what came instead.

Pure text from recorded calls; `core.call_checks` decides that it failed.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from mockgitea.core.call_match import CallMatcher, Difference
from mockgitea.core.call_record import EPOCH, CallRecord

NEAREST_SHOWN_MAX: Final = 3
CALLS_SHOWN_MAX: Final = 10
DIFFERENCES_NEAR_MAX: Final = 3
"""A call with more differences than this, or of another method, is no near miss."""


def call_line(call: CallRecord) -> str:
    """Return one call in one line."""
    at = (EPOCH + timedelta(microseconds=call.at_us)).strftime("%H:%M:%S.%f")[:-3]
    parts = [f"#{call.number}", at, call.method, call.runner or call.runner_uuid[:8] or "nobody"]
    if call.method in ("rest", "page", "unknown-rpc"):
        parts.append(f"{call.verb} {call.path}")
    parts += [f"task {task}" for task in call.tasks]
    parts += _gist(call)
    parts.append(f"-> {call.outcome}")
    if call.code and call.code != call.outcome:
        parts.append(f"({call.status} {call.code})")
    if call.fault:
        parts.append(f"[fault {call.fault}]")
    return " ".join(parts)


def _gist(call: CallRecord) -> list[str]:
    request = call.request or {}
    if call.method == "UpdateLog" and "rows" in request:
        end = " no_more" if request["no_more"] else ""
        return [f"index {request['index']} rows {len(request['rows'])}{end}"]
    if call.method == "UpdateTask" and request.get("state"):
        return [f"result {request['state']['result']}"]
    if call.is_fetch and "tasks_version" in request:
        return [f"tasks_version {request['tasks_version']}"]
    return []


def nearest(matcher: CallMatcher, calls: Sequence[CallRecord]) -> list[tuple[CallRecord, list[Difference]]]:
    """Return the calls that almost matched, the nearest first, of equally near ones the newest first."""
    misses = [(call, differences) for call in calls if (differences := matcher.differences(call))]
    near = [
        (call, differences)
        for call, differences in misses
        if len(differences) <= DIFFERENCES_NEAR_MAX and all(each.field != "method" for each in differences)
    ]
    near.sort(key=lambda miss: (len(miss[1]), -miss[0].number))
    return near[:NEAREST_SHOWN_MAX]


def explain(headline: str, matcher: CallMatcher, calls: Sequence[CallRecord], *, evicted: int = 0) -> str:
    """Return the text of a failure.

    Args:
        headline: what was expected and what came of it.
        matcher: what was looked for.
        calls: every recorded call.
        evicted: how many calls the journal no longer has.
    """
    lines = [headline]
    matched = [call for call in calls if matcher.matches(call)]
    if matched:
        lines += ["", f"matched ({len(matched)}):", *_listed(matched)]
    misses = nearest(matcher, calls)
    if misses:
        lines += ["", "nearest misses:"]
        for call, differences in misses:
            lines.append(f"  {call_line(call)}")
            lines += [f"      {difference}" for difference in differences]
    lines += ["", *arrived(calls, evicted=evicted)]
    return "\n".join(lines)


def arrived(calls: Sequence[CallRecord], *, evicted: int = 0) -> list[str]:
    """Return lines that tell what there is: totals by method and outcome, and the newest calls."""
    gone = f" ({evicted} older ones were evicted from the journal)" if evicted else ""
    if not calls:
        return [f"no call was recorded{gone}; does the runner use the right URL?"]
    totals = Counter((call.method, call.outcome) for call in calls)
    summary = ", ".join(f"{method} {outcome} {count}" for (method, outcome), count in sorted(totals.items()))
    return [f"{len(calls)} calls were recorded{gone}: {summary}", "the newest:", *_listed(calls)]


def _listed(calls: Sequence[CallRecord]) -> list[str]:
    left_out = len(calls) - CALLS_SHOWN_MAX
    shown = [f"  {call_line(call)}" for call in calls[-CALLS_SHOWN_MAX:]]
    return [f"  … {left_out} before", *shown] if left_out > 0 else shown
