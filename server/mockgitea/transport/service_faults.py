"""The server that fault rules act on: its runners, and a restart without ending the process.

A restart closes the port, lets calls end or cuts them, drops or writes what a process keeps in memory, and opens the
port again. The program's own record (journal, counters, rules) and the control port go on.
Source: docs/faults.md, "Restart".
"""

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import structlog

from mockgitea.clock import SECOND_US
from mockgitea.core.errors import InvalidInput, NotFound
from mockgitea.core.faults import Fault, FaultKind, Transport
from mockgitea.transport.fault_server import NEVER_S
from mockgitea.transport.fault_waits import first_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockgitea.service.container import Services
    from mockgitea.service.directory import RunnerRecord
    from mockgitea.transport.port_keeper import PortKeeper

log = structlog.get_logger(__name__)


@dataclass(eq=False)
class _Restart:
    """One restart under way."""

    name: str
    mode: str
    until_us: int
    healed: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class RestartablePort(Protocol):
    """The runner port, as a restart needs it."""

    async def drain(self) -> None:
        """Let calls in progress end, then close their connections."""

    def cut(self) -> int:
        """Reset every open connection."""


class ServiceFaults:
    """What rules may ask of a running server; fulfils `FaultServer`.

    Args:
        services: whose runners are looked up and deleted, and whose memory a restart loses.
        has_grpc: whether there is a gRPC port.
        now_s: monotonic seconds, the source that stamps `Entry.opened_s`.
    """

    def __init__(self, services: "Services", *, has_grpc: bool, now_s: "Callable[[], float]") -> None:
        self._services = services
        self._has_grpc = has_grpc
        self._now_s = now_s
        self._keeper: PortKeeper | None = None
        self._port: RestartablePort | None = None
        self._restarts: list[_Restart] = []
        self.killed_s = NEVER_S

    def serve_on(self, keeper: "PortKeeper", port: RestartablePort) -> None:
        """Name the port that restarts close and open; without one they are refused."""
        self._keeper, self._port = keeper, port

    def check(self, fault: Fault) -> None:
        """Raise `InvalidInput` for what this server cannot do."""
        if fault.transport is Transport.GRPC and not self._has_grpc:
            raise InvalidInput("transport: this server has no gRPC port; start it with --grpc-port", field="transport")
        if fault.kind is FaultKind.RESTART and self._keeper is None:
            raise InvalidInput("kind: restart needs a server with a port", field="kind")

    def runner(self, uuid: str) -> "RunnerRecord | None":
        """Return the runner with this UUID."""
        return self._services.directory.find(uuid)

    async def delete_runner(self, uuid: str) -> None:
        """Delete the runner with this UUID, if there is one."""
        record = self._services.directory.find(uuid)
        if record is None:
            return
        try:
            await self._services.registration.delete_runner(record.id)
        except NotFound:
            log.debug("fault_found_no_runner", runner_id=record.id)  # somebody else was faster

    async def restart(self, *, name: str, mode: str, down_s: float) -> None:
        """Begin a restart; returns once no new connection is accepted."""
        assert self._keeper is not None, "refused when it was added"
        # The down time counts from here: whoever sees the port closed and moves the clock must not be too early.
        restart = _Restart(name, mode, self._services.clock.now_us() + round(down_s * SECOND_US))
        self._restarts.append(restart)
        self._keeper.close_port()
        if mode == "kill":
            self.killed_s = self._now_s()
        # First of all a task of its own: the call that set it off may be given up, and the port must open again.
        self._services.supervisor.start(self._restart(restart), name="restart-fault")
        await self._keeper.settle()

    def end_restarts(self) -> None:
        """Let every restart under way come up at once."""
        for restart in self._restarts:
            restart.healed.set()

    async def settle(self) -> None:
        """Return once every restart that was told to end has opened the port."""
        for restart in [one for one in self._restarts if one.healed.is_set()]:
            await restart.ended.wait()

    async def _restart(self, restart: _Restart) -> None:
        assert self._keeper is not None, "as in restart"
        assert self._port is not None, "as in restart"
        services = self._services
        log.info("restart_begins", mode=restart.mode, until_us=restart.until_us)
        try:
            await self._keeper.settle()
            if restart.mode == "kill":
                self._keeper.cut(restart.name)
                await services.directory.forget_unwritten()
            else:
                await self._port.drain()
                await services.logs.settle()
                await services.directory.flush()
            await first_of(restart.healed.wait(), services.clock.sleep_until(restart.until_us))
        finally:
            self._restarts.remove(restart)
            self._keeper.open_port()
            restart.ended.set()
        log.info("restart_ends", mode=restart.mode)
