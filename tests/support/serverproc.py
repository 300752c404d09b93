"""A real `mockgitea serve` process with ports of its own, and a small client for its control API and RPCs."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from google.protobuf.message import Message

from actionswire.gen.ping.v1 import ping_pb2
from actionswire.gen.runner.v1 import runner_pb2 as pb
from eventually import eventually
from rawhttp import Connection, Reply

M = TypeVar("M", bound=Message)

RUNNER_SERVICE = "runner.v1.RunnerService"
PING_SERVICE = "ping.v1.PingService"
BASE = "/api/actions"
PROTO = ("Content-Type", "application/proto")
VERSION = ("Connect-Protocol-Version", "1")
START_S_MAX = 40.0


@dataclass(frozen=True)
class Identity:
    """A registered runner's credentials."""

    id: int
    uuid: str
    token: str

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The two headers every authenticated call carries."""
        return [("x-runner-uuid", self.uuid), ("x-runner-token", self.token)]


def scrubbed_environment() -> dict[str, str]:
    """The environment without settings of ours that would leak into a test."""
    prefixes = ("MOCKGITEA_", "GITEA_", "ACTIONSRUNNER_", "FORGEJO_")
    return {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}


class ServerProcess:
    """`mockgitea serve` as a child process; ``stop`` or ``kill`` ends it."""

    def __init__(self, *arguments: str, folder: Path | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="mockgitea-test-"))
        self.arguments = arguments
        self.log = self.folder / "server.log"
        self.ready_file = self.folder / "ready.json"
        self.start()

    def start(self, *extra: str) -> None:
        """Start the process and wait until it answers."""
        self.ready_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "mockgitea", "serve", "--ready-file", str(self.ready_file)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, *self.arguments, *extra],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=scrubbed_environment(),
            )  # fmt: skip
        try:
            eventually(lambda: self.ready_file.exists() or self.process.poll() is not None, within_s=START_S_MAX)
            assert self.ready_file.exists(), f"exited with {self.process.returncode}"
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"server did not start: {error}\n{self.log_text()[-4000:]}") from None
        self.ready: dict[str, Any] = json.loads(self.ready_file.read_text())
        runner, control = urlsplit(self.ready["runner_url"]), urlsplit(self.ready["control_url"])
        self.host, self.port = str(runner.hostname), int(runner.port or 0)
        self.control_host, self.control_port = str(control.hostname), int(control.port or 0)

    def log_text(self) -> str:
        """What the process printed so far."""
        return self.log.read_text(errors="replace")

    def stop(self) -> int:
        """Ask the process to end (SIGTERM) and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"server ignored SIGTERM:\n{self.log_text()[-4000:]}") from None
        return int(self.process.returncode)

    def kill(self) -> None:
        """End the process at once (SIGKILL)."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Mock:
    """What a test does to a running server: raw RPCs on the runner port, JSON on the control port."""

    def __init__(self, server: ServerProcess, profile: str) -> None:
        self.server = server
        self.profile = profile
        self.ready = server.ready

    # --- plain HTTP
    def connect(self) -> Connection:
        """Open a connection to the runner port."""
        return Connection(self.server.host, self.server.port)

    def http(self, method: str, path: str, headers: Sequence[tuple[str, str]] = (), body: Any = b"") -> Reply:
        """One request on the runner port on a connection of its own."""
        with self.connect() as connection:
            return connection.request(method, path, headers, body)

    def web(self, path: str, body: Any = None, headers: Sequence[tuple[str, str]] = ()) -> Reply:
        """POST JSON to a page path of the runner port."""
        return self.http("POST", path, [("Content-Type", "application/json"), *headers], json.dumps(body).encode())

    def rest(self, method: str, path: str, body: Any = None, *, token: str | None = None) -> Reply:
        """One REST v1 call with the server's API token."""
        credentials = self.ready["api_token"] if token is None else token
        headers = [("Authorization", f"token {credentials}")]
        payload = b""
        if body is not None:
            headers.append(("Content-Type", "application/json"))
            payload = json.dumps(body).encode()
        return self.http(method, f"/api/v1{path}", headers, payload)

    def control_reply(self, method: str, path: str, body: Any = None) -> Reply:
        """One control call, whatever its status."""
        headers = [("Content-Type", "application/json")]
        if token := self.ready.get("control_token"):
            headers.append(("Authorization", f"Bearer {token}"))
        payload = b"" if body is None else json.dumps(body).encode()
        with Connection(self.server.control_host, self.server.control_port) as connection:
            return connection.request(method, f"/control/v1{path}", headers, payload)

    def control(self, method: str, path: str, body: Any = None, /, **query: Any) -> Any:
        """One control call that must succeed; returns its JSON."""
        path = f"{path}?{urlencode(query)}" if query else path
        reply = self.control_reply(method, path, body)
        assert reply.status < 300, f"{method} {path}: {reply.status} {reply.body[:1000]!r}"
        return reply.json() if reply.body else None

    # --- set-up
    def settle(self) -> None:
        """Wait until the server's queues are idle."""
        self.control("POST", "/settle")

    def repository(self, name: str, kind: str = "user") -> str:
        """Create ``owner/name``."""
        owner, _, repo = name.partition("/")
        self.control("POST", "/repositories", {"owner": owner, "name": repo, "kind": kind})
        return name

    def runner(self, labels: Sequence[str] = ("linux",), *, name: str = "r1", **extra: Any) -> Identity:
        """Create a runner through the control API."""
        made = self.control("POST", "/runners", {"name": name, "labels": list(labels), **extra})
        return Identity(made["id"], made["uuid"], made["token"])

    def registration_token(self, *, reset: bool = False, **scope: str) -> str:
        """The registration token of a scope."""
        made = self.control("POST", "/registration-tokens", {"scope": scope, "reset": reset})
        return str(made["token"])

    def enqueue(self, workflow: str, *, repository: str = "demo/demo", event: str = "push", **extra: Any) -> Any:
        """Hand a workflow to the server; returns the run as JSON."""
        body = {"workflow": workflow, "workflow_file": "ci.yaml", "repository": repository, "event": event, **extra}
        return self.control("POST", "/enqueue", body)

    def run(self, run_id: int) -> Any:
        """The run with its jobs, their latest task, steps and outputs."""
        return self.control("GET", f"/runs/{run_id}")

    def job(self, run_id: int, job_id: str) -> Any:
        """The (last) job with this workflow job id."""
        return [job for job in self.run(run_id)["jobs"] if job["job_id"] == job_id][-1]

    # --- RPC
    def post(
        self, method: str, body: Any, headers: Sequence[tuple[str, str]] = (), service: str = RUNNER_SERVICE
    ) -> Reply:
        """One RPC with exactly these headers."""
        return self.http("POST", f"{BASE}/{service}/{method}", headers, body)

    def rpc(
        self, method: str, message: Message, runner: Identity | None = None, headers: Sequence[tuple[str, str]] = ()
    ) -> Reply:
        """One RPC as a real runner sends it."""
        credentials = runner.headers if runner else []
        return self.post(method, message.SerializeToString(), [PROTO, VERSION, *credentials, *headers])

    def call(
        self, method: str, message: Message, answer: type[M], runner: Identity | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> M:  # fmt: skip
        """One RPC that must succeed."""
        reply = self.rpc(method, message, runner, headers)
        assert reply.status == 200, f"{method}: {reply.status} {reply.body[:1000]!r}"
        assert reply.header("content-type") == "application/proto"
        return answer.FromString(reply.body)

    def ping(self, data: str) -> str:
        """Ping."""
        body = ping_pb2.PingRequest(data=data).SerializeToString()
        reply = self.post("Ping", body, [PROTO], PING_SERVICE)
        assert reply.status == 200
        return str(ping_pb2.PingResponse.FromString(reply.body).data)

    def fetch(
        self, runner: Identity, version: int = 0, capacity: int | None = None,
        headers: Sequence[tuple[str, str]] = (),
    ) -> pb.FetchTaskResponse:  # fmt: skip
        """FetchTask."""
        request = pb.FetchTaskRequest(tasks_version=version)
        if capacity is not None:
            request.task_capacity = capacity
        return self.call("FetchTask", request, pb.FetchTaskResponse, runner, headers)

    def take(self, runner: Identity) -> pb.Task:
        """Fetch with version 0; there must be a task."""
        answer = self.fetch(runner)
        assert answer.HasField("task"), "no task was assigned"
        return answer.task

    def update(
        self, runner: Identity, task_id: int, result: int = 0, *, steps: Sequence[pb.StepState] = (),
        outputs: Mapping[str, str] | None = None, **state: Any,
    ) -> pb.UpdateTaskResponse:  # fmt: skip
        """UpdateTask."""
        request = pb.UpdateTaskRequest(
            state=pb.TaskState(id=task_id, result=result, steps=steps, **state), outputs=outputs or {}
        )
        return self.call("UpdateTask", request, pb.UpdateTaskResponse, runner)

    def rows(self, *contents: str, seconds: int = 1_700_000_000) -> list[pb.LogRow]:
        """Log rows with a fixed time of half past a second."""
        made = [pb.LogRow(content=content) for content in contents]
        for row in made:
            row.time.seconds, row.time.nanos = seconds, 500_000_000
        return made

    def append(
        self, runner: Identity, task_id: int, index: int, contents: Sequence[str] = (), *, no_more: bool = False
    ) -> int:
        """UpdateLog; returns the ack index."""
        request = pb.UpdateLogRequest(task_id=task_id, index=index, rows=self.rows(*contents), no_more=no_more)
        return int(self.call("UpdateLog", request, pb.UpdateLogResponse, runner).ack_index)

    def log(self, task_id: int) -> str:
        """The stored log as the control API shows it."""
        reply = self.control_reply("GET", f"/tasks/{task_id}/log")
        assert reply.status == 200, reply
        return reply.body.decode()
