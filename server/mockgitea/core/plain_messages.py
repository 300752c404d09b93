"""Messages of the journal in one plain form: names as in the schema, whole numbers, results as words, defaults present.

The journal shows canonical JSON, which spells 64-bit numbers as text and leaves defaults out; nobody wants to write
expectations against that. The table below is the part of the schema that expectations and audits look at.
Source: docs/protocol.md, "Messages".
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Message = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _One:
    """A field that holds a message, None when absent."""

    kind: str


@dataclass(frozen=True, slots=True)
class _Many:
    """A field that holds a list of messages."""

    kind: str


_MAP: Final[dict[str, Any]] = {}
_LIST: Final[list[Any]] = []
_RESULT: Final = "unspecified"
_RESULT_PREFIX: Final = "RESULT_"
_RUNNER: Final = {"id": 0, "uuid": "", "token": "", "name": "", "version": "", "labels": _LIST, "ephemeral": False}
_TASK: Final = {"id": 0, "workflow_payload": "", "context": _MAP, "secrets": _MAP, "needs": _MAP, "vars": _MAP}

_FIELDS: Final[dict[str, dict[str, Any]]] = {
    "PingRequest": {"data": ""},
    "PingResponse": {"data": ""},
    "RegisterRequest": {
        "name": "", "token": "", "agent_labels": _LIST, "version": "", "labels": _LIST, "ephemeral": False,
        "capabilities": _LIST,
    },
    "RegisterResponse": {"runner": _One("Runner")},
    "DeclareRequest": {"version": "", "labels": _LIST, "capabilities": _LIST},
    "DeclareResponse": {"runner": _One("Runner")},
    "FetchTaskRequest": {"tasks_version": 0, "task_capacity": None},
    "FetchTaskResponse": {"tasks_version": 0, "task": _One("Task"), "additional_tasks": _Many("Task")},
    "FetchSingleTaskRequest": {"tasks_version": 0, "handle": None},
    "FetchSingleTaskResponse": {"tasks_version": 0, "task": _One("Task")},
    "UpdateTaskRequest": {"state": _One("TaskState"), "outputs": _MAP},
    "UpdateTaskResponse": {"state": _One("TaskState"), "sent_outputs": _LIST},
    "UpdateLogRequest": {"task_id": 0, "index": 0, "rows": _Many("LogRow"), "no_more": False},
    "UpdateLogResponse": {"ack_index": 0},
    "Runner": _RUNNER,
    "Task": _TASK,
    "TaskState": {"id": 0, "result": _RESULT, "started_at": None, "stopped_at": None, "steps": _Many("StepState")},
    "StepState": {
        "id": 0, "result": _RESULT, "started_at": None, "stopped_at": None, "log_index": 0, "log_length": 0,
    },
    "LogRow": {"time": None, "content": ""},
}  # fmt: skip
_NUMBERS_WITHOUT_DEFAULT: Final = frozenset({"task_capacity"})
_UPPER: Final = re.compile(r"(?<=[a-z0-9])([A-Z])")


def plain_request(method: str, message: Mapping[str, Any] | None) -> Message | None:
    """Return a request in the plain form; None stays None, and an unknown method's message stays as it is."""
    return _plain(f"{method}Request", message)


def plain_response(method: str, message: Mapping[str, Any] | None) -> Message | None:
    """Return an answer in the plain form; an error answer stays as it is."""
    return _plain(f"{method}Response", message)


def _plain(kind: str, message: Mapping[str, Any] | None) -> Message | None:
    if message is None:
        return None
    fields = _FIELDS.get(kind)
    if fields is None or "code" in message:
        return dict(message)
    given = {_UPPER.sub(r"_\1", name).lower(): value for name, value in message.items()}
    plain = {name: _value(name, given.pop(name, None), default) for name, default in fields.items()}
    return plain | given


def _value(name: str, value: Any, default: Any) -> Any:
    if isinstance(default, _One):
        return _plain(default.kind, value)
    if isinstance(default, _Many):
        return [_plain(default.kind, each) for each in value or ()]
    if value is None:
        return default.copy() if isinstance(default, dict | list) else default
    if name == "result" and isinstance(value, str):
        return value.removeprefix(_RESULT_PREFIX).lower()
    is_number = name in _NUMBERS_WITHOUT_DEFAULT or (isinstance(default, int) and not isinstance(default, bool))
    return int(value) if is_number else value
