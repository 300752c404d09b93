"""What stands behind the runner port, wired in one place for the listening server and for the laboratory.

Knows neither sockets nor how the web application is made.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mockgitea.core.counters import Counters
from mockgitea.core.journal import Journal
from mockgitea.transport.admission import Admission
from mockgitea.transport.asgi import App
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.idle_fetch import IdleFetch
from mockgitea.transport.methods import RunnerMethods
from mockgitea.transport.rpc import RunnerRpc

if TYPE_CHECKING:
    from mockgitea.service.container import Services


@dataclass(frozen=True, slots=True, kw_only=True)
class Observers:
    """What every call passes and is noted in."""

    journal: Journal
    counters: Counters
    faults: FaultGate


def runner_port(
    services: "Services", methods: RunnerMethods, observers: Observers, *, web: App, now_s: Callable[[], float]
) -> Admission:
    """Return the ASGI application of the runner port.

    Args:
        services: whose settings, profile and clock count.
        methods: the table that gRPC shares.
        observers: journal, counters and faults.
        web: handles what is no RPC.
        now_s: monotonic seconds.
    """
    settings, faults = services.settings, observers.faults
    rpc = RunnerRpc(
        methods,
        dialect=services.profile.dialect,
        faults=faults,
        body_bytes_max=settings.body_bytes_max,
        body_read_s=settings.body_read_s,
        now_s=now_s,
    )
    return Admission(
        rpc=IdleFetch(rpc, services, now_s=now_s),
        faulty_rpc=rpc,
        web=web,
        journal=observers.journal,
        counters=observers.counters,
        faults=faults,
        clock=services.clock,
        now_s=now_s,
    )
