"""All checkers, and what is told when one of them finds something."""

from collections.abc import Callable
from typing import Final

from checks_end import check_all_ended, check_idle_rate, check_nothing_left, check_recovery
from checks_protocol import (
    check_audit,
    check_capacity,
    check_counters,
    check_daemons,
    check_log_before_result,
    check_results_retried,
    check_versions,
)
from checks_rows import check_acks, check_printed_rows, check_secrets, check_sent_rows, check_stored_rows
from checks_states import check_one_task_at_once, check_reported_results, check_results_shown, check_transitions
from history import History, Problem, Problems

from mockgitea.core.call_record import CallRecord
from mockgitea.lab.clocks import EPOCH_US

SAFETY: Final[tuple[Callable[[History], Problems], ...]] = (
    check_stored_rows,
    check_sent_rows,
    check_printed_rows,
    check_acks,
    check_secrets,
    check_transitions,
    check_reported_results,
    check_results_shown,
    check_one_task_at_once,
    check_capacity,
    check_versions,
    check_counters,
    check_audit,
    check_log_before_result,
    check_results_retried,
    check_daemons,
)
LIVENESS: Final[tuple[Callable[[History], Problems], ...]] = (
    check_all_ended,
    check_recovery,
    check_idle_rate,
    check_nothing_left,
)
LINES_MAX: Final = 60
PROBLEMS_MAX: Final = 8


def problems_of(history: History) -> list[Problem]:
    """Return everything that is wrong, safety first."""
    return [problem for check in (*SAFETY, *LIVENESS) for problem in check(history)]


def story(history: History, problem: Problem) -> str:
    """Return the events that a problem is about, in order: what was done, what jobs did, and the calls."""
    lines = [(deed.at_us, f"-- {deed.what} {deed.runner or ''}{f'run {deed.run}' if deed.run else ''}")
             for deed in history.deeds]  # fmt: skip
    lines += [
        (one.started_us, f"** {one.runner} executes task {one.task}: {one.job} of run {one.run}, attempt {one.attempt}")
        for one in history.executions
        if one.task in problem.tasks or one.run in problem.runs
    ]
    lines += [
        (sight.at_us, f".. the page shows {sight.name} of run {sight.run} as {sight.status}")
        for sight in history.sights
        if sight.run in problem.runs
    ]
    lines += [(call.at_us - EPOCH_US, _told(call)) for call in history.calls if _is_about(call, problem)]
    told = [f"{at_us / 1e6:10.3f} {text}" for at_us, text in sorted(lines, key=lambda line: line[0])]
    if len(told) > LINES_MAX:
        told = [*told[: LINES_MAX // 2], f"{'...':>10} {len(told) - LINES_MAX} more", *told[-LINES_MAX // 2 :]]
    return "\n".join(told)


def _is_about(call: CallRecord, problem: Problem) -> bool:
    return bool(problem.tasks & set(call.tasks)) or (problem.runner is not None and call.runner == problem.runner)


def _told(call: CallRecord) -> str:
    request, response = call.request or {}, call.response or {}
    said = ""
    if "rows" in request:
        said = f"rows {request['index']}+{len(request['rows'])}{' end' if request.get('no_more') else ''}"
        said += f" -> ack {response.get('ack_index')}"
    elif "state" in request:
        said = f"{request['state']['result']} -> {(response.get('state') or {}).get('result')}"
    elif call.is_fetch:
        said = f"version {request.get('tasks_version')} -> {response.get('tasks_version')}, tasks {list(call.tasks)}"
    fault = f" [{call.fault}]" if call.fault else ""
    return f"#{call.number} {call.runner} {call.method} {said} {call.outcome} {call.code}{fault}"
