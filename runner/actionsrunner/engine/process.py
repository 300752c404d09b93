"""One process of a step: start it, pump its output, wait for it, stop it.

Owns the session, the pipe and the ladder of signals. It knows nothing of workflows; rows go to a callback.
"""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

from actionsrunner.engine import proctree
from actionsrunner.engine.output_lines import LineSplitter

_CHUNK_BYTES: Final = 16 * 1024
"""Bytes handled before other tasks get their turn: a flood of output must not block the event loop."""

_QUIET_S: Final = 0.5
"""After the process ended, output counts as complete when the pipe has been silent this long."""

_KILLED_S_MAX: Final = 5.0
_SWEEP_ROUNDS_MAX: Final = 40
_SWEEP_PAUSE_S: Final = 0.05


class StartError(Exception):
    """A process that could not be started; the text is fit for the log."""


class EndedBy(Enum):
    """Who ended a process."""

    ITSELF = "itself"
    STOP = "stop"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Ending:
    """How a process ended; ``code`` is negative after a signal."""

    code: int
    ended_by: EndedBy

    @property
    def exit_code(self) -> int:
        """The exit code as shells count: 128 + N after signal N."""
        return self.code if self.code >= 0 else 128 - self.code

    @property
    def signal_name(self) -> str:
        """The name of the signal that ended the process, e.g. ``SIGKILL``; empty when it exited by itself."""
        if self.code >= 0:
            return ""
        try:
            return signal.Signals(-self.code).name
        except ValueError:
            return f"signal {-self.code}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to start: ``mark`` tells this process and its offspring from all others."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    mark: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long the runner waits for a process that should end, in seconds."""

    interrupt_s: float
    terminate_s: float
    pipe_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConditions:
    """What ends a process from outside: an event, a time limit in seconds, and an event that forbids patience."""

    stop: asyncio.Event
    forced: asyncio.Event
    timeout_s: float | None = None


class _Discard(asyncio.Protocol):
    """Swallows what a background process writes after its step, so that it neither blocks nor gets a broken pipe."""


def find_program(name: str, path: str, cwd: Path) -> str | None:
    """Look a program up the way a shell in ``cwd`` would, in ``path``; None when there is none."""
    if os.sep in name:
        return shutil.which(str(cwd / name))
    places = [str(cwd / place) for place in path.split(os.pathsep) if place]
    return shutil.which(name, path=os.pathsep.join(places)) if places else None


class JobProcesses:
    """The processes of one job: runs them one after the other and removes what they leave behind."""

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._open_pipes: list[asyncio.ReadTransport] = []

    async def run(self, command: Command, conditions: StopConditions, on_row: Callable[[str], None]) -> Ending:
        """Run a process to its end.

        Args:
            command: what to start.
            conditions: what stops it.
            on_row: called for each row of output, stdout and stderr merged in order.

        Raises:
            StartError: the program is missing or cannot be started.
        """
        process, reader, pipe = await self._start(command)
        self._open_pipes.append(pipe)
        pump = _Pump(reader, on_row)
        try:
            async with asyncio.TaskGroup() as group:
                pumping = group.create_task(pump.run())
                ended_by = await self._wait(process, command.mark, conditions)
                # A stopped step's output is worth waiting for; one that ended just before the stop is not.
                hurry = conditions.stop if ended_by is EndedBy.ITSELF else conditions.forced
                await self._drain(pumping, pump, hurry)
        finally:
            # Also reached when this task is cancelled: nothing of a stopped step may go on.
            if process.returncode is None:
                proctree.send_group(process.pid, signal.SIGKILL)
                proctree.send(proctree.members(command.mark, leader=process.pid), signal.SIGKILL)
        pump.finish()
        self._release(pipe, pump)
        code = process.returncode
        return Ending(-signal.SIGKILL if code is None else code, ended_by)

    async def _start(
        self, command: Command
    ) -> tuple[asyncio.subprocess.Process, asyncio.StreamReader, asyncio.ReadTransport]:
        # A pipe of our own: asyncio's would make waiting for the exit wait for the pipe's end on some versions.
        try:
            read_fd, write_fd = os.pipe()
        except OSError as error:
            raise StartError(f"cannot start {command.argv[0]}: {error.strerror}") from error
        try:
            loop = asyncio.get_running_loop()
            reader = asyncio.StreamReader(limit=_CHUNK_BYTES)
            pipe, _ = await loop.connect_read_pipe(
                lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", buffering=0)
            )
            try:
                process = await asyncio.create_subprocess_exec(
                    *command.argv,
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=write_fd,
                    stderr=write_fd,
                    cwd=command.cwd,
                    env={**command.env, proctree.MARK_VARIABLE: command.mark},
                    start_new_session=True,
                )
            except (OSError, ValueError) as error:
                pipe.close()
                reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
                raise StartError(f"cannot start {command.argv[0]}: {reason}") from error
        finally:
            os.close(write_fd)
        return process, reader, pipe

    async def _wait(self, process: asyncio.subprocess.Process, mark: str, conditions: StopConditions) -> EndedBy:
        async with asyncio.TaskGroup() as group:
            exited = group.create_task(process.wait())
            stopped = group.create_task(conditions.stop.wait())
            forced = group.create_task(conditions.forced.wait())
            await asyncio.wait(
                {exited, stopped, forced}, timeout=conditions.timeout_s, return_when=asyncio.FIRST_COMPLETED
            )
            ended_by = EndedBy.ITSELF
            if not exited.done():
                ended_by = EndedBy.STOP if stopped.done() or forced.done() else EndedBy.TIMEOUT
                await self._climb_down(process, mark, exited, forced)
            stopped.cancel()
            forced.cancel()
        return ended_by

    async def _climb_down(
        self,
        process: asyncio.subprocess.Process,
        mark: str,
        exited: "asyncio.Task[int]",
        forced: "asyncio.Task[bool]",
    ) -> None:
        """Interrupt, terminate, kill; each rung is skipped as soon as the main process is gone or force is asked."""
        for number, wait_s in (
            (signal.SIGINT, self._patience.interrupt_s),
            (signal.SIGTERM, self._patience.terminate_s),
        ):
            if exited.done() or forced.done():
                break
            proctree.send_group(process.pid, number)
            outside = {pid for pid in proctree.members(mark, leader=process.pid) if _group_of(pid) != process.pid}
            proctree.send(outside, number)
            await asyncio.wait({exited, forced}, timeout=wait_s, return_when=asyncio.FIRST_COMPLETED)
        if not exited.done():
            proctree.send_group(process.pid, signal.SIGKILL)
        await sweep(mark, leader=process.pid)
        # Bounded: a process of another user, or one that hangs in the kernel, cannot be killed.
        await asyncio.wait({exited}, timeout=_KILLED_S_MAX)
        exited.cancel()

    async def _drain(self, pumping: "asyncio.Task[None]", pump: "_Pump", hurry: asyncio.Event) -> None:
        """Read what is still in the pipe; a background process may hold it open, so the end is not waited for."""
        deadline = asyncio.get_running_loop().time() + self._patience.pipe_s
        seen = -1
        while not pumping.done() and pump.chunks != seen and asyncio.get_running_loop().time() < deadline:
            seen = pump.chunks
            await asyncio.wait({pumping}, timeout=min(_QUIET_S, self._patience.pipe_s))
            if hurry.is_set():
                break
        pumping.cancel()

    def _release(self, pipe: asyncio.ReadTransport, pump: "_Pump") -> None:
        if pump.ended:
            pipe.close()
            self._open_pipes.remove(pipe)
            return
        pipe.set_protocol(_Discard())
        with suppress(RuntimeError):
            pipe.resume_reading()

    async def finish(self, mark: str) -> None:
        """End everything the job left behind and close its pipes.

        Args:
            mark: the beginning of the marks of all the job's processes.
        """
        try:
            await sweep(mark, prefix=True)
        finally:
            for pipe in self._open_pipes:
                pipe.close()
            self._open_pipes.clear()


def _group_of(pid: int) -> int:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return -1


async def sweep(mark: str, *, leader: int | None = None, prefix: bool = False) -> None:
    """Kill until nothing with the mark is left; bounded, since a process may hang in the kernel."""
    for _ in range(_SWEEP_ROUNDS_MAX):
        found = proctree.members(mark, leader=leader, prefix=prefix)
        if not found:
            return
        proctree.send(found, signal.SIGKILL)
        await asyncio.sleep(_SWEEP_PAUSE_S)


class _Pump:
    """Moves bytes from the pipe to rows; ``chunks`` grows with each read, ``ended`` tells of the pipe's end."""

    def __init__(self, reader: asyncio.StreamReader, on_row: Callable[[str], None]) -> None:
        self.chunks = 0
        self.ended = False
        self._reader = reader
        self._on_row = on_row
        self._splitter = LineSplitter()

    async def run(self) -> None:
        while chunk := await self._reader.read(_CHUNK_BYTES):
            self.chunks += 1
            for row in self._splitter.feed(chunk):
                self._on_row(row)
            await asyncio.sleep(0)
        self.ended = True

    def finish(self) -> None:
        for row in self._splitter.finish():
            self._on_row(row)
