"""Audits of a recorded session: did every peer keep the contract? Runs over any calls, live or from a file.

Source: docs/testing.md, "Audits".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mockgitea.core.audit_logs import check_log
from mockgitea.core.audit_presence import REPORTS, RunnerAudit, check_heartbeat
from mockgitea.core.audit_rules import AuditFacts, Finding, Rule, TaskStory, is_final, stories
from mockgitea.core.audit_states import check_state
from mockgitea.core.call_record import CallRecord

__all__ = ["AuditFacts", "AuditReport", "Finding", "Rule", "audit"]


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What an audit saw."""

    findings: tuple[Finding, ...]
    """In order of the call that shows them."""
    notes: tuple[str, ...]
    """What could not be judged, and which tasks have no end yet."""
    calls: int
    tasks: int
    runners: int

    @property
    def is_clean(self) -> bool:
        """True when no rule was broken."""
        return not self.findings

    def by_rule(self, rule: str) -> list[Finding]:
        """Return the findings of one rule; raises `ValueError` for a rule that does not exist."""
        wanted = Rule(rule)
        return [finding for finding in self.findings if finding.rule is wanted]

    def as_json(self) -> dict[str, Any]:
        """Return JSON-like values."""
        return {
            "findings": [
                {
                    "rule": finding.rule.value,
                    "runner": finding.runner,
                    "task": finding.task,
                    "entries": list(finding.entries),
                    "message": finding.message,
                    "correct": finding.correct,
                }
                for finding in self.findings
            ],
            "notes": list(self.notes),
            "calls": self.calls,
            "tasks": self.tasks,
            "runners": self.runners,
        }

    def __str__(self) -> str:
        seen = f"{self.calls} calls, {self.tasks} tasks, {self.runners} runners"
        verdict = "no rule was broken" if self.is_clean else f"{len(self.findings)} findings"
        lines = [f"audit: {verdict} ({seen})"]
        lines += [f"  {finding}" for finding in self.findings]
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines)


def audit(calls: Sequence[CallRecord], facts: AuditFacts | None = None) -> AuditReport:
    """Check every rule.

    Args:
        calls: in the order in which they began.
        facts: what the calls do not tell.
    """
    facts = facts or AuditFacts()
    found = [story for story in stories(calls) if story.runner_uuid]
    is_complete = facts.evicted == 0
    by_runner: dict[str, list[CallRecord]] = {}
    for call in calls:
        if call.claimed_uuid:
            by_runner.setdefault(call.claimed_uuid, []).append(call)
    unread = {uuid: [call for call in own if _is_unread_report(call)] for uuid, own in by_runner.items()}
    findings: list[Finding] = []
    for story in found:
        findings += check_log(story, is_complete=is_complete)
        findings += check_state(story, is_complete=is_complete)
        findings += check_heartbeat(story, longest_s=facts.heartbeat_s, unread=unread[story.runner_uuid])
    facts = _with_ephemeral(calls, facts)
    audits = [RunnerAudit(uuid, own, facts) for uuid, own in by_runner.items()]
    for each in audits:
        findings += each.findings()
    findings.sort(key=lambda finding: (finding.entries[-1], finding.rule))
    notes = tuple(_notes(calls, found, facts))
    return AuditReport(tuple(findings), notes, len(calls), len({story.task for story in found}), len(by_runner))


def _is_unread_report(call: CallRecord) -> bool:
    return call.method in REPORTS and not call.tasks


def _with_ephemeral(calls: Sequence[CallRecord], facts: AuditFacts) -> AuditFacts:
    """Add the runners that registered as ephemeral and were confirmed."""
    registered = [(call.response or {}).get("runner") or {} for call in calls if call.method == "Register"]
    uuids = {runner["uuid"] for runner in registered if runner.get("ephemeral")}
    return AuditFacts(
        evicted=facts.evicted,
        capacity=facts.capacity,
        stopped=facts.stopped,
        ephemeral=facts.ephemeral | uuids,
        heartbeat_s=facts.heartbeat_s,
    )


def _notes(calls: Sequence[CallRecord], found: Sequence[TaskStory], facts: AuditFacts) -> Iterator[str]:
    if facts.evicted:
        yield f"{facts.evicted} calls were evicted from the journal; what they held was not judged"
    undecoded = sum(1 for call in calls if call.is_answered and call.method in _JUDGED and call.request is None)
    if undecoded:
        yield f"{undecoded} calls have no decoded body (cut, or no runner message); they were not judged"
    for story in found:
        if story.delivered is not None and not any(is_final(call) for call in story.states):
            yield f"task {story.task} of {story.runner} has no result yet"


_JUDGED = ("FetchTask", "FetchSingleTask", "UpdateTask", "UpdateLog")
