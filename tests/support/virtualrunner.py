"""One production runner daemon in virtual time: its calendar, its wire, and what ends it. Knows no server."""

import asyncio
import contextlib
import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from actionsrunner.app import CannotStart, RunnerSetup, run_daemon
from actionsrunner.edge.transport import RawAnswer, TransportError
from actionsrunner.exits import Exit
from actionsrunner.loops.shutdown import ShutdownRequests
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.transport import AsgiTransport
from mockgitea.lab.virtual_loop import VirtualLoop


@dataclass(frozen=True)
class Exchange:
    """One call as its runner saw it."""

    runner: str
    path: str
    began_us: int
    ended_us: int
    request: bytes
    status: int
    """0 when there was no answer."""
    answer: bytes
    error: str


class SkewedClock(RunnerClock):
    """A runner's clock whose calendar is off; its waits are right."""

    def __init__(self, loop: VirtualLoop, skew_us: int) -> None:
        super().__init__(loop)
        self._skew_us = skew_us

    def wall_us(self) -> int:
        return super().wall_us() + self._skew_us


class Wire:
    """A runner's transport that remembers every exchange."""

    def __init__(self, runner: str, inner: AsgiTransport, clock: RunnerClock, log: list[Exchange]) -> None:
        self._runner = runner
        self._inner = inner
        self._clock = clock
        self._log = log

    async def send(self, verb: str, path: str, headers: Mapping[str, str], body: bytes, deadline_s: float) -> RawAnswer:
        began_us = self._clock.now_us()
        status, answer, error = 0, b"", "given up"
        try:
            raw = await self._inner.send(verb, path, headers, body, deadline_s)
        except TransportError as failure:
            error = str(failure)
            raise
        else:
            status, answer, error = raw.status, raw.body, ""
            return raw
        finally:
            ended_us = self._clock.now_us()
            self._log.append(Exchange(self._runner, path, began_us, ended_us, body, status, answer, error))

    async def close(self) -> None:
        await self._inner.close()


@dataclass(eq=False)
class VirtualRunner:
    """One registration and the daemon that lives under it."""

    name: str
    uuid: str
    token: str
    capacity: int
    clock: RunnerClock
    requests: ShutdownRequests = field(default_factory=ShutdownRequests)
    work: "asyncio.Task[Exit] | None" = None

    @property
    def exit(self) -> Exit | None:
        """How the daemon ended; None while it runs, and when it was killed."""
        if self.work is None or not self.work.done() or self.work.cancelled():
            return None
        return self.work.result()

    @property
    def is_running(self) -> bool:
        return self.work is not None and not self.work.done()

    def ask_to_stop(self) -> None:
        """Send one signal: the first lets jobs end, the second cancels them, the third kills, the fourth gives up."""
        self.requests.ask()

    async def kill(self) -> None:
        """End the daemon between two instructions."""
        if self.work is not None and not self.work.done():
            self.work.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self.work


async def daemon(setup: RunnerSetup, runner: VirtualRunner, wire: Wire, rng: random.Random) -> Exit:
    """Run a daemon to its end, and return the exit status that its process would have."""
    try:
        return await run_daemon(setup, runner.requests, transport=wire, clock=runner.clock, rng=rng)
    except CannotStart as error:
        return error.status
