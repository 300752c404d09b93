"""Play a recorded runner session against a server: the same calls in the same order, with ids of the new server.

Runners register anew; UUIDs, tokens, task ids and task versions are mapped as the answers tell them. What differs in
the answers is reported. Waits are not replayed: a call is sent when the answer to the one before it is there.
Source: docs/testing.md, "Replay".
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.plain_messages import plain_response
from mockgitea.verify.session import KnownRunner, Session

View = Mapping[str, Any]
_OPEN_METHODS: Final = frozenset({Method.PING, Method.REGISTER})
_NO_ANSWER: Final = frozenset({Outcome.ABANDONED, Outcome.OPEN})
_NO_CALLS: Final = frozenset({Method.REST, Method.PAGE, Method.UNKNOWN_RPC})
_STRANGER: Final = ("00000000-0000-0000-0000-000000000000", "not-a-token")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the server answered: its status, the message in canonical JSON, and the error code, empty for none."""

    status: int
    message: View
    code: str = ""


class Peer(Protocol):
    """How calls reach the server."""

    def call(self, method: str, message: View, *, content_type: str, headers: Mapping[str, str]) -> Answer:
        """Do one RPC.

        Args:
            method: such as `FetchTask`.
            message: the request in canonical JSON.
            content_type: in which it travels.
            headers: besides those of the protocol.
        """


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """One field in which an answer is not the recorded one."""

    entry: int
    method: str
    field: str
    recorded: Any
    replayed: Any

    def __str__(self) -> str:
        return f"#{self.entry} {self.method} {self.field}: recorded {self.recorded!r}, replayed {self.replayed!r}"


@dataclass(slots=True)
class ReplayReport:
    """What came of a replay."""

    calls: int = 0
    compared: int = 0
    differences: list[AnswerDifference] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    """Entries that could not be sent, each with its reason."""

    def __str__(self) -> str:
        lines = [f"{self.calls} calls replayed, {self.compared} answers compared, {len(self.differences)} differences"]
        lines += [f"  {difference}" for difference in self.differences]
        lines += [f"  skipped {reason}" for reason in self.skipped]
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class RecordedTask:
    """A task of the recording, as far as a new one like it can be made of it."""

    workflow: str
    repository: str
    event: str
    ref: str


