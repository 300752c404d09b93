"""How often and how long summaries are tried, in virtual time over a transport that answers from a list."""

import asyncio
import base64
import json
from collections import deque
from collections.abc import Mapping
from typing import Any

import pytest

from actionsrunner.core.seams import TaskSpec
from actionsrunner.edge.client import Identity, RunnerClient
from actionsrunner.edge.transport import DeadlinePassed, RawAnswer, TransportError
from actionsrunner.loops.cancel import CancelToken
from actionsrunner.loops.summaries import SummarySender
from eventlog import logged
from fakeserver import VirtualClock
from virtualtime import run_virtual

CLAIMS = base64.urlsafe_b64encode(json.dumps({"JobID": 7}).encode()).decode().rstrip("=")
TOKEN = f"e30.{CLAIMS}.sig"
TASK = TaskSpec(1, b"", {"gitea_runtime_token": TOKEN, "run_id": "3"})
TAKEN = RawAnswer(200, {"content-type": "application/json"}, b"{}")
PLAIN = {"content-type": "text/plain; charset=utf-8"}
NEVER = "no answer"
Answer = RawAnswer | Exception | str


class Puts:
    """A server that announces job summaries; ``puts`` are (second, path, text)."""

    def __init__(self, *answers: Answer, announced: str = "job-summary") -> None:
        self.puts: list[tuple[float, str, str]] = []
        self.answers = deque(answers)
        self.announced = announced
        self.stop = CancelToken()

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        if path.endswith("Declare"):
            return RawAnswer(
                200, {"content-type": "application/proto", "x-gitea-actions-capabilities": self.announced}, b""
            )
        assert (verb, headers["content-type"], headers["authorization"]) == ("PUT", "text/markdown", f"Bearer {TOKEN}")
        assert not [name for name in headers if "runner" in name]
        self.puts.append((asyncio.get_running_loop().time(), path, body.decode()))
        answer = self.answers.popleft() if self.answers else TAKEN
        if isinstance(answer, str):
            clock = VirtualClock()
            await clock.sleep_until(clock.now_us() + round(deadline_s * 1e6))
            raise DeadlinePassed(answer)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        pass

    def take(self, texts: Mapping[int, str], task: TaskSpec = TASK) -> float:
        """Send ``texts`` to it; return how many virtual seconds that took."""

        async def scenario() -> float:
            client = RunnerClient(self, version="v", identity=Identity("u", "t"), family=None)
            await client.declare(labels=(), capabilities=())
            await SummarySender(client, VirtualClock()).send(task, texts, self.stop)
            return asyncio.get_running_loop().time()

        return run_virtual(scenario())

    @property
    def texts(self) -> list[str]:
        return [text for _, _, text in self.puts]


def test_each_step_is_put_to_its_own_place() -> None:
    server = Puts()
    server.take({0: "a", 4: "\N{SNOWMAN}"})
    base = "/api/actions_pipeline/_apis/pipelines/workflows/3/jobs/7/steps"
    assert server.puts == [(0.0, f"{base}/0/summary", "a"), (0.0, f"{base}/4/summary", "\N{SNOWMAN}")]


@pytest.mark.parametrize("announced", ["", "other", "job-summary-2"])
def test_nothing_is_sent_unless_it_was_announced(announced: str) -> None:
    server = Puts(announced=announced)
    server.take({0: "a"})
    assert server.puts == []


@pytest.mark.parametrize(
    "failure",
    [RawAnswer(503, PLAIN, b""), RawAnswer(429, {}, b""), RawAnswer(500, PLAIN, b"x"), TransportError("reset")],
)
def test_transient_failure_is_tried_once_more(failure: Answer) -> None:
    server = Puts(failure)
    server.take({0: "a", 1: "b"})
    assert server.texts == ["a", "a", "b"]


def test_two_failures_are_logged_and_the_next_step_has_its_turn() -> None:
    server = Puts(TransportError("reset"), RawAnswer(500, PLAIN, b"Error runner api getting task"))
    with logged() as logs:
        server.take({0: "a", 1: "b"})
    assert server.texts == ["a", "a", "b"]
    (said,) = logs
    assert (said["event"], said["step"]) == ("summary_not_sent", 0)
    assert said["error"].endswith("HTTP 500: Error runner api getting task")
    assert TOKEN not in str(said)


@pytest.mark.parametrize(
    "refused", [RawAnswer(400, PLAIN, b"step_index"), RawAnswer(404, PLAIN, b""), RawAnswer(401, {}, b"")]
)
def test_refusal_is_not_tried_again(refused: RawAnswer) -> None:
    server = Puts(refused)
    server.take({0: "a"})
    assert server.texts == ["a"]


def test_silent_server_costs_fifteen_seconds_in_all() -> None:
    server = Puts(*[NEVER] * 20)
    assert server.take(dict.fromkeys(range(9), "a")) == pytest.approx(15, abs=0.01)
    assert [at for at, _, _ in server.puts] == pytest.approx([0, 5, 10], abs=0.01)


def test_cancel_ends_the_sending() -> None:
    server = Puts()
    server.stop.cancel("Cancelled")
    server.take({0: "a"})
    assert server.puts == []


def test_task_whose_token_names_no_job_is_logged() -> None:
    server = Puts()
    with logged() as logs:
        server.take({0: "a"}, TaskSpec(1, b"", {"token": "t", "run_id": "3"}))
    assert server.puts == []
    assert "names no job" in logs[0]["error"]


def test_headers_say_nothing_of_the_runner() -> None:
    """The page's part of a server knows jobs, not runners; whoever reads its log must not learn the runner's token."""
    seen: dict[str, Any] = {}

    class Watching(Puts):
        async def send(
            self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float
        ) -> RawAnswer:
            if verb == "PUT":
                seen.update(headers)
            return await super().send(verb, path, headers, body, deadline_s)

    Watching().take({0: "a"})
    assert sorted(seen) == ["accept-encoding", "authorization", "content-type", "user-agent"]
