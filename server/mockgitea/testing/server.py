"""`MockGitea`: a server inside the test's own process.

It runs on a thread and a loop of its own, so the same object serves plain tests, async tests and threads. Settings and
services are the production ones; only the composition is different from `mockgitea serve`.
Source: docs/testing.md, "Start a server".
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from mockgitea.app import App
from mockgitea.core.audit import AuditReport
from mockgitea.core.errors import NotFound
from mockgitea.service.enqueue_request import EnqueueRequest
from mockgitea.settings import SettingError, Settings, table
from mockgitea.settings_sources import check, parse
from mockgitea.storage.repositories import owner_id_of
from mockgitea.testing import log_routing
from mockgitea.testing.faults import Faults, Gate
from mockgitea.testing.journal import JournalView
from mockgitea.testing.movable_clock import Clock
from mockgitea.testing.run import Run
from mockgitea.testing.runner import Runner
from mockgitea.testing.snapshot import snapshot
from mockgitea.testing.thread import ServerThread
from mockgitea.testing.waiting import wait_until, wait_until_async
from mockgitea.testing.wanted import refuse_inside_a_loop

T = TypeVar("T")

DEFAULTS: Final[Mapping[str, Any]] = {"port": 0, "control_port": 0, "clock": "offset", "graceful_stop_s": 1.0}
"""Where a test's server differs from `mockgitea serve`: free ports, a clock that can be moved, a quick end."""