class Replay:
    """One replay of one session.

    Args:
        session: what was recorded.
        peer: reaches the server.
        registration_token: with which runners register anew.
        runner: only this runner's calls, by name or UUID; empty for all.
        provide: makes the server have such a task, called before a fetch that got one; None when somebody else does.
    """

    def __init__(
        self,
        session: Session,
        peer: Peer,
        *,
        registration_token: str,
        runner: str = "",
        provide: Callable[[RecordedTask], None] | None = None,
    ) -> None:
        self._session = session
        self._peer = peer
        self._registration_token = registration_token
        self._runner = runner
        self._provide = provide
        self._identities: dict[str, tuple[str, str]] = {}
        self._tasks: dict[int, int] = {}
        self._versions: dict[int, int] = {0: 0}
        self._report = ReplayReport()

    def run(self) -> ReplayReport:
        """Send every call and return what differed."""
        for view, record in zip(self._session.views, self._session.records(), strict=True):
            if record.method in _NO_CALLS or not self._is_wanted(record):
                continue
            if view["request"] is None:
                self._report.skipped.append(f"#{record.number} {record.method}: its body was not recorded")
                continue
            self._replay(view, record)
        return self._report

    def _is_wanted(self, record: CallRecord) -> bool:
        introduced = (record.response or {}).get("runner") or {}
        names = (record.runner, record.claimed_uuid, introduced.get("name"), introduced.get("uuid"))
        return not self._runner or self._runner in names

    def _replay(self, view: View, record: CallRecord) -> None:
        message = self._mapped(record, dict(view["request"]))
        if message is None:
            reason = f"task {record.tasks[0]} was not handed out in the replay"
            self._report.skipped.append(f"#{record.number} {record.method}: {reason}")
            return
        if record.is_fetch and self._provide is not None:
            for task in _recorded_tasks(view):
                self._provide(task)
        headers = self._headers(record)
        answer = self._peer.call(record.method, message, content_type=view["content_type"], headers=headers)
        self._report.calls += 1
        self._learn(record, plain_response(record.method, answer.message) or {})
        if record.outcome in _NO_ANSWER or record.fault:
            return  # nobody saw the recorded answer, or a fault made it
        self._report.compared += 1
        self._report.differences += self._compared(record, answer)

    def _mapped(self, record: CallRecord, message: dict[str, Any]) -> dict[str, Any] | None:
        """Return the request with the new server's ids; None when it is about a task that nobody got."""
        if record.method == Method.REGISTER:
            return message | {"token": self._registration_token}
        if record.is_fetch:
            version = int(message.get("tasksVersion", 0))
            return message | {"tasksVersion": str(self._versions.get(version, 0))}
        if record.method == Method.UPDATE_LOG and record.tasks:
            new = self._tasks.get(record.tasks[0])
            return None if new is None else message | {"taskId": str(new)}
        if record.method == Method.UPDATE_TASK and record.tasks:
            new = self._tasks.get(record.tasks[0])
            return None if new is None else message | {"state": message["state"] | {"id": str(new)}}
        return message

    def _headers(self, record: CallRecord) -> dict[str, str]:
        kept = {name: value for name, value in record.headers.items() if name == "x-runner-request-key"}
        if record.method in _OPEN_METHODS:
            return kept
        uuid, token = self._identity(record.runner_uuid) if record.runner_uuid else _STRANGER
        return kept | {"x-runner-uuid": uuid, "x-runner-token": token}

    def _identity(self, uuid: str) -> tuple[str, str]:
        """Return the new identity of a recorded runner; one whose Register was not recorded registers now."""
        if uuid not in self._identities:
            known = self._session.runners.get(uuid, KnownRunner(f"replayed-{uuid[:8]}"))
            message = {
                "name": known.name,
                "token": self._registration_token,
                "labels": list(known.labels),
                "ephemeral": known.is_ephemeral,
            }
            answer = self._peer.call(Method.REGISTER, message, content_type="application/json", headers={})
            if answer.status != 200:
                raise ReplayFailed(f"the server refused to register {known.name!r}: {answer.code} {answer.message}")
            self._identities[uuid] = (answer.message["runner"]["uuid"], answer.message["runner"]["token"])
        return self._identities[uuid]

    def _learn(self, record: CallRecord, answer: Mapping[str, Any]) -> None:
        recorded = record.response or {}
        if record.method == Method.REGISTER and answer.get("runner") and recorded.get("runner"):
            self._identities[recorded["runner"]["uuid"]] = (answer["runner"]["uuid"], answer["runner"]["token"])
        if record.is_fetch and "tasks_version" in answer:
            for old, new in zip(record.tasks, _task_ids(answer), strict=False):
                self._tasks[old] = new
            if recorded.get("tasks_version"):
                self._versions[recorded["tasks_version"]] = answer["tasks_version"]

    def _compared(self, record: CallRecord, answer: Answer) -> Iterator[AnswerDifference]:
        for name, recorded, replayed in self._pairs(record, answer):
            if recorded != replayed:
                yield AnswerDifference(record.number, record.method, name, recorded, replayed)

    def _pairs(self, record: CallRecord, answer: Answer) -> Iterator[tuple[str, Any, Any]]:
        yield "status", record.status, answer.status
        if record.status != 200 or answer.status != 200:
            yield "code", record.code, answer.code
            return
        recorded, replayed = record.response or {}, plain_response(record.method, answer.message) or {}
        if record.is_fetch:
            yield "tasks", len(record.tasks), len(_task_ids(replayed))
        elif record.method == Method.UPDATE_LOG:
            yield "ack_index", recorded.get("ack_index"), replayed.get("ack_index")
        elif record.method == Method.UPDATE_TASK:
            yield "state.result", (recorded["state"] or {}).get("result"), (replayed["state"] or {}).get("result")
            yield "sent_outputs", sorted(recorded["sent_outputs"]), sorted(replayed["sent_outputs"])
        elif record.method == Method.PING:
            yield "data", recorded.get("data"), replayed.get("data")
        else:
            for name in ("name", "version", "labels", "ephemeral"):
                yield f"runner.{name}", (recorded["runner"] or {}).get(name), (replayed["runner"] or {}).get(name)


class ReplayFailed(Exception):
    """A replay cannot go on; the text says why."""


def _task_ids(answer: Mapping[str, Any]) -> list[int]:
    return [task["id"] for task in (answer.get("task"), *answer.get("additional_tasks", ())) if task]


def _recorded_tasks(view: View) -> Iterator[RecordedTask]:
    response = view["response"] or {}
    for task in (response.get("task"), *response.get("additionalTasks", ())):
        if task:
            context = task.get("context", {})
            yield RecordedTask(
                workflow=base64.b64decode(task.get("workflowPayload", "")).decode("utf-8", "replace"),
                repository=str(context.get("repository", "demo/demo")),
                event=str(context.get("event_name", "")),
                ref=str(context.get("ref", "")),
            )
