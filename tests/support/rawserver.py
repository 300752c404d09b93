"""A scripted Actions server on a raw socket: its own small HTTP parser, expectations from the protocol, no mockgitea.

It runs on the test's event loop. Every call is recorded; a method answers from its script first (one entry a call),
then from a plausible default. Nothing here is shared with the server or the runner but the generated messages.
"""

import asyncio
import contextlib
import gzip
import json
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.message import Message

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb

PREFIX = "/api/actions/"
WITHIN_S = 30.0

REQUESTS: dict[str, type[Message]] = {
    "Ping": ping_pb2.PingRequest,
    "Register": pb.RegisterRequest,
    "Declare": pb.DeclareRequest,
    "FetchTask": pb.FetchTaskRequest,
    "UpdateTask": pb.UpdateTaskRequest,
    "UpdateLog": pb.UpdateLogRequest,
}


@dataclass
class Call:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    message: Any
    at: float
    reply: "Reply | None" = None
    peer: Any = None


@dataclass
class Reply:
    """One answer; ``drop`` closes the connection instead, ``hold`` delays it until the event is set."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/proto"})
    body: bytes = b""
    drop: bool = False
    hold: asyncio.Event | None = None


Answer = Reply | Message
Script = Answer | Callable[[Call], Answer | Awaitable[Answer]]


def error(status: int, code: str, message: str, **headers: str) -> Reply:
    """A Connect error answer."""
    body = json.dumps({"code": code, "message": message}).encode()
    return Reply(status, {"Content-Type": "application/json", **headers}, body)


def page(status: int) -> Reply:
    """What a proxy answers while the server is away."""
    return Reply(status, {"Content-Type": "text/html"}, b"<html>no</html>")


def zipped(message: Message) -> Reply:
    """A compressed answer."""
    headers = {"Content-Type": "application/proto", "Content-Encoding": "gzip"}
    return Reply(200, headers, gzip.compress(message.SerializeToString()))


DROP = Reply(drop=True)


class RawServer:
    """Use as an async context manager; `url` is the instance."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.tasks: deque[pb.Task] = deque()
        self.rows: dict[int, list[str]] = {}
        self.sealed: set[int] = set()
        self.outputs: dict[int, dict[str, str]] = {}
        self.results: dict[int, int] = {}
        self.version = 1
        self._scripts: dict[str, deque[Script]] = {}
        self._always: dict[str, Script] = {}
        self._changed = asyncio.Condition()
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "RawServer":
        await self.listen(0)
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def listen(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        """Open the listening socket."""
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", port, limit=1 << 24, ssl=tls)

    async def close(self) -> None:
        """Close the socket and every connection."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for connection in list(self._connections):
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def url(self) -> str:
        """The instance URL."""
        return f"http://127.0.0.1:{self.port}"

    def script(self, method: str, *answers: Script) -> None:
        """Queue one answer for each of the next calls of ``method``."""
        self._scripts.setdefault(method, deque()).extend(answers)

    def always(self, method: str, answer: Script) -> None:
        """Answer every call of ``method`` that no script answers."""
        self._always[method] = answer

    def of(self, method: str) -> list[Call]:
        """All calls of ``method`` so far."""
        return [call for call in self.calls if call.method == method]

    def final(self, task_id: int) -> Any:
        """The state with a result that was sent for the task, or None."""
        states = [c.message.state for c in self.of("UpdateTask") if c.message.state.id == task_id]
        return next((state for state in states if state.result), None)

    async def until(self, condition: Callable[[], Any], within_s: float = WITHIN_S) -> Any:
        """Wait until ``condition`` holds; it is looked at after every call."""
        try:
            async with asyncio.timeout(within_s), self._changed:
                return await self._changed.wait_for(condition)
        except TimeoutError:
            seen = [(call.method, str(call.message)) for call in self.calls[-12:]]
            raise AssertionError(f"not within {within_s} s; last calls: {seen}") from None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            while await self._exchange(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._connections.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        line, *fields = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
        verb, path, _ = line.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (f.partition(":") for f in fields)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        method = path.rpartition("/")[2]
        known = verb == "POST" and path.startswith(PREFIX) and method in REQUESTS
        message = REQUESTS[method].FromString(body) if known else None
        call = Call(method, path, headers, message, asyncio.get_running_loop().time())
        call.peer = writer.get_extra_info("peername")
        self.calls.append(call)
        reply = await self._answer(call) if known else Reply(404, {"Content-Type": "text/plain"}, b"not found")
        call.reply = reply
        async with self._changed:
            self._changed.notify_all()
        if reply.hold is not None:
            await reply.hold.wait()
        if reply.drop:
            return False
        fields = [f"{name}: {value}\r\n" for name, value in reply.headers.items()]
        head_out = f"HTTP/1.1 {reply.status} X\r\n{''.join(fields)}Content-Length: {len(reply.body)}\r\n\r\n"
        writer.write(head_out.encode("latin-1") + reply.body)
        await writer.drain()
        return True

    async def _answer(self, call: Call) -> Reply:
        script = self._scripts.get(call.method)
        if script:
            entry = script.popleft()
        else:
            entry = self._always.get(call.method) or getattr(self, f"_default_{call.method}")
        answer = entry if isinstance(entry, Reply | Message) else entry(call)
        if isinstance(answer, Awaitable):
            answer = await answer
        return Reply(body=answer.SerializeToString()) if isinstance(answer, Message) else answer

    # What a real server would say.

    def default(self, call: Call) -> Message:
        """The default answer, with its effects."""
        answer: Message = getattr(self, f"_default_{call.method}")(call)
        return answer

    def _default_Ping(self, call: Call) -> Message:
        return ping_pb2.PingResponse(data=f"Hello, {call.message.data}!")

    def _default_Register(self, call: Call) -> Message:
        asked = call.message
        runner = pb.Runner(
            id=7, uuid="11111111-2222-4333-8444-555555555555", token="a1" * 20, name=asked.name,
            version=asked.version, labels=asked.labels, ephemeral=asked.ephemeral,
        )  # fmt: skip
        return pb.RegisterResponse(runner=runner)

    def _default_Declare(self, call: Call) -> Message:
        return pb.DeclareResponse(runner=pb.Runner(id=7, name="r1", labels=call.message.labels))

    def _default_FetchTask(self, call: Call) -> Message:
        task = self.tasks.popleft() if self.tasks else None
        return pb.FetchTaskResponse(task=task, tasks_version=self.version)

    def _default_UpdateLog(self, call: Call) -> Message:
        asked = call.message
        held = self.rows.setdefault(asked.task_id, [])
        if asked.index <= len(held) < asked.index + len(asked.rows):
            held.extend(row.content for row in asked.rows[len(held) - asked.index :])
            if asked.no_more:
                self.sealed.add(asked.task_id)
        return pb.UpdateLogResponse(ack_index=len(held))

    def _default_UpdateTask(self, call: Call) -> Message:
        asked = call.message
        stored = self.outputs.setdefault(asked.state.id, {})
        for key, value in asked.outputs.items():
            stored.setdefault(key, value)
        if asked.state.result:
            self.results.setdefault(asked.state.id, asked.state.result)
        state = pb.TaskState(id=asked.state.id, result=self.results.get(asked.state.id, 0))
        return pb.UpdateTaskResponse(state=state, sent_outputs=list(stored))
