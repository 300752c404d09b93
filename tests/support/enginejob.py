"""Run one job through the engine without a server: a recording sink, a cancel switch, and a short way to start."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from pathlib import Path
from textwrap import dedent, indent
from typing import Any

from actionsrunner.core.seams import JobOutcome, Need, TaskSpec
from actionsrunner.engine import EngineOptions, run_job
from actionswire.labels import Label
from actionswire.result import Result

CONTEXT: Mapping[str, Any] = {
    "actor": "alice",
    "event": {"ref": "refs/heads/main"},
    "event_name": "push",
    "gitea_default_actions_url": "https://github.example",
    "gitea_runtime_token": "runtime-token-text",
    "ref": "refs/heads/main",
    "repository": "alice/demo",
    "run_id": "341",
    "run_number": "12",
    "sha": "0123456789012345678901234567890123456789",
    "token": "job-token-text",
    "workflow": "ci.yaml",
}


class RecordingSink:
    """Keeps everything a job says, in order, and can be waited on."""

    def __init__(self) -> None:
        self.count: int | None = None
        self.rows: list[str] = []
        self.said: list[str] = []
        """Rows without the headers of steps, which repeat the scripts."""
        self.step_rows: dict[int, list[str]] = {}
        self.masks: list[str] = []
        self.results: dict[int, Result] = {}
        self.outputs: dict[str, str] = {}
        self.calls: list[str] = []
        self._active: int | None = None
        self._in_header = False

    def steps_known(self, count: int) -> None:
        assert self.count is None, "steps_known was called twice"
        self.count = count
        self.calls.append("known")

    def log(self, content: str) -> None:
        assert "\n" not in content
        assert content == content.rstrip("\r\n")
        content.encode("utf-8")
        self.rows.append(content)
        if not self._in_header:
            self.said.append(content)
        elif content in ("::endgroup::", "##[endgroup]"):
            self._in_header = False
        if self._active is not None:
            self.step_rows[self._active].append(content)

    def add_mask(self, value: str) -> None:
        self.masks.append(value)

    def step_started(self, index: int) -> None:
        assert self.count is not None and index < self.count
        assert self._active is None, "two steps at once"
        self._active = index
        self._in_header = True
        self.step_rows[index] = []
        self.calls.append(f"start {index}")

    def step_finished(self, index: int, result: Result) -> None:
        assert index not in self.results, "a step finished twice"
        assert self._active in (None, index)
        self._active = None
        self._in_header = False
        self.results[index] = result
        self.calls.append(f"end {index} {result.text}")

    def set_outputs(self, outputs: Mapping[str, str]) -> None:
        self.outputs = dict(outputs)
        self.calls.append("outputs")

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    async def wait_for_row(self, start: str, within_s: float = 20.0) -> None:
        await until(
            lambda: any(row.startswith(start) for row in self.said), f"a row {start!r}; rows: {self.rows}", within_s
        )


class Switch:
    """A cancel signal operated by hand."""

    def __init__(self, reason: str | None = None) -> None:
        self._reason = reason
        self._set = asyncio.Event()
        self._forced = asyncio.Event()
        if reason is not None:
            self._set.set()

    @property
    def reason(self) -> str | None:
        return self._reason

    def cancel(self, reason: str = "Cancelled") -> None:
        self._reason = reason
        self._set.set()

    def force(self) -> None:
        self._forced.set()

    async def wait(self) -> str:
        await self._set.wait()
        assert self._reason is not None
        return self._reason

    async def wait_forced(self) -> None:
        await self._forced.wait()


async def until(condition: Callable[[], bool], what: str, within_s: float = 20.0) -> None:
    """Wait for a condition; fails with ``what`` when it does not come true."""
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, f"waited {within_s} s for {what}"
        await asyncio.sleep(0.01)  # poll interval


class Finished:
    """A job that has ended: outcome and all that the sink recorded."""

    def __init__(self, outcome: JobOutcome, sink: RecordingSink) -> None:
        self.outcome = outcome
        self.sink = sink
        self.result = outcome.result
        self.rows = sink.rows
        self.text = sink.text
        self.steps = [sink.results.get(index) for index in range(sink.count or 0)]

    def output_of(self, index: int) -> list[str]:
        """Rows of a step after its header group."""
        rows = self.sink.step_rows[index]
        ends = [place for place, row in enumerate(rows) if row in ("::endgroup::", "##[endgroup]")]
        return rows[ends[0] + 1 :] if ends else rows


def workflow(steps: str, *, job: str = "", top: str = "") -> str:
    """A workflow with one job; ``steps``, ``job`` and ``top`` are YAML texts, indented as one likes."""
    parts = [
        "name: demo",
        "on: push",
        dedent(top).strip("\n"),
        "jobs:",
        "  build:",
        "    runs-on: host",
        indent(dedent(job).strip("\n"), "    "),
        "    steps:",
        indent(dedent(steps).strip("\n"), "      "),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def task(payload: str | bytes, **fields: Any) -> TaskSpec:
    data = payload.encode() if isinstance(payload, str) else payload
    context = {**CONTEXT, **fields.pop("context", {})}
    return TaskSpec(id=fields.pop("id", 7), payload=data, context=context, **fields)


def options(parent: Path, **fields: Any) -> EngineOptions:
    defaults: dict[str, Any] = {
        "workdir_parent": parent,
        "labels": (Label("host"),),
        "runner_name": "test-runner",
        "runner_version": "1.2.3",
        "instance_url": "https://git.example/",
    }
    return EngineOptions(**{**defaults, **fields})


def run(
    parent: Path,
    payload: str | bytes | TaskSpec,
    *,
    script: Callable[[RecordingSink, Switch], Coroutine[Any, Any, None]] | None = None,
    **fields: Any,
) -> Finished:
    """Run one job to its end; ``script`` acts beside it, other fields are engine options."""
    spec = payload if isinstance(payload, TaskSpec) else task(payload)

    async def both() -> Finished:
        sink, switch = RecordingSink(), Switch()
        async with asyncio.TaskGroup() as group:
            acting = group.create_task(script(sink, switch)) if script is not None else None
            try:
                outcome = await run_job(spec, options(parent, **fields), sink, switch)
            finally:
                if acting is not None:
                    acting.cancel()
        return Finished(outcome, sink)

    return asyncio.run(both())


def need(result: Result = Result.SUCCESS, **outputs: str) -> Need:
    return Need(result, outputs)


def left_over(parent: Path) -> list[str]:
    """Names that jobs left in their parent directory."""
    with suppress(FileNotFoundError):
        return sorted(entry.name for entry in parent.iterdir())
    return []
