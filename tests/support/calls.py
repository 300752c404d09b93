"""Recorded calls as tests want them: journal views with valid defaults, numbered and timed one after the other."""

from collections.abc import Mapping
from typing import Any

from mockgitea.core.call_record import CallRecord

UUID = "11111111-1111-4111-8111-111111111111"
NAMES = {UUID: "r1"}
EMPTY: Mapping[str, Any] = {}
_OUTCOMES = {"FetchTask": "empty"}


class Recording:
    """Builds a session call by call; each begins a second after the one before and is over when the next begins."""

    def __init__(self, uuid: str = UUID, peer: str = "127.0.0.1:1") -> None:
        self.views: list[dict[str, Any]] = []
        self.uuid = uuid
        self.peer = peer
        self.now_s = 0.0

    def add(
        self, method: str, request: Mapping[str, Any] | None = EMPTY, response: Mapping[str, Any] | None = EMPTY,
        *, after_s: float = 1.0, **fields: Any,
    ) -> CallRecord:  # fmt: skip
        """Record one call; ``fields`` replace those of the view."""
        self.now_s += after_s
        number = len(self.views) + 1
        view = {
            "number": number,
            "at": f"2026-01-01T{int(self.now_s) // 3600:02}:{int(self.now_s) // 60 % 60:02}:{self.now_s % 60:09.6f}Z",
            "opened_s": self.now_s,
            "duration_s": 0.01,
            "closed_after": number,
            "transport": "http",
            "peer": self.peer,
            "verb": "POST",
            "path": f"/api/actions/runner.v1.RunnerService/{method}",
            "method": method,
            "runner_uuid": self.uuid,
            "outcome": _OUTCOMES.get(method, "ok"),
            "status": 200,
            "code": "",
            "fault": "",
            "headers": {"x-runner-uuid": self.uuid, "x-runner-token": "***"},
            "content_type": "application/proto",
            "request_bytes": 0,
            "response_bytes": 0,
            "is_cut": False,
            "request": request,
            "response": response,
            **fields,
        }
        self.views.append(view)
        return CallRecord.from_view(view, NAMES)

    @property
    def records(self) -> list[CallRecord]:
        """Return everything recorded."""
        return [CallRecord.from_view(view, NAMES) for view in self.views]

    # --- the calls of a runner, answered as a correct server does
    def fetch(self, *tasks: int, version: int = 0, **fields: Any) -> CallRecord:
        """A fetch that got these tasks."""
        response: dict[str, Any] = {"tasksVersion": "1"}
        if tasks:
            response |= {"task": {"id": str(tasks[0])}, "additionalTasks": [{"id": str(task)} for task in tasks[1:]]}
        outcome = "task" if tasks else "empty"
        request = {"tasksVersion": str(version)} | fields.pop("request", {})
        return self.add("FetchTask", request, response, **{"outcome": outcome, **fields})

    def log(
        self, task: int, index: int, rows: int, *, ack: int | None = None, end: bool = False, **fields: Any
    ) -> None:
        """An UpdateLog; without ``ack`` everything was taken."""
        request = {"taskId": str(task), "index": str(index), "rows": [{"content": "x"}] * rows, "noMore": end}
        self.add("UpdateLog", request, {"ackIndex": str(index + rows if ack is None else ack)}, **fields)

    def state(
        self, task: int, result: str = "", *, answer: str = "", steps: list[dict[str, Any]] | None = None, **fields: Any
    ) -> None:
        """An UpdateTask; ``answer`` is the result the server answered."""
        state: dict[str, Any] = {"id": str(task), "steps": steps or []}
        if result:
            state["result"] = f"RESULT_{result.upper()}"
        answered = answer or result
        response = {"state": {"id": str(task), **({"result": f"RESULT_{answered.upper()}"} if answered else {})}}
        self.add("UpdateTask", {"state": state}, response, **fields)
