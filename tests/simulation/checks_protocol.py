"""Peers: capacity, the tasks_version, the counters, and everything that the journal's own audit knows."""

from collections import defaultdict
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from checks_rows import falls
from history import Ending, History, Problem, Problems, handed_out_by_lies

from actionswire.gen.runner.v1 import runner_pb2 as pb
from actionswire.result import Result
from mockgitea.core.audit import AuditFacts, Finding, Rule, audit
from mockgitea.core.call_record import CallRecord
from mockgitea.lab.clocks import EPOCH_US
from virtualrunner import Exchange

CLOSE_TRIES_MAX: Final = 10
CLOSE_BUDGET_US_MIN: Final = 15_000_000
"""The budget is 30 s; a next try that would begin after it is not made, and waits between tries grow to ten."""
SUPERVISOR_US: Final = 22_000_000
"""From a try to the moment when a supervisor finds the daemon dead that would have made the next one."""
_SILENT: Final = (0, 429, 502, 503, 504)
"""Statuses after which a runner tries again; 0 stands for no answer."""
_OF_THE_PROCESS: Final = (Rule.OVER_CAPACITY, Rule.FETCH_WHILE_FULL)
"""What the journal cannot judge when a process was killed, or when a last report never arrived."""


def check_capacity(history: History) -> Problems:
    """Check that no runner ever executes more jobs at once than it has slots."""
    moments: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for execution in history.executions:
        moments[execution.runner].append((execution.started_us, 1, execution.task))
        if execution.ended_us is not None:
            moments[execution.runner].append((execution.ended_us, -1, execution.task))
    for runner, changes in moments.items():
        running = 0
        for at_us, change, task in sorted(changes):  # ends first, where both are at one moment
            running += change
            if running > history.capacity[runner]:
                what = f"{runner} ran {running} jobs at {at_us / 1e6:.3f} s and has {history.capacity[runner]} slots"
                yield Problem("capacity", what, tasks=frozenset({task}), runner=runner)


def check_versions(history: History) -> Problems:
    """Check that the tasks_version of any answer is at least that of every answer that was over before."""
    fetches = [call for call in history.calls if call.is_fetch and _version(call)]  # a repeated answer says 0
    for earlier, later in falls(fetches, _version):
        what = f"{_version(earlier)} (#{earlier.number}) was followed by {_version(later)} (#{later.number})"
        yield Problem("versions", f"the tasks_version fell: {what}")


def check_counters(history: History) -> Problems:
    """Check that every call that ended was counted once."""
    if history.counted is not None and history.counted != len(history.calls):
        yield Problem("counters", f"{len(history.calls)} calls ended, {history.counted} were counted")


def check_audit(history: History) -> Problems:
    """Check that the journal's audit finds nothing that the bad days do not excuse."""
    report = audit(history.calls, AuditFacts(capacity=history.capacity))
    calls = {call.number: call for call in history.calls}
    for finding in report.findings:
        if not any(_excuses(history, finding, calls)):
            tasks = frozenset() if finding.task is None else frozenset({finding.task})
            yield Problem("audit", str(finding), tasks=tasks, runner=finding.runner)


def check_log_before_result(history: History) -> Problems:
    """Check on the wire that a runner tries to end a task's log before it first reports the task's result."""
    tried: set[tuple[str, int]] = set()
    told: set[tuple[str, int]] = set()
    for one in history.wire:  # in the order in which the exchanges ended
        if one.path.endswith("/UpdateLog"):
            sent = pb.UpdateLogRequest.FromString(one.request)
            if sent.no_more:
                tried.add((one.runner, sent.task_id))
        elif one.path.endswith("/UpdateTask"):
            state = pb.UpdateTaskRequest.FromString(one.request).state
            key = (one.runner, state.id)
            if state.result and key not in tried | told:
                told.add(key)
                result = Result(state.result).text
                what = f"{one.runner} reported {result} of task {state.id} at {one.began_us / 1e6:.3f} s"
                yield Problem("log-before-result", f"{what} and had not ended its log", tasks=frozenset({state.id}))


def check_results_retried(history: History) -> Problems:
    """Check on the wire that a runner repeats a task's result as long as its budget lasts, until it is answered."""
    tries: dict[tuple[str, int], list[Exchange]] = defaultdict(list)
    for one in history.wire:
        if one.path.endswith("/UpdateTask") and pb.UpdateTaskRequest.FromString(one.request).state.result:
            tries[one.runner, pb.UpdateTaskRequest.FromString(one.request).state.id].append(one)
    for (runner, task), made in tries.items():
        spent_us = made[-1].ended_us - made[0].began_us
        if made[-1].status in _SILENT and len(made) < CLOSE_TRIES_MAX and spent_us < CLOSE_BUDGET_US_MIN:
            if any(_is_interrupted(ending, runner, made[-1]) for ending in history.endings):
                continue
            what = f"{runner} told the result of task {task} {len(made)} times in {spent_us / 1e6:.1f} s"
            yield Problem("results-retried", f"{what} and gave up", tasks=frozenset({task}), runner=runner)


def check_daemons(history: History) -> Problems:
    """Check that no daemon breaks down, whatever happens to it: it leaves when it is told to, or is unknown."""
    stopped = {deed.runner for deed in history.deeds if deed.what in ("signal", "killed")}
    for ending in history.endings:
        if ending.how not in ("unregistered", "ok", "forced", "killed") or (
            ending.how != "unregistered" and ending.runner not in stopped
        ):
            what = f"{ending.runner} ended as {ending.how} before {ending.at_us / 1e6:.3f} s"
            yield Problem("daemons", what, runner=ending.runner)


def _is_interrupted(ending: Ending, runner: str, last: Exchange) -> bool:
    """Tell whether the runner's daemon ended before its next try."""
    return ending.runner == runner and 0 <= ending.at_us - last.ended_us <= SUPERVISOR_US


def _excuses(history: History, finding: Finding, calls: dict[int, CallRecord]) -> Iterator[bool]:
    shown = [calls[number] for number in finding.entries]
    if finding.rule is Rule.HEARTBEAT_GAP:
        yield shown[0].at_us - EPOCH_US < history.healed_us
    if finding.rule is Rule.RESULT_BEFORE_LOG:
        yield True  # the journal knows nothing of tries that never arrived; the wire does
    if finding.rule in _OF_THE_PROCESS:
        lost = _ends_that_were_lost(history)
        yield any((finding.runner, task) in lost for call in shown for task in call.tasks)
        yield any(deed.runner == finding.runner and deed.what.startswith("started again") for deed in history.deeds)
    lied = handed_out_by_lies(history)
    yield finding.task in lied or any(task in lied for call in shown for task in call.tasks)


def _ends_that_were_lost(history: History) -> set[tuple[str, int]]:
    """Return runner and task of every final report that got no answer; the runner gives the task up at some time."""
    lost = set()
    for one in history.wire:
        if one.path.endswith("/UpdateTask") and one.status != HTTPStatus.OK:
            state = pb.UpdateTaskRequest.FromString(one.request).state
            if state.result:
                lost.add((one.runner, state.id))
    return lost


def _version(call: CallRecord) -> int:
    return int((call.response or {}).get("tasks_version", 0))
