"""Runners that a test makes: their credentials, their `.runner` file, and one that is played by the test itself.

The played runner speaks Connect with JSON over a plain connection and does exactly what it is told, also the wrong
thing. Source: docs/testing.md, "Runners".
"""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

from actionswire import headers
from mockgitea.commands.runner import parse_labels, runner_file, write_private
from mockgitea.core.plain_messages import Message, plain_response

TIMEOUT_S: Final = 30.0
ROW_TIME: Final = "2026-01-01T00:00:00Z"


class CallRefused(Exception):
    """The server answered a call with an error."""

    def __init__(self, method: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{method} was refused: {status} {code}: {message}")
        self.method = method
        self.status = status
        self.code = code
        """Connect code, empty when the answer named none."""
        self.message = message


@dataclass(frozen=True, slots=True)
class Runner:
    """A registered runner's credentials."""

    id: int
    uuid: str
    token: str = field(repr=False)
    name: str
    labels: tuple[str, ...]
    url: str
    """Instance URL of the server."""
    is_ephemeral: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The two headers that every call of this runner carries."""
        return {headers.RUNNER_UUID: self.uuid, headers.RUNNER_TOKEN: self.token}

    def write_file(self, path: str | Path, *, labels: Sequence[str] | None = None) -> Path:
        """Write the `.runner` file that real runners read, with mode 0600.

        Args:
            path: where to.
            labels: as a runner is configured with them, such as `linux:docker://node:22`; default: the names, each run
                on the host.
        """
        made = {
            "id": self.id,
            "uuid": self.uuid,
            "name": self.name,
            "token": self.token,
            "address": self.url,
            "is_ephemeral": self.is_ephemeral,
        }
        text = runner_file(made, parse_labels(",".join(self.labels if labels is None else labels)))
        write_private(Path(path), text)
        return Path(path)

    def play(self) -> "PlayedRunner":
        """Return a runner under this identity that the test plays itself; close it, or use it in a `with` block."""
        return PlayedRunner(self)


class PlayedRunner:
    """A runner whose every call the test makes by hand. Answers are in the plain form of docs/testing.md.

    Args:
        runner: its credentials.
    """

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.tasks_version = 0
        """What the last fetch answered; the next one sends it."""
        self._acks: dict[int, int] = {}
        address = urlsplit(runner.url)
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(address.hostname or "", address.port, timeout=TIMEOUT_S)

    def call(self, method: str, message: Message, **extra_headers: str) -> Message:
        """Do one RPC and return its answer.

        Args:
            method: such as `UpdateTask`.
            message: the request, with names as in the schema or in canonical JSON.
            extra_headers: further headers; underscores in their names become dashes.

        Raises:
            CallRefused: the answer is an error.
            OSError: there is no answer.
        """
        service = headers.PING_SERVICE if method == headers.PING else headers.RUNNER_SERVICE
        fields = {"Content-Type": "application/json", headers.CONNECT_PROTOCOL_VERSION: "1", **self.runner.headers}
        fields |= {name.replace("_", "-"): value for name, value in extra_headers.items()}
        try:
            self._connection.request("POST", headers.method_path(service, method), json.dumps(message), fields)
            answer = self._connection.getresponse()
            body = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()  # the next call makes a fresh one
            raise
        if answer.status != 200:
            raise _refused(method, answer.status, body)
        return plain_response(method, json.loads(body)) or {}

    def declare(self, version: str = "played", labels: Sequence[str] | None = None) -> Message:
        """Declare version and labels, as a runner does when it starts."""
        return self.call(
            headers.DECLARE, {"version": version, "labels": list(self.runner.labels if labels is None else labels)}
        )

    def fetch(self, tasks_version: int | None = None) -> Message | None:
        """Fetch and return the task, None for none; without a version the last answered one is sent."""
        version = self.tasks_version if tasks_version is None else tasks_version
        answer = self.call(headers.FETCH_TASK, {"tasks_version": version})
        task: Message | None = answer["task"]
        # As real runners do: after a task the next fetch must look into the queue whatever the version says.
        self.tasks_version = 0 if task else answer["tasks_version"]
        return task

    def log(self, task: int, *rows: str, index: int | None = None, no_more: bool = False) -> int:
        """Send log rows and return the ack index.

        Args:
            task: its id.
            rows: contents.
            index: of the first row; default: where the last ack said.
            no_more: this is the end of the log.
        """
        message = {
            "task_id": task,
            "index": self._acks.get(task, 0) if index is None else index,
            "rows": [{"time": ROW_TIME, "content": content} for content in rows],
            "no_more": no_more,
        }
        ack = int(self.call(headers.UPDATE_LOG, message)["ack_index"])
        self._acks[task] = ack
        return ack

    def report(self, task: int, result: str = "", steps: Sequence[Message] = (), **outputs: str) -> str:
        """Send the task's state and return the result that the server answers, `unspecified` while it may go on.

        Args:
            task: its id.
            result: `success`, `failure`, `cancelled` or `skipped`; empty while it runs.
            steps: their states, as in the schema.
            outputs: of the job.
        """
        state: Message = {"id": task, "started_at": ROW_TIME, "steps": list(steps)}
        if result:
            state |= {"result": f"RESULT_{result.upper()}", "stopped_at": ROW_TIME}
        return str(self.call(headers.UPDATE_TASK, {"state": state, "outputs": outputs})["state"]["result"])

    def finish(self, task: int, result: str = "success", *rows: str) -> str:
        """End a task as a correct runner does: last rows, end of the log, then the result."""
        self.log(task, *rows, no_more=True)
        return self.report(task, result)

    def close(self) -> None:
        """Close the connection; safe to call twice."""
        self._connection.close()

    def __enter__(self) -> "PlayedRunner":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _refused(method: str, status: int, body: bytes) -> CallRefused:
    try:
        content = json.loads(body)
        return CallRefused(method, status, str(content["code"]), str(content.get("message", "")))
    except (ValueError, KeyError, TypeError):
        return CallRefused(method, status, "", body.decode("utf-8", "replace").strip())
