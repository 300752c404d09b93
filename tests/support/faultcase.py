"""A running server with shorthand for faults: add one, send a call over a raw socket, look at what is stored."""

import socket
from typing import Any

from google.protobuf.message import Message

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from rawhttp import Connection, Reply
from serverproc import BASE, PROTO, RUNNER_SERVICE, VERSION, Identity, Mock

SEED = "20261201"
WORKFLOW = "on: push\njobs: {a: {runs-on: linux, steps: [{run: 'true'}]}}\n"
TWO_JOBS = (
    "on: push\njobs:\n  a: {runs-on: linux, steps: [{run: 'true'}]}\n  b: {runs-on: linux, steps: [{run: 'true'}]}\n"
)
PING = "/api/actions/ping.v1.PingService/Ping"


class FaultCase(Mock):
    """What a test of faults does to a server."""

    def fault(self, kind: str, **fields: Any) -> Any:
        """Add a fault named ``f``."""
        return self.control("POST", "/faults", {"name": "f", "kind": kind, **fields})

    def downtime(self, kind: str, **fields: Any) -> Any:
        """Add a downtime rule named ``d``."""
        return self.control("POST", "/downtime", {"name": "d", "kind": kind, "duration_s": 3600, **fields})

    def heal(self) -> None:
        """Remove every rule."""
        self.control("DELETE", "/faults")

    def advance(self, seconds: float) -> None:
        """Move the server's clock."""
        self.control("POST", "/clock/advance", {"seconds": seconds})

    def begin(
        self, method: str, message: Message | None = None, runner: Identity | None = None, *,
        on: Connection | None = None, headers: tuple[tuple[str, str], ...] = (),
    ) -> Connection:  # fmt: skip
        """Send one RPC and return its connection; the answer is for the test to read."""
        connection = on or self.connect()
        fields = [PROTO, VERSION, *(runner.headers if runner else []), *headers]
        path = PING if method == "Ping" else f"{BASE}/{RUNNER_SERVICE}/{method}"
        connection.send("POST", path, fields, message.SerializeToString() if message else b"")
        return connection

    def answered_ping(self) -> Reply:
        """Send a Ping whose answer has 8 bytes or more."""
        with self.begin("Ping", ping_pb2.PingRequest(data="abcdefgh")) as connection:
            return connection.receive()

    def entries(self, method: str = "") -> list[Any]:
        """The journal, oldest first."""
        query = {"method": method} if method else {}
        return list(self.control("GET", "/journal", limit=100, **query)["entries"])

    def last(self, method: str, outcome: str = "") -> Any:
        """The newest recorded call of a method, once it has ended (that way)."""

        def newest() -> Any:
            return next((entry for entry in reversed(self.entries(method))), {"outcome": "open"})

        return eventually(newest, lambda one: one["outcome"] == outcome if outcome else one["outcome"] != "open")

    def waiting_runner(self, workflow: str = WORKFLOW, **extra: Any) -> tuple[Identity, int]:
        """A runner and a run whose jobs wait for it."""
        runner = self.runner(**extra)
        return runner, int(self.enqueue(workflow)["run_id"])

    def running_task(self, **extra: Any) -> tuple[Identity, int, int]:
        """A runner, the task it was given, and the run."""
        runner, run_id = self.waiting_runner(**extra)
        return runner, self.take(runner).id, run_id

    def rows_request(self, task_id: int, *contents: str, index: int = 0) -> pb.UpdateLogRequest:
        """An UpdateLog."""
        return pb.UpdateLogRequest(task_id=task_id, index=index, rows=self.rows(*contents))


def end_of(connection: Connection) -> str:
    """Read until the connection ends and say how: ``fin`` or ``rst``, with what came before."""
    received = b""
    try:
        while data := connection.socket.recv(65536):
            received += data
    except ConnectionResetError:
        return "rst" if not received else f"rst after {received!r}"
    return "fin" if not received else f"fin after {received!r}"


def is_silent(connection: Connection) -> bool:
    """Tell whether nothing has arrived, not even the connection's end."""
    connection.socket.setblocking(False)
    try:
        return connection.socket.recv(1, socket.MSG_PEEK) == b"never"
    except BlockingIOError:
        return True
    finally:
        connection.socket.settimeout(20)


__all__ = ["FaultCase", "end_of", "is_silent", "pb"]