class MockGitea:
    """A mock server for one test, or for several.

    Use it as ``with MockGitea() as server`` or ``async with MockGitea() as server``; both ports answer when the block
    begins. Methods return at once and may be called from any thread, also from async code. Those that wait have an
    awaitable twin whose name ends in ``_async``.

    Args:
        settings: any setting of docs/settings.md by name, such as ``profile``, ``clock``, ``seed``, ``database``,
            ``registration_token``, ``repositories``. Default: free ports, clock mode `offset`.

    Raises:
        SettingError: a setting is unknown or its value cannot be.
    Source: docs/testing.md, "Start a server".
    """

    def __init__(self, **settings: Any) -> None:
        self._thread = ServerThread(_effective(settings))
        self._registration_token = ""
        self._is_logging = False
        self.journal = JournalView(self._thread)
        """Every call on the runner's ports."""
        self.faults = Faults(self._thread)
        """The fault rules."""
        self.clock = Clock(self._thread)
        """The server's clock."""

    # --- life
    def start(self) -> Self:
        """Start the server; returns when both ports answer.

        Raises:
            SettingError: a port, an address or a certificate cannot be used.
            ValueError: the database cannot be used.
        """
        log_routing.begin()
        self._is_logging = True
        try:
            app = self._thread.start()
        except BaseException:
            self._end_logging()
            raise
        self._registration_token = self._thread.call(app.services.registration.registration_token(0, 0))
        return self

    def close(self) -> None:
        """Stop the server; safe to call twice, and leaves no thread, socket or task.

        Raises:
            RuntimeError: a part of the server had failed while it ran.
        """
        try:
            self._thread.close()
        finally:
            self._end_logging()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.close)

    # --- what it is
    @property
    def url(self) -> str:
        """Instance URL: what a runner is registered with."""
        return self._app.runner_url

    @property
    def control_url(self) -> str:
        """Address of the control port. The control API is built by the first request for it."""
        return self._app.control_url

    @property
    def grpc_address(self) -> str:
        """``host:port`` of the gRPC port; empty unless ``grpc_port`` was given."""
        return self._app.grpc_address

    @property
    def registration_token(self) -> str:
        """The global registration token."""
        return self._registration_token

    @property
    def api_token(self) -> str:
        """Token of the REST v1 interface."""
        return self._app.settings.api_token

    @property
    def profile(self) -> str:
        """Name of the server release that is imitated."""
        return self._app.settings.profile

    @property
    def seed(self) -> int:
        """Seed of everything random; give it to a new `MockGitea` to draw the same ids and tokens again."""
        seed = self._app.settings.seed
        assert seed is not None, "filled in at the start"
        return seed

    # --- what there is to do
    def enqueue(self, workflow: str | bytes | Path, *, repository: str = "demo/demo", **fields: Any) -> Run:
        """Hand in a workflow and return its run.

        Args:
            workflow: the file's text, or its path.
            repository: ``owner/name``; it must exist (see ``create_repository``).
            fields: ``workflow_file``, ``event``, ``event_payload``, ``ref``, ``sha``, ``base_ref``, ``head_ref``,
                ``inputs``, ``secrets``, ``vars``, ``actor``, ``title``, ``fork_pull_request``, ``needs_approval``.

        Raises:
            InvalidInput: the file or a field is wrong; its ``field`` names which.
            NotFound: there is no such repository.
        """
        if isinstance(workflow, Path):
            fields = {"workflow_file": workflow.name, **fields}
            workflow = workflow.read_bytes()
        request = EnqueueRequest(repository=repository, source=workflow, **fields)
        made = self._thread.call(self._app.services.runs.enqueue(request))
        return self.run(made.run_id)

    def run(self, run_id: int) -> Run:
        """Return a run by its number."""
        return Run(run_id, self._thread, self.journal.tail)

    def create_repository(self, full_name: str) -> None:
        """Make a repository ``owner/name`` with its owner; an existing one stays as it is."""
        self._thread.call(self._app.services.repositories.ensure_all((full_name,)))

    def new_runner(
        self,
        name: str = "r1",
        labels: Sequence[str] = ("linux",),
        *,
        ephemeral: bool = False,
        repository: str = "",
        owner: str = "",
    ) -> Runner:
        """Register a runner without the Register call.

        Args:
            name: of the runner.
            labels: plain names, as jobs ask for them.
            ephemeral: it gets one task and is then removed.
            repository: it serves this ``owner/name`` only.
            owner: it serves this owner's repositories only.

        Raises:
            InvalidInput: the name is empty, or the profile has no ephemeral runners.
            NotFound: there is no such repository or owner.
        """
        return self._thread.call(self._new_runner(name, tuple(labels), repository, owner, ephemeral=ephemeral))

    def gate(self, method: str = "*", *, stage: str = "after", **rule: Any) -> Gate:
        """Return a gate: in its `with` block such calls are held until `Gate.open` or the end of the block.

        Args:
            method: which calls, such as `FetchTask`.
            stage: ``after`` the server did its work, so that only the answer is late, or ``before`` it.
            rule: further fields of a fault rule, such as ``times``.
        """
        return Gate(self.faults, self.journal, {"method": method, "stage": stage, **rule})

    def wait_until(self, predicate: Callable[[], T], within: float = 5.0) -> T:
        """Call ``predicate`` until what it returns is true, and return that.

        Args:
            predicate: any function without arguments.
            within: longest wait in real seconds.

        Raises:
            NotInTime: it stayed false; the text shows its last value and the newest calls.
        """
        refuse_inside_a_loop("wait_until")
        return wait_until(predicate, within_s=within, context=self.journal.tail)

    async def wait_until_async(self, predicate: Callable[[], T] | Callable[[], Awaitable[T]], within: float = 5.0) -> T:
        """Do what `wait_until` does without blocking the event loop; the predicate may be a coroutine function."""
        return await wait_until_async(predicate, within_s=within, context=self.journal.tail)

    def audit(
        self,
        *,
        capacity: Mapping[str, int] | None = None,
        stopped: Mapping[str, int] | None = None,
        heartbeat_s: float = 60.0,
    ) -> AuditReport:
        """Check everything recorded so far against the built-in rules.

        Args:
            capacity: runner to most tasks at once, by name or UUID; rules about capacity need it.
            stopped: runner to the journal's mark when the test told it to stop.
            heartbeat_s: longest silence about a running task, in real seconds.
        """
        return self._thread.call(self._audit(capacity or {}, stopped or {}, heartbeat_s))

    def snapshot(self, *, times: bool = False) -> dict[str, Any]:
        """Return repositories, runs, runners, commit statuses, faults and counters as plain JSON.

        Args:
            times: keep the moments; without them, equal behaviour gives equal snapshots.
        """
        return self._thread.call(snapshot(self._app, has_times=times))

    def settle(self) -> None:
        """Wait until everything that was asked for so far has been done inside the server."""
        self._thread.call(self._app.services.settle())

    def maintenance(self, name: str) -> dict[str, int]:
        """Run a periodic job now, such as `stop_zombie_tasks`, and return its counts; raises `NotFound`."""
        return self._thread.call(self._app.services.maintenance.run(name))

    def age_task(self, task_id: int, seconds: float) -> None:
        """Make one task older, so that a reaper finds it while all others stay young; raises `NotFound`."""
        self._thread.call(self._app.services.maintenance.age_task(task_id, seconds))

    def delete_runner(self, runner: Runner | int) -> None:
        """Delete a runner: its next call is "unregistered runner". Raises `NotFound`."""
        number = runner.id if isinstance(runner, Runner) else runner
        self._thread.call(self._app.services.registration.delete_runner(number))

    def reset(self) -> None:
        """Make the server as new: no runs, runners, faults, journal or counters. Clock, seed and tokens stay."""
        self._thread.call(self._app.reset())

    # --- inside
    @property
    def _app(self) -> App:
        return self._thread.app

    async def _new_runner(
        self, name: str, labels: tuple[str, ...], repository: str, owner: str, *, ephemeral: bool
    ) -> Runner:
        services = self._app.services
        repo_id = (await services.repositories.get(repository)).id if repository else 0
        owner_id = await services.store.read(lambda conn: owner_id_of(conn, owner)) if owner else 0
        if owner and not owner_id:
            raise NotFound(f"owner: there is no {owner!r}; create_repository makes one", field="owner")
        record, token = await services.registration.create_runner(
            name=name, owner_id=owner_id or 0, repo_id=repo_id, labels=labels, ephemeral=ephemeral
        )
        return Runner(record.id, record.uuid, token, record.name, record.labels, self.url, record.is_ephemeral)

    async def _audit(self, capacity: Mapping[str, int], stopped: Mapping[str, int], heartbeat_s: float) -> AuditReport:
        return self.journal.live.audit(capacity=capacity, stopped=stopped, heartbeat_s=heartbeat_s)

    def _end_logging(self) -> None:
        if self._is_logging:
            self._is_logging = False
            log_routing.end()


def _effective(given: Mapping[str, Any]) -> Settings:
    known = table()
    values = dict(DEFAULTS)
    for name, value in given.items():
        if name not in known:
            raise SettingError(f"{name}: there is no such setting; docs/settings.md lists them")
        values[name] = parse(name, list(value) if isinstance(value, tuple) else value, f"MockGitea({name}=…)")
    settings = Settings(**values)
    check(settings)
    return settings
