"""The rules that an audit knows, what each looks at and what a correct peer does; findings, and what auditors are told.

The checks themselves are in `core.audit_logs`, `core.audit_states` and `core.audit_presence`.
Source: docs/testing.md, "Audits".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from mockgitea.core.call_record import CallRecord

HEARTBEAT_S_DEFAULT: Final = 60.0
"""A server shows a runner as offline after a minute without a call."""


class Rule(StrEnum):
    """Names of the rules."""

    LOG_GAP = "log-gap"
    LOG_REPEAT = "log-repeat"
    LOG_REGRESS = "log-regress"
    LOG_ACK = "log-ack"
    LOG_AFTER_END = "log-after-end"
    TASK_TRANSITION = "task-transition"
    STEP_TRANSITION = "step-transition"
    RESULT_BEFORE_LOG = "result-before-log"
    TASK_OWNER = "task-owner"
    OVER_CAPACITY = "over-capacity"
    FETCH_WHILE_FULL = "fetch-while-full"
    HEARTBEAT_GAP = "heartbeat-gap"
    IDENTITY_TWICE = "identity-twice"
    POLL_AFTER_STOP = "poll-after-stop"


CORRECT: Final[Mapping[Rule, str]] = {
    Rule.LOG_GAP: "sends rows from the last ack index on, without leaving any out",
    Rule.LOG_REPEAT: "drops rows from its buffer once their ack arrived; repeats only what was not acknowledged",
    Rule.LOG_REGRESS: "goes back to a lower index only when an ack said so",
    Rule.LOG_ACK: "a server acknowledges exactly the rows it holds: never fewer than before, never more than were sent",
    Rule.LOG_AFTER_END: "sends no further rows once no_more was acknowledged",
    Rule.TASK_TRANSITION: "reports one final result and repeats only that",
    Rule.STEP_TRANSITION: "sends every step in every report, and never takes a step's result back",
    Rule.RESULT_BEFORE_LOG: "ends the log (UpdateLog with no_more) before it reports the task's result",
    Rule.TASK_OWNER: "reports only on tasks that were handed out to it",
    Rule.OVER_CAPACITY: "holds no more tasks at once than its capacity",
    Rule.FETCH_WHILE_FULL: "asks for no task while all its slots are taken",
    Rule.HEARTBEAT_GAP: "sends UpdateTask or UpdateLog regularly for every task it runs, also for silent ones",
    Rule.IDENTITY_TWICE: "is one process: a second one needs a registration of its own",
    Rule.POLL_AFTER_STOP: "fetches no task after it was told to stop, found itself unregistered, or spent its one task",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One breach of a rule."""

    rule: Rule
    runner: str
    """Name, or UUID when the name is not known."""
    task: int | None
    entries: tuple[int, ...]
    """Numbers of the calls that show it."""
    message: str

    @property
    def correct(self) -> str:
        """What a correct peer does."""
        return CORRECT[self.rule]

    def __str__(self) -> str:
        where = f"{self.runner} task {self.task}" if self.task is not None else self.runner
        numbers = ", ".join(f"#{number}" for number in self.entries)
        return f"{self.rule}: {where}: {self.message} ({numbers}); a correct peer {self.correct}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFacts:
    """What the calls do not tell. Runners are named by name or UUID.

    Args:
        evicted: calls that the journal no longer has; rules that need the beginning are then lenient.
        capacity: runner to most tasks at once. Forgejo's runners say it themselves with each fetch.
        stopped: runner to number of the last call that had begun when it was told to stop.
        ephemeral: UUIDs of runners that get one task only.
        heartbeat_s: longest silence about a running task, in real seconds.
    """

    evicted: int = 0
    capacity: Mapping[str, int] = field(default_factory=dict)
    stopped: Mapping[str, int] = field(default_factory=dict)
    ephemeral: frozenset[str] = frozenset()
    heartbeat_s: float = HEARTBEAT_S_DEFAULT


@dataclass(slots=True, eq=False)
class TaskStory:
    """Everything about one task and one runner, in the order in which the calls began."""

    task: int
    runner: str
    runner_uuid: str
    delivered: CallRecord | None = None
    """The fetch that handed it out; None when there is none among the calls."""
    logs: list[CallRecord] = field(default_factory=list)
    states: list[CallRecord] = field(default_factory=list)

    def finding(self, rule: Rule, message: str, *calls: CallRecord) -> Finding:
        """Make a finding about this task."""
        return Finding(
            rule=rule,
            runner=self.runner,
            task=self.task,
            entries=tuple(call.number for call in calls),
            message=message,
        )


def stories(calls: Sequence[CallRecord]) -> list[TaskStory]:
    """Return the story of each task with each runner that handled it, in order of first appearance."""
    found: dict[tuple[int, str], TaskStory] = {}
    for call in calls:
        for task in call.tasks:
            story = found.get((task, call.runner_uuid))
            if story is None:
                name = call.runner or call.runner_uuid or "nobody"
                story = found[task, call.runner_uuid] = TaskStory(task, name, call.runner_uuid)
            if call.is_fetch:
                story.delivered = story.delivered or call
            elif call.method == "UpdateLog":
                story.logs.append(call)
            else:
                story.states.append(call)
    return list(found.values())


def result_of(call: CallRecord) -> str:
    """Return the result an UpdateTask reports, `unspecified` while the task runs."""
    state = (call.request or {}).get("state") or {}
    return str(state.get("result", "unspecified"))


def is_final(call: CallRecord) -> bool:
    """Tell whether an UpdateTask reports an end."""
    return result_of(call) != "unspecified"
