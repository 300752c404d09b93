"""What rules may ask of the server around them: who calls, deleting a runner, a restart.

`NoServer` stands where there is none; rules that need one are then refused when they are added, with the reason.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import Fault, FaultKind, Transport

NEVER_S: Final = float("-inf")


class Caller(Protocol):
    """A registered runner, as rules look at it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def labels(self) -> Sequence[str]:
        """Its labels."""


class FaultServer(Protocol):
    """The server that a gate belongs to."""

    @property
    def killed_s(self) -> float:
        """Monotonic time at which it was last killed; `NEVER_S` when it never was."""

    def check(self, fault: Fault) -> None:
        """Raise `InvalidInput` when this server cannot do what the rule says."""

    def runner(self, uuid: str) -> Caller | None:
        """Return the runner with this UUID."""

    async def delete_runner(self, uuid: str) -> None:
        """Delete the runner with this UUID, if there is one."""

    async def restart(self, *, name: str, mode: str, down_s: float) -> None:
        """Begin a restart; returns once no new connection is accepted."""

    def end_restarts(self) -> None:
        """Let every restart under way come up at once."""

    async def settle(self) -> None:
        """Return once every restart that was told to end has opened the port."""


class NoServer:
    """Nothing around the gate."""

    killed_s = NEVER_S

    def check(self, fault: Fault) -> None:
        """Refuse whatever needs a server."""
        for field in ("runner", "label"):
            if getattr(fault, field) is not None:
                raise InvalidInput(f"{field}: nobody knows runners here", field=field)
        if fault.kind in (FaultKind.RUNNER_DELETED, FaultKind.RESTART):
            raise InvalidInput(f"kind: {fault.kind} needs a whole server", field="kind")
        if fault.transport is Transport.GRPC:
            raise InvalidInput("transport: there is no gRPC port here", field="transport")

    def runner(self, uuid: str) -> Caller | None:
        """Know nobody."""
        del uuid
        return None

    async def delete_runner(self, uuid: str) -> None:
        """Do nothing: such rules were refused."""

    async def restart(self, *, name: str, mode: str, down_s: float) -> None:
        """Do nothing: such rules were refused."""

    def end_restarts(self) -> None:
        """Do nothing: there are none."""

    async def settle(self) -> None:
        """Do nothing: there are no restarts."""
