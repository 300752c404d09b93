"""The real runner, in process over real sockets or as a process, against a `RawServer`."""

import asyncio
import contextlib
import json
import os
import random
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from google.protobuf.struct_pb2 import Struct

from actionsrunner.app import RunnerSetup, run_daemon
from actionsrunner.config import Config, parse_config
from actionsrunner.edge.registration import Registration
from actionsrunner.exits import Exit
from actionsrunner.loops.shutdown import ShutdownRequests
from actionswire.gen.runner.v1 import runner_pb2 as pb
from mockgitea.testing import Runner as Known

UUID = "11111111-2222-4333-8444-555555555555"
TOKEN = "0123456789abcdef0123456789abcdef01234567"
RUNTIME_TOKEN = "ey.runtime-token.sig"

FAST: Mapping[str, Any] = {
    "fetch_interval": "20ms", "fetch_interval_max": "40ms", "log_report_interval": "60ms",
    "log_report_max_latency": "40ms", "state_report_interval": "60ms", "report_close_timeout": "700ms",
}  # fmt: skip
"""Everything about a hundred times as fast as real life, in the same proportions."""


class Instance(Protocol):
    """A server that a runner is registered with: a `RawServer` or a `MockGitea`."""

    @property
    def url(self) -> str:
        """The instance URL."""


class Runner:
    """A running `run_daemon`; `requests.ask()` is what a signal does."""

    def __init__(self, work: "asyncio.Task[Exit]", requests: ShutdownRequests) -> None:
        self.work = work
        self.requests = requests

    async def ended(self, within_s: float = 60.0) -> Exit:
        """The exit status, once the daemon has left by itself."""
        async with asyncio.timeout(within_s):
            return await self.work


def configuration(folder: Path, runner: Mapping[str, Any]) -> Config:
    """A fast configuration whose directories are in ``folder``; checked like a file."""
    data = {
        "runner": {**FAST, "file": str(folder / ".runner"), "env_file": "", **runner},
        "host": {"workdir_parent": str(folder / "jobs")},
    }
    return parse_config(json.dumps(data), "test")


def registration(url: str, *, labels: Sequence[str] = ("linux:host",), ephemeral: bool = False) -> Registration:
    """The registration that the tests use."""
    return Registration(id=7, uuid=UUID, token=TOKEN, name="r1", address=url, labels=tuple(labels), ephemeral=ephemeral)


@contextlib.asynccontextmanager
async def running(
    server: Instance, folder: Path, *, once: bool = False, ephemeral: bool = False,
    labels: Sequence[str] = ("linux:host",), seed: int = 1, known: Known | None = None, **runner: Any,
) -> AsyncIterator[Runner]:  # fmt: skip
    """A daemon in this process; stopped, forcibly if need be, at the end. ``known`` is who the server takes it for."""
    config = configuration(folder, runner)
    named = registration(server.url, labels=labels, ephemeral=ephemeral)
    if known is not None:
        named = replace(named, id=known.id, uuid=known.uuid, token=known.token, name=known.name)
    setup = RunnerSetup(
        config=config,
        registration=named,
        labels=tuple(labels),
        once=once,
    )
    requests = ShutdownRequests()
    work = asyncio.ensure_future(run_daemon(setup, requests, rng=random.Random(seed)))
    try:
        yield Runner(work, requests)
    finally:
        work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work


def shell_task(
    task_id: int, *scripts: str, secrets: Mapping[str, str] | None = None, extra: str = "", **fields: Any
) -> pb.Task:
    """A task whose steps run ``scripts``; ``extra`` is YAML for the job, indented by four."""
    steps = "".join(f"      - run: |\n{_indented(script)}" for script in scripts)
    payload = f"name: w\non: push\njobs:\n  build:\n    runs-on: linux\n{extra}    steps:\n{steps}"
    return raw_task(task_id, payload, secrets=secrets, **fields)


def raw_task(task_id: int, payload: str, *, secrets: Mapping[str, str] | None = None, **fields: Any) -> pb.Task:
    """A task as Gitea would send it."""
    context = Struct()
    context.update({
        "token": TOKEN, "gitea_runtime_token": RUNTIME_TOKEN, "gitea_default_actions_url": "https://github.com",
        "server_url": "http://127.0.0.1/", "repository": "alice/demo", "repository_owner": "alice", "event": {},
        "event_name": "push", "ref": "refs/heads/main", "ref_name": "main", "ref_type": "branch", "sha": "0" * 40,
        "job": "build", "run_id": "3", "run_number": "1", "run_attempt": "1", "actor": "alice", "workflow": "ci.yaml",
    })  # fmt: skip
    return pb.Task(
        id=task_id, workflow_payload=payload.encode(), context=context,
        secrets={"GITEA_TOKEN": TOKEN, "GITHUB_TOKEN": TOKEN, **(secrets or {})}, **fields,
    )  # fmt: skip


def _indented(script: str) -> str:
    return "".join(f"          {line}\n" for line in script.splitlines())


async def command(
    folder: Path, *arguments: str, variables: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """Start `actionsrunner` as a process in ``folder``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GITEA_", "RUNNER_"))}
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "actionsrunner", *arguments, cwd=folder, env={**kept, **(variables or {})},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def finish(process: asyncio.subprocess.Process, within_s: float = 60.0) -> tuple[int, str]:
    """The exit status and everything the process wrote."""
    try:
        async with asyncio.timeout(within_s):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        raise
    assert process.returncode is not None
    return process.returncode, (out + err).decode()


def write_runner_file(folder: Path, url: str, **more: Any) -> None:
    """A `.runner` file as another runner would have left it."""
    data = {"id": 7, "uuid": UUID, "name": "r1", "token": TOKEN, "address": url, "labels": ["linux:host"], **more}
    (folder / ".runner").write_text(json.dumps(data))


def write_config(folder: Path, **runner: Any) -> Path:
    """A fast configuration file in ``folder``."""
    path = folder / "config.yaml"
    data = {"runner": {**FAST, **runner}, "host": {"workdir_parent": str(folder / "jobs")}}
    path.write_text(json.dumps(data))
    return path
