"""The state contract: a task ends once, steps never come back to life, and the log ends before the result.

Source: docs/testing.md, "Audits".
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mockgitea.core.audit_rules import Finding, Rule, TaskStory, is_final, result_of
from mockgitea.core.call_record import CallRecord


def check_state(story: TaskStory, *, is_complete: bool) -> Iterator[Finding]:
    """Yield the findings about one task's states.

    Args:
        story: the task.
        is_complete: False when older calls were evicted, so an earlier call may be missing.
    """
    yield from _check_owner(story, is_complete=is_complete)
    yield from _check_results(story)
    yield from _check_steps(story)
    if is_complete or story.delivered is not None:
        yield from _check_log_first(story)


def _check_owner(story: TaskStory, *, is_complete: bool) -> Iterator[Finding]:
    reports = [*story.logs, *story.states]
    if is_complete and story.delivered is None and reports and story.runner_uuid:
        first = min(reports, key=lambda call: call.number)
        yield story.finding(Rule.TASK_OWNER, "reported on a task that no fetch had handed out to it", first)


def _check_results(story: TaskStory) -> Iterator[Finding]:
    end: CallRecord | None = None
    for call in story.states:
        if end is None:
            end = call if is_final(call) and call.is_answered else None
        elif call.began_after(end) and result_of(call) != result_of(end):
            what = f"the result {result_of(call)}" if is_final(call) else "that it runs"
            message = f"reported {what} after the result {result_of(end)} had been accepted"
            yield story.finding(Rule.TASK_TRANSITION, message, end, call)


def _check_steps(story: TaskStory) -> Iterator[Finding]:
    ended: dict[int, tuple[str, CallRecord]] = {}
    started: dict[int, CallRecord] = {}
    for call in story.states:
        state = (call.request or {}).get("state") or {}
        steps = {step["id"]: step for step in state.get("steps", ())}
        for number, before in started.items():
            if number not in steps and steps:
                yield story.finding(Rule.STEP_TRANSITION, f"left out step {number}, which had begun", before, call)
        for number, step in steps.items():
            yield from _check_step(story, call, number, step, ended.get(number))
            if step["started_at"] is not None:
                started[number] = call
            if step["result"] != "unspecified":
                ended.setdefault(number, (step["result"], call))


def _check_step(
    story: TaskStory, call: CallRecord, number: int, step: Mapping[str, Any], ended: tuple[str, CallRecord] | None
) -> Iterator[Finding]:
    if ended is None or step["result"] == ended[0]:
        return
    what = "runs" if step["result"] == "unspecified" else f"has the result {step['result']}"
    message = f"reported that step {number} {what} after its result {ended[0]}"
    yield story.finding(Rule.STEP_TRANSITION, message, ended[1], call)


def _check_log_first(story: TaskStory) -> Iterator[Finding]:
    # Sent is enough: a runner whose closing UpdateLog failed rightly goes on to report the result.
    result = next((call for call in story.states if is_final(call)), None)
    if result is None:
        return
    ends = [call for call in story.logs if (call.request or {}).get("no_more")]
    if not ends:
        yield story.finding(Rule.RESULT_BEFORE_LOG, f"reported {result_of(result)} without ending the log", result)
    elif result.number < ends[0].number:
        message = f"reported {result_of(result)} before the end of the log"
        yield story.finding(Rule.RESULT_BEFORE_LOG, message, result, ends[0])
