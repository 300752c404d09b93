"""Who is there and how busy: capacity, heartbeats, one process for each identity, no poll after the end.

Judged over all calls of one runner. Source: docs/testing.md, "Audits".
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from mockgitea.core.audit_rules import AuditFacts, Finding, Rule, TaskStory, is_final
from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method, Outcome

_LAST_WORDS: Final = ("unauthenticated", "unknown", "internal", "not_found", "permission_denied")
"""Codes under which servers say that a runner or its task is not theirs; the text that tells is not recorded."""
REPORTS: Final = (Method.UPDATE_LOG, Method.UPDATE_TASK)


def check_heartbeat(story: TaskStory, *, longest_s: float, unread: Sequence[CallRecord] = ()) -> Iterator[Finding]:
    """Yield the silences about one task that are longer than ``longest_s``, from its fetch to its end.

    Args:
        story: the task.
        longest_s: real seconds.
        unread: reports of the same runner that were refused before their body was read; they may be about this task.
    """
    reports = sorted([*story.logs, *story.states, *unread], key=lambda call: call.number)
    seen = [story.delivered] if story.delivered is not None and story.delivered.is_answered else []
    for call in reports:
        if seen or call.tasks:
            seen.append(call)
        if story.task in call.tasks and call.method == Method.UPDATE_TASK and _is_over(call):
            break  # after a cancel real runners fall silent until their closing calls
    for before, after in itertools.pairwise(seen):
        began_s = before.opened_s + (before.duration_s or 0.0)
        gap_s = after.opened_s - began_s
        if gap_s > longest_s:
            message = f"was silent for {gap_s:.1f} s, longer than {longest_s:g} s"
            yield story.finding(Rule.HEARTBEAT_GAP, message, before, after)


class RunnerAudit:
    """The checks over all calls under one identity.

    Args:
        uuid: whose calls they are.
        calls: in the order in which they began, refused ones too.
        facts: what the calls do not tell.
    """

    def __init__(self, uuid: str, calls: Sequence[CallRecord], facts: AuditFacts) -> None:
        self._uuid = uuid
        self._calls = calls
        self._facts = facts
        self._name = next((call.runner for call in calls if call.runner), uuid)
        self.capacity = facts.capacity.get(self._name, facts.capacity.get(uuid))
        """Most tasks at once; None when nobody said."""

    def findings(self) -> Iterator[Finding]:
        """Yield every finding about this runner."""
        yield from self._check_capacity()
        yield from self._check_identity()
        yield from self._check_polls()

    def _finding(self, rule: Rule, message: str, *calls: CallRecord, task: int | None = None) -> Finding:
        numbers = tuple(call.number for call in calls)
        return Finding(rule=rule, runner=self._name, task=task, entries=numbers, message=message)

    def _check_capacity(self) -> Iterator[Finding]:
        held: dict[int, CallRecord] = {}
        for call in self._calls:
            if call.method == Method.UPDATE_TASK and _is_over(call):
                for task in call.tasks:
                    held.pop(task, None)
            elif call.method in REPORTS and call.code in _LAST_WORDS:
                for task in call.tasks or tuple(held):
                    held.pop(task, None)  # the server seems not to know it, so the runner may give it up
            elif call.is_fetch:
                yield from self._check_fetch(call, held)
                if call.is_answered:
                    held |= {task: call for task in call.tasks if task not in held}

    def _check_fetch(self, call: CallRecord, held: dict[int, CallRecord]) -> Iterator[Finding]:
        running = {task: fetch for task, fetch in held.items() if call.began_after(fetch)}
        free = (call.request or {}).get("task_capacity")
        if free is not None:
            total = len(running) + free
            if self.capacity is None:
                self.capacity = total
            if total > self.capacity:
                message = (
                    f"asked for {free} more tasks while it held {len(running)}, above its capacity of {self.capacity}"
                )
                yield self._finding(Rule.OVER_CAPACITY, message, *running.values(), call)
            if len(call.tasks) > max(free, 1):
                message = f"was handed {len(call.tasks)} tasks though it asked for {free}"
                yield self._finding(Rule.OVER_CAPACITY, message, call)
        if self.capacity is not None and len(running) >= self.capacity:
            if free != 0 and call.tasks:
                message = f"got task {call.tasks[0]} while it held {len(running)} of {self.capacity}"
                yield self._finding(Rule.OVER_CAPACITY, message, *running.values(), call, task=call.tasks[0])
            message = f"fetched while it held {len(running)} of {self.capacity} tasks"
            yield self._finding(Rule.FETCH_WHILE_FULL, message, *running.values(), call)

    def _check_identity(self) -> Iterator[Finding]:
        """A new process makes new connections, so a connection from before its Declare belongs to another one."""
        old_peers: set[str] = set()
        declared: CallRecord | None = None
        before_declare: set[str] = set()
        for call in self._calls:
            if not call.peer or not call.runner_uuid:
                continue
            if call.method == Method.DECLARE and call.peer not in old_peers and old_peers:
                declared, before_declare = call, set(old_peers)
            elif declared is not None and call.peer in before_declare:
                message = f"a process declared itself from {declared.peer}, an older one still called from {call.peer}"
                yield self._finding(Rule.IDENTITY_TWICE, message, declared, call)
                return  # one finding tells it; every further call would repeat it
            old_peers.add(call.peer)

    def _check_polls(self) -> Iterator[Finding]:
        stop = self._facts.stopped.get(self._name, self._facts.stopped.get(self._uuid))
        is_ephemeral = self._uuid in self._facts.ephemeral
        ended: CallRecord | None = None
        why = ""
        for call in self._calls:
            if call.is_fetch and stop is not None and call.number > stop:
                yield self._finding(Rule.POLL_AFTER_STOP, f"fetched after it was told to stop (after #{stop})", call)
            elif call.is_fetch and ended is not None and call.began_after(ended):
                yield self._finding(Rule.POLL_AFTER_STOP, f"fetched after {why}", ended, call)
            elif ended is None and _is_turned_away(call):
                ended, why = call, "the answer unauthenticated"
            elif ended is None and is_ephemeral and call.method == Method.UPDATE_TASK and is_final(call):
                ended, why = (call, "its only task") if call.is_answered else (None, "")


def _is_turned_away(call: CallRecord) -> bool:
    """Tell whether the caller certainly learnt that it is not registered, by a call that a runner leaves because of."""
    is_told = call.code == "unauthenticated" and call.outcome == Outcome.UNAUTHENTICATED and not call.fault
    return is_told and call.method not in REPORTS


def _is_over(call: CallRecord) -> bool:
    """Tell whether an UpdateTask reports an end, or its answer tells the runner to come to one."""
    if is_final(call):
        return True
    state = (call.response or {}).get("state") or {}
    return call.is_answered and state.get("result", "unspecified") != "unspecified"
