"""Logs: every acknowledged row is stored once and in order, the ack index never falls, and no secret is ever seen."""

import base64
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from draw_faults import LIES
from history import History, Problem, Problems, StoredLog, handed_out_by_lies

from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method
from mockgitea.lab.clocks import EPOCH_US
from virtualjobs import read_payload


def check_stored_rows(history: History) -> Problems:
    """Check that a stored log is what was sent, row by row, and holds at least what was acknowledged."""
    by_task = _log_calls(history.calls)
    newest = newest_tasks(history)
    for log in history.logs:
        task = newest.get((log.run, log.name))
        if task is None:
            continue
        calls = by_task.get(task, [])
        sent, acknowledged = defaultdict[int, set[str]](set), 0
        for call in calls:
            assert call.request is not None, "chosen so"
            for place, row in enumerate(call.request["rows"], call.request["index"]):
                sent[place].add(row["content"])
            acknowledged = max(acknowledged, _ack(call))
        if len(log.rows) < acknowledged:
            yield _problem("stored-rows", log, task, f"{acknowledged} rows acknowledged, {len(log.rows)} stored")
        for place, row in enumerate(log.rows):
            if row not in sent[place]:
                what = f"row {place} is stored as {row!r} and was sent as {sorted(sent[place])}"
                yield _problem("stored-rows", log, task, what)
                break


def check_sent_rows(history: History) -> Problems:
    """Check that a row that was stored is never sent with another text in its place."""
    for task, calls in _log_calls(history.calls).items():
        if task in handed_out_by_lies(history):
            continue
        sent: dict[int, str] = {}
        for call in filter(_has_ack, calls):
            assert call.request is not None, "chosen so"
            for place, row in enumerate(call.request["rows"], call.request["index"]):
                before = sent.setdefault(place, row["content"])
                if before != row["content"]:
                    what = f"row {place} of task {task} was {before!r}, then {row['content']!r} (#{call.number})"
                    yield Problem("sent-rows", what, tasks=frozenset({task}))


def check_printed_rows(history: History) -> Problems:
    """Check that the log of a job whose log was sealed holds every row that the job printed, once and in order."""
    by_task = _log_calls(history.calls)
    newest = newest_tasks(history)
    logs = {newest.get((log.run, log.name)): log for log in history.logs}
    for execution in history.executions:
        calls = by_task.get(execution.task, [])
        log = logs.get(execution.task)
        if log is None or execution.result is None or not any(map(_seals, calls)):
            continue
        if any(history.kinds(call) & set(LIES) for call in calls):
            continue  # a runner that was told a wrong number of rows cannot know better
        expected = [masked(row, history.secrets) for row in execution.printed]
        if list(log.rows[: len(expected)]) != expected:
            place = next((n for n, pair in enumerate(zip(log.rows, expected, strict=False)) if pair[0] != pair[1]), -1)
            what = f"printed {len(expected)} rows, {len(log.rows)} stored; the first difference is at {place}"
            yield _problem("printed-rows", log, execution.task, what)


def check_acks(history: History) -> Problems:
    """Check that the server's ack index of a task never falls, from one answer to what is asked after it."""
    for task, calls in _log_calls(history.calls).items():
        for earlier, later in falls([call for call in calls if _has_ack(call)], _ack):
            what = f"from {_ack(earlier)} (#{earlier.number}) to {_ack(later)} (#{later.number})"
            yield Problem("acks", f"the ack index of task {task} fell {what}", tasks=frozenset({task}))


def check_secrets(history: History) -> Problems:
    """Check that no line of a secret was ever sent in a report, shown on a page or stored."""
    lines = [line for secret in history.secrets.values() for line in secret.splitlines()]
    for line in lines:
        raw = line.encode()
        if any(raw in body for body in history.sent):
            yield Problem("secrets", f"a report held {line!r}")
        if any(line in page for page in history.pages):
            yield Problem("secrets", f"a page showed {line!r}")
        for log in history.logs:
            if any(line in row for row in log.rows):
                yield _problem("secrets", log, None, f"a stored row holds {line!r}")


def newest_tasks(history: History) -> Mapping[tuple[int, str], int]:
    """Return the task that a job's page shows at the end, by run and name of the job.

    A run that was run again after a task was handed out may show the job without that task, so it is left out.
    """
    newest: dict[tuple[int, str], int] = {}
    again = {deed.run: deed.at_us for deed in history.deeds if deed.what == "rerun"}
    for call in history.calls:
        response = (call.response or {}) if call.is_fetch else {}
        for task in filter(None, [response.get("task"), *response.get("additional_tasks", ())]):
            name, _ = read_payload(base64.b64decode(task["workflow_payload"]))
            run = int(task["context"]["run_id"])
            newest.pop((run, name), None)
            if call.at_us - EPOCH_US >= again.get(run, 0):
                newest[run, name] = task["id"]
    return newest


def masked(row: str, secrets: Mapping[str, str]) -> str:
    """Return a row with every line of every secret replaced."""
    for line in sorted((line for secret in secrets.values() for line in secret.splitlines()), key=len, reverse=True):
        row = row.replace(line, "***")
    return row


def falls(calls: Sequence[CallRecord], value: Callable[[CallRecord], int]) -> Iterable[tuple[CallRecord, CallRecord]]:
    """Yield pairs of calls where the later one began after the earlier had ended and its value is lower."""
    by_end = sorted(calls, key=lambda call: call.closed_after)
    place, best = 0, None
    for call in sorted(calls, key=lambda call: call.number):
        while place < len(by_end) and 0 < by_end[place].closed_after < call.number:
            if best is None or value(by_end[place]) > value(best):
                best = by_end[place]
            place += 1
        if best is not None and value(call) < value(best):
            yield best, call


def _log_calls(calls: Iterable[CallRecord]) -> dict[int, list[CallRecord]]:
    found: dict[int, list[CallRecord]] = defaultdict(list)
    for call in calls:
        if call.method == Method.UPDATE_LOG and call.request is not None and "task_id" in call.request:
            found[call.request["task_id"]].append(call)
    return found


def _has_ack(call: CallRecord) -> bool:
    return call.response is not None and "ack_index" in call.response


def _ack(call: CallRecord) -> int:
    return int(call.response["ack_index"]) if call.response is not None and "ack_index" in call.response else 0


def _seals(call: CallRecord) -> bool:
    request = call.request or {}
    return bool(request.get("no_more")) and _has_ack(call) and _ack(call) >= request["index"] + len(request["rows"])


def _problem(check: str, log: StoredLog, task: int | None, what: str) -> Problem:
    tasks = frozenset() if task is None else frozenset({task})
    return Problem(check, f"{log.name} of run {log.run} (task {task}): {what}", tasks=tasks, runs=frozenset({log.run}))
