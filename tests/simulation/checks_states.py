"""States: final is final, a job has one task at a time, and the page ends with what the job reported."""

from collections import defaultdict
from itertools import pairwise
from typing import Any, Final

from checks_rows import newest_tasks
from history import Deed, History, Problem, Problems, Sight, handed_out_by_lies

from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method
from virtualjobs import Execution

FINAL: Final = frozenset({"success", "failure", "cancelled", "skipped"})
_RANK: Final = {"blocked": 0, "waiting": 1, "running": 2, "cancelling": 3, **dict.fromkeys(FINAL, 4)}


def check_transitions(history: History) -> Problems:
    """Check that the page never takes a job back, unless somebody ran it again or its claim had never arrived."""
    by_job: dict[tuple[int, str], list[Sight]] = defaultdict(list)
    for sight in history.sights:
        if sight.status not in _RANK:
            yield _problem("transitions", sight, f"the page shows {sight.status!r}, which is no status")
        by_job[sight.run, sight.job].append(sight)
    for sights in by_job.values():
        for before, after in pairwise(sights):
            if _may_follow(history, before, after):
                continue
            yield _problem("transitions", after, f"went from {before.status} to {after.status}")


def check_reported_results(history: History) -> Problems:
    """Check that a task whose result was accepted keeps it, in every later answer."""
    for task, calls in _state_calls(history).items():
        ended: CallRecord | None = None
        for call in calls:
            if ended is not None and call.began_after(ended) and _told(call) not in ("", _told(ended)):
                what = f"task {task} had ended as {_told(ended)} (#{ended.number}), then {_told(call)} (#{call.number})"
                yield Problem("reported-results", what, tasks=frozenset({task}))
            elif ended is None and _reported(call) != "unspecified" and _told(call) == _reported(call):
                ended = call


def check_results_shown(history: History) -> Problems:
    """Check that the page's last word on a job is the result that its newest task reported and got accepted."""
    newest = newest_tasks(history)
    shown = {(sight.run, sight.name): sight for sight in history.sights}
    calls = _state_calls(history)
    for execution in history.executions:
        job = (execution.run, execution.job)
        accepted = [call for call in calls.get(execution.task, ()) if _reported(call) == _told(call) != "unspecified"]
        if newest.get(job) != execution.task or not accepted or job not in shown:
            continue
        if shown[job].status != _reported(accepted[0]):
            what = f"reported {_reported(accepted[0])} (#{accepted[0].number}), and the page shows {shown[job].status}"
            yield _problem("results-shown", shown[job], what, task=execution.task)


def check_one_task_at_once(history: History) -> Problems:
    """Check that no job runs twice at the same time in one attempt, and that no task is executed twice."""
    by_job: dict[Any, list[Execution]] = defaultdict(list)
    by_task: dict[int, list[Execution]] = defaultdict(list)
    for execution in history.executions:
        by_job[execution.run, execution.job, execution.attempt].append(execution)
        by_task[execution.task].append(execution)
    lied = handed_out_by_lies(history)
    for key, executions in by_job.items():
        for earlier, later in pairwise(sorted(executions, key=lambda one: one.started_us)):
            if (earlier.ended_us is None or earlier.ended_us > later.started_us) and later.task not in lied:
                where = f"as task {earlier.task} on {earlier.runner} and as {later.task} on {later.runner}"
                what = f"{key[1]} of run {key[0]} ran {where}"
                yield Problem("one-task-at-once", what, tasks=frozenset({earlier.task, later.task}))
    for task, executions in by_task.items():
        if len(executions) > 1 and task not in lied:
            what = f"task {task} was executed {len(executions)} times, on {[one.runner for one in executions]}"
            yield Problem("one-task-at-once", what, tasks=frozenset({task}))


def _may_follow(history: History, before: Sight, after: Sight) -> bool:
    if any(deed.what == "rerun" and _between(deed, before, after) for deed in history.deeds):
        return True
    if before.status == "running" and after.status in ("waiting", "blocked"):
        again = (deed.at_us for deed in history.deeds if deed.what == "rerun" and deed.run == after.run)
        since = max((at_us for at_us in again if at_us <= after.at_us), default=0)
        return not any(
            execution.run == after.run and execution.job == after.name and since <= execution.started_us <= after.at_us
            for execution in history.executions
        )
    if before.status in FINAL:
        return False
    return _RANK.get(after.status, 0) >= _RANK.get(before.status, 0)


def _between(deed: Deed, before: Sight, after: Sight) -> bool:
    return deed.run == after.run and before.at_us <= deed.at_us <= after.at_us


def _state_calls(history: History) -> dict[int, list[CallRecord]]:
    found: dict[int, list[CallRecord]] = defaultdict(list)
    for call in history.calls:
        if call.method == Method.UPDATE_TASK and call.request and call.request.get("state"):
            found[call.request["state"]["id"]].append(call)
    return found


def _reported(call: CallRecord) -> str:
    return str(((call.request or {}).get("state") or {}).get("result", "unspecified"))


def _told(call: CallRecord) -> str:
    """Return the result in the server's own answer; empty where it gave none."""
    return str(((call.response or {}).get("state") or {}).get("result", ""))


def _problem(check: str, sight: Sight, what: str, *, task: int | None = None) -> Problem:
    tasks = frozenset() if task is None else frozenset({task})
    text = f"{sight.name} of run {sight.run}, at {sight.at_us / 1e6:.3f} s: {what}"
    return Problem(check, text, tasks=tasks, runs=frozenset({sight.run}))
