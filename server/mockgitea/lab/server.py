"""The server under test: production services, admission and RPC handler in this process, in memory, in virtual time.

The store runs inline on the loop's thread; nothing listens anywhere. Knows no runner and no scenario.
"""

from collections.abc import Callable

from mockgitea.core.counters import Counters
from mockgitea.core.journal import Entry, Journal
from mockgitea.http_apps import build_web_app
from mockgitea.lab.clocks import server_clock
from mockgitea.lab.port import LabPort
from mockgitea.lab.virtual_loop import VirtualLoop
from mockgitea.service.container import Services
from mockgitea.settings import Settings
from mockgitea.supervise import Supervisor
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.fault_verdicts import note_cut
from mockgitea.transport.methods import RunnerMethods
from mockgitea.transport.port_keeper import PortKeeper
from mockgitea.transport.runner_port import Observers, runner_port
from mockgitea.transport.service_faults import ServiceFaults

REPOSITORY = "lab/lab"


class LabServer:
    """One server of a simulation.

    Args:
        loop: virtual time.
        profile: the imitated release.
        seed: of everything random in the server.
        on_close: hears of every journal entry when it closes.
        settings: overrides of server settings, e.g. ``zombie_timeout_s``.
    """

    def __init__(
        self,
        loop: VirtualLoop,
        *,
        profile: str,
        seed: int,
        on_close: Callable[[Entry], None],
        settings: dict[str, object] | None = None,
    ) -> None:
        self._failure: BaseException | None = None
        self.settings = Settings(
            profile=profile,
            seed=seed,
            repositories=(REPOSITORY,),
            app_url="http://lab.test",
            registration_token="lab-registration-token",
            api_token="lab-api-token",
            **{"journal_entries": 0, **(settings or {})},  # type: ignore[arg-type]  # checked against the table when the scenario was read
        )
        clock = server_clock(loop)
        self.services = Services.build(
            self.settings, clock=clock, supervisor=Supervisor(on_failure=self._fail), inline_store=True
        )
        self.counters = Counters()
        around = ServiceFaults(self.services, has_grpc=False, now_s=loop.time)
        self.faults = FaultGate(clock, rng=self.services.randomness.stream("faults"), server=around)
        self.port = LabPort()
        """Where connections of the network model end."""
        self.port.guard(self.faults, clock.now_us)
        self.journal = Journal(
            entries_max=self.settings.journal_entries, bytes_max=self.settings.journal_bytes, on_close=on_close
        )
        self._keeper = PortKeeper(
            clock,
            self.faults.downtimes,
            self.port,
            on_cut=lambda name: note_cut(self.journal, name, loop.time()),
        )
        around.serve_on(self._keeper, self.port)
        self.app = runner_port(
            self.services,
            RunnerMethods(self.services),
            Observers(journal=self.journal, counters=self.counters, faults=self.faults),
            web=build_web_app(self.services),
            now_s=loop.time,
        )
        """What a listener would serve on the runner port."""

    async def start(self) -> None:
        """Open the store and start the background loops."""
        await self.services.start()
        self.faults.follow(self._keeper)
        self.services.supervisor.start(self._keeper.run_forever(), name="port-keeper")

    async def close(self) -> None:
        """Stop everything; raises what a background task died of."""
        await self.services.close()
        if self._failure is not None:
            raise RuntimeError("a background task of the server failed") from self._failure

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error
