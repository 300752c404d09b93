"""An Actions server behind the runner's `Transport` seam: no socket, every call takes a set virtual time."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.message import Message

from actionsrunner.edge.clock import LoopClock
from actionsrunner.edge.transport import DeadlinePassed, RawAnswer, TransportError
from actionswire.gen.runner.v1 import runner_pb2 as pb

OK = {"content-type": "application/proto"}
Hook = Callable[[Any], Message | RawAnswer | Exception | None]
"""Looks at a request; None for the plain answer."""


class VirtualClock(LoopClock):
    """The loop's clock for both kinds of time."""

    def wall_us(self) -> int:
        return 1_700_000_000_000_000 + self.now_us()


class FakeServer:
    """A transport that answers like a server; ``calls`` are (time in s, method, request)."""

    def __init__(self, *, rtt_s: float = 0.01) -> None:
        self.calls: list[tuple[float, str, Any]] = []
        self.tasks: deque[pb.Task] = deque()
        self.rows: dict[int, list[str]] = {}
        self.hooks: dict[str, Hook] = {}
        self.rtt_s = rtt_s
        self.down = False

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        method = path.rpartition("/")[2]
        request = getattr(pb, f"{method}Request").FromString(body)
        self.calls.append((asyncio.get_running_loop().time(), method, request))
        await asyncio.sleep(min(self.rtt_s, deadline_s))  # latency of a played server
        if self.rtt_s > deadline_s:
            raise DeadlinePassed("too slow")
        if self.down:
            raise TransportError("connection refused")
        hook = self.hooks.get(method)
        answer = hook(request) if hook else None
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, RawAnswer):
            return answer
        return RawAnswer(200, OK, (answer or getattr(self, f"_{method}")(request)).SerializeToString())

    async def close(self) -> None:
        pass

    def times(self, method: str) -> list[float]:
        """When ``method`` was called."""
        return [at for at, name, _ in self.calls if name == method]

    def requests(self, method: str) -> list[Any]:
        """What ``method`` was called with."""
        return [request for _, name, request in self.calls if name == method]

    def _Declare(self, request: pb.DeclareRequest) -> Message:
        return pb.DeclareResponse()

    def _FetchTask(self, request: pb.FetchTaskRequest) -> Message:
        return pb.FetchTaskResponse(task=self.tasks.popleft() if self.tasks else None, tasks_version=1)

    def _UpdateLog(self, request: pb.UpdateLogRequest) -> Message:
        held = self.rows.setdefault(request.task_id, [])
        if request.index <= len(held) < request.index + len(request.rows):
            held.extend(row.content for row in request.rows[len(held) - request.index :])
        return pb.UpdateLogResponse(ack_index=len(held))

    def _UpdateTask(self, request: pb.UpdateTaskRequest) -> Message:
        return pb.UpdateTaskResponse(state=pb.TaskState(id=request.state.id), sent_outputs=list(request.outputs))
