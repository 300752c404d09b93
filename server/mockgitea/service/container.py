"""Build every service in one visible place, and own the order in which they start and stop.

Each service gets only what it needs; nothing else in the server constructs one. Knows no transport.
"""

from dataclasses import dataclass, field

from mockgitea.clock import MovableClock
from mockgitea.core.profiles import Profile, profile_named
from mockgitea.randomness import Randomness
from mockgitea.service.assignment import AssignmentBuilder
from mockgitea.service.directory import RunnerDirectory
from mockgitea.service.dispatch import Dispatch
from mockgitea.service.logs import LogIngestion
from mockgitea.service.maintenance import Maintenance, Timeouts
from mockgitea.service.progress import Progress
from mockgitea.service.registration import Registration
from mockgitea.service.repositories import Repositories
from mockgitea.service.resolver import Resolver
from mockgitea.service.runs import Runs
from mockgitea.service.summaries import Summaries
from mockgitea.service.vault import Vault
from mockgitea.service.versions import TaskVersions
from mockgitea.settings import Settings
from mockgitea.storage.engine import SqlStore
from mockgitea.storage.wipe import wipe
from mockgitea.supervise import Supervisor


@dataclass(slots=True, kw_only=True, eq=False)
class Services:
    """Everything a transport may call. Made by `build`, usable between `start` and `close`."""

    settings: Settings
    clock: MovableClock
    randomness: Randomness
    profile: Profile
    supervisor: Supervisor
    store: SqlStore
    directory: RunnerDirectory
    versions: TaskVersions
    registration: Registration
    dispatch: Dispatch
    progress: Progress
    logs: LogIngestion
    maintenance: Maintenance
    repositories: Repositories
    vault: Vault
    runs: Runs
    resolver: Resolver
    summaries: Summaries
    _is_started: bool = field(default=False, init=False)

    @classmethod
    def build(
        cls,
        settings: Settings,
        *,
        clock: MovableClock | None = None,
        supervisor: Supervisor | None = None,
        inline_store: bool = False,
    ) -> "Services":
        """Wire the services; nothing is opened and no task runs before `start`.

        Args:
            settings: the effective settings; ``app_url`` filled in by whoever knows the ports.
            clock: the server's clock; made from the settings when absent.
            supervisor: owner of background tasks; a fresh one when absent.
            inline_store: run the store on the caller's thread, for virtual time.
        """
        profile = profile_named(settings.profile)
        clock = clock or MovableClock(settings.clock)
        supervisor = supervisor or Supervisor()
        randomness = Randomness(settings.seed)
        store = SqlStore(
            settings.database,
            clock=clock,
            inline=inline_store,
            mailbox=settings.store_mailbox,
            wait_s=settings.store_wait_s,
        )
        directory = RunnerDirectory(store=store, clock=clock, profile=profile)
        versions = TaskVersions(store=store)
        repositories = Repositories(store=store)

        def app_url() -> str:
            return settings.app_url.rstrip("/") + "/"

        runs = Runs(store=store, repositories=repositories, profile=profile, randomness=randomness, app_url=app_url)
        builder = AssignmentBuilder(
            profile=profile, randomness=randomness, endless_timeout_s=settings.endless_timeout_s, app_url=app_url
        )
        return cls(
            settings=settings,
            clock=clock,
            randomness=randomness,
            profile=profile,
            supervisor=supervisor,
            store=store,
            directory=directory,
            versions=versions,
            registration=Registration(store=store, directory=directory, profile=profile, randomness=randomness),
            dispatch=Dispatch(
                store=store,
                versions=versions,
                profile=profile,
                randomness=randomness,
                supervisor=supervisor,
                builder=builder,
                picks_max=settings.max_concurrent_task_picks,
            ),
            progress=Progress(store=store, profile=profile),
            logs=LogIngestion(
                store=store, profile=profile, mailbox_rows=settings.log_mailbox_rows, wait_s=settings.log_wait_s
            ),
            maintenance=Maintenance(
                store=store,
                clock=clock,
                profile=profile,
                directory=directory,
                timeouts=Timeouts(
                    zombie_s=settings.zombie_timeout_s,
                    endless_s=settings.endless_timeout_s,
                    abandoned_s=settings.abandoned_timeout_s,
                ),
            ),
            repositories=repositories,
            vault=Vault(store=store, profile=profile),
            runs=runs,
            resolver=Resolver(store=store, profile=profile, supervisor=supervisor, places=runs.places),
            summaries=Summaries(store=store),
        )

    async def start(self) -> None:
        """Open the store, read what it remembers, and start the background loops; safe to call twice.

        Raises:
            ValueError: the database cannot be used; the text names the remedy.
        """
        if self._is_started:
            return
        await self.store.start()
        self._is_started = True
        if self.store.starts_before:
            self.randomness.begin_generation(self.store.starts_before)
        await self.directory.load()
        await self.versions.load()
        await self.dispatch.load()
        await self._seed()
        self.supervisor.start(self.directory.flush_forever(), name="write-behind")
        self.logs.start(self.supervisor)
        self.resolver.start()
        self.maintenance.start(self.supervisor)

    async def settle(self) -> None:
        """Wait until all that was asked for so far has happened: due maintenance, blocked jobs, rows, write-behind."""
        await self.maintenance.settle()
        await self.resolver.settle()
        await self.logs.settle()
        await self.directory.flush()

    async def reset(self) -> None:
        """Forget all data; what the settings ask for is made again. Clock, seed and running loops stay."""
        await self.settle()
        # Whoever started the server was told the global registration token, so a drawn one outlives the reset.
        token = self.settings.registration_token or await self.registration.registration_token(0, 0)
        await self.store.write(wipe)
        self.directory.clear()
        self.versions.clear()
        self.dispatch.clear()
        self.progress.clear()
        await self._seed()
        await self.registration.preset(token)

    async def close(self) -> None:
        """Stop the loops, write what is still in memory, close the store; safe to call twice."""
        if not self._is_started:
            return
        self._is_started = False
        await self.logs.settle()
        await self.supervisor.close()
        await self.directory.flush()
        await self.store.close()

    async def _seed(self) -> None:
        """Make what the settings say exists from the start."""
        for full_name in self.settings.repositories:
            owner, _, name = full_name.partition("/")
            await self.repositories.ensure(owner, name)
        if self.settings.registration_token:
            await self.registration.preset(self.settings.registration_token)
