"""A production server and production runner daemons in virtual time, for tests that give them bad days.

The server can be restarted, on its database file even as a new process; runners can be stopped, crashed and deleted.
What happened is kept as an outsider sees it: journal entries, every exchange on each runner's wire, what jobs did, and
pages fetched past all faults.
"""

import asyncio
import contextlib
import functools
import json
import random
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from actionsrunner.app import RunnerSetup
from actionsrunner.config import parse_config
from actionsrunner.edge.registration import Registration
from actionsrunner.edge.transport import RawAnswer
from actionsrunner.loops.shutdown import ShutdownRequests
from actionswire.result import Status
from mockgitea.core.call_record import CallRecord
from mockgitea.core.journal import Entry
from mockgitea.core.page_links import PageLinks
from mockgitea.core.profiles import PageUrls
from mockgitea.http_apps import build_web_app
from mockgitea.lab.clocks import RunnerClock
from mockgitea.lab.network import LinkPolicy, Network, Pool, PoolPolicy
from mockgitea.lab.port import LabPort
from mockgitea.lab.run import quiet_logs
from mockgitea.lab.server import REPOSITORY, LabServer
from mockgitea.lab.transport import AsgiTransport, call
from mockgitea.lab.virtual_loop import VirtualLoop
from mockgitea.service.runs import EnqueueRequest
from mockgitea.storage import metric_queries, runs
from mockgitea.supervise import Supervisor
from mockgitea.transport.asgi import App
from mockgitea.transport.fault_gate import FaultGate
from mockgitea.transport.fault_verdicts import note_cut
from mockgitea.transport.journal_view import view
from mockgitea.verify.session import KnownRunner, Session
from virtualjobs import ScriptedJobs
from virtualrunner import Exchange, SkewedClock, VirtualRunner, Wire, daemon

T = TypeVar("T")

LABEL = "linux"
JOURNAL_ENTRIES = 1000
"""Enough to remember which calls a cut connection has left in doubt; a test keeps every entry itself."""
DONE = ("success", "failure", "cancelled", "skipped")
_HEADERS = {"content-type": "application/json", "host": "lab.test"}


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """What a fleet is made of. ``database``: a file that survives `VirtualFleet.replace_server`."""

    profile: str = "gitea-1.27"
    seed: int = 1
    runners: int = 3
    capacities: Sequence[int] = (1,)
    """Of each runner, taken in turns."""
    skews_s: Sequence[float] = (0.0,)
    """How far each runner's calendar is off, in turns."""
    database: str = ":memory:"
    round_trip_us: int = 0
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of the server."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Keys below ``runner`` in the runners' configuration."""


class VirtualFleet:
    """The server and its runners. Made by `play`."""

    def __init__(self, plan: FleetPlan, loop: VirtualLoop) -> None:
        self.plan = plan
        self.clock = RunnerClock(loop)
        self.runners: list[VirtualRunner] = []
        self.wire: list[Exchange] = []
        self.entries: list[tuple[int, Entry]] = []
        """Every closed journal entry, in the order of closing, after what to add to its numbers: a new server's journal
        begins at 1 again."""
        self.names: dict[str, str] = {}
        """Runner UUID to name, of every runner there ever was."""
        self._loop = loop
        self._numbers_before = 0
        self._servers: list[LabServer] = []
        self._paths: dict[tuple[int, int], str] = {}
        self._csrf_token = ""
        self.is_up = True
        """False while the server is being replaced."""
        self._supervisor = Supervisor(on_failure=self._fail)
        self._failure: BaseException | None = None
        self.jobs = ScriptedJobs(self.clock)
        self.server = self._new_server()
        self.network = Network(self.clock, LinkPolicy(round_trip_us=plan.round_trip_us), self.server.port)

    # Life

    async def start(self) -> None:
        """Open the server, register the runners and start them all at once."""
        await self.server.start()
        for _ in range(self.plan.runners):
            await self.add_runner()

    async def close(self) -> None:
        """End everything; raises what a part of it died of."""
        for runner in self.runners:
            await runner.kill()
        await self.jobs.close()
        await self._supervisor.close()
        await self.server.close()
        self.check()

    def check(self) -> None:
        """Raise what a part of the fleet died of."""
        if self._failure is not None:
            raise RuntimeError("a part of the fleet died") from self._failure

    @property
    def faults(self) -> FaultGate:
        """Faults and downtime of the present server."""
        return self.server.faults

    async def at(self, seconds: float) -> None:
        """Wait until so many seconds of the simulation have passed."""
        await self.clock.sleep_until(round(seconds * 1e6))

    async def pass_time(self, seconds: float) -> None:
        """Let so much time pass."""
        await self.clock.sleep_until(self.clock.now_us() + round(seconds * 1e6))

    async def until(self, is_so: Callable[[], Awaitable[bool]], *, within_s: float, step_s: float = 1.0) -> bool:
        """Look again and again; False when the time is over first."""
        end_us = self.clock.now_us() + round(within_s * 1e6)
        while not await is_so():
            if self.clock.now_us() >= end_us:
                return False
            await self.pass_time(step_s)
            self.check()
        return True

    async def replace_server(self, *, down_s: float, is_kill: bool) -> None:
        """End the server's process and start a new one on the same database file after a while.

        A killed one writes nothing more; rules that were in force are forgotten with it.
        """
        assert self.plan.database != ":memory:", "needs a database file"
        old, self.is_up = self.server, False
        closed = LabPort(closings=old.port.closings + 1)
        await closed.pause()
        self.network.port = closed
        if is_kill:
            note_cut(old.journal, "process-killed", self._loop.time())
            old.port.cut()
            await self.pass_time(0.001)
            await old.services.supervisor.close()
            await old.services.store.close()
        else:
            await old.port.drain()
            await old.close()
        self._numbers_before += old.journal.opened_total
        await self.pass_time(down_s)
        new = self._new_server()
        await new.start()
        new.port.closings = closed.closings + 1
        self.server, self.network.port, self.is_up = new, new.port, True

    # Runners

    async def add_runner(self) -> VirtualRunner:
        """Register one more runner and start it."""
        number = len(self.names)
        name = f"r{number}"
        record, token = await self.server.services.registration.create_runner(name=name, labels=[LABEL])
        self.names[record.uuid] = name
        plan = self.plan
        skew_us = round(plan.skews_s[number % len(plan.skews_s)] * 1e6)
        capacity = plan.capacities[number % len(plan.capacities)]
        clock = SkewedClock(self._loop, skew_us)
        runner = VirtualRunner(name=name, uuid=record.uuid, token=token, capacity=capacity, clock=clock)
        self.runners.append(runner)
        self.start_runner(runner)
        return runner

    def start_runner(self, runner: VirtualRunner) -> None:
        """Start a daemon under a registration that has none."""
        assert not runner.is_running, "one daemon for one registration"
        transport = AsgiTransport(self._serve, self.network, Pool(self.network, self.clock, PoolPolicy()))
        labels = (f"{LABEL}:host",)
        settings = {
            "runner": {"capacity": runner.capacity, "labels": list(labels), "env_file": "", **self.plan.options}
        }
        setup = RunnerSetup(
            config=parse_config(json.dumps(settings), "simulation"),
            registration=Registration(
                uuid=runner.uuid, token=runner.token, address="http://lab.test", name=runner.name, labels=labels
            ),
            labels=labels,
            job=self.jobs.on(runner.name),
        )
        runner.requests = ShutdownRequests()
        starts = sum(one.runner == runner.name for one in self.wire)  # another stream for another life
        rng = random.Random(f"{self.plan.seed}:{runner.name}:{starts}")
        wire = Wire(runner.name, transport, self.clock, self.wire)
        runner.work = self._supervisor.start(daemon(setup, runner, wire, rng), name=runner.name)

    async def delete_runner(self, runner: VirtualRunner) -> None:
        """Delete the registration, as a person would; a runner that is gone already is none."""
        record = self.server.services.directory.find(runner.uuid)
        if record is not None:
            await self.server.services.registration.delete_runner(record.id)

    # Work

    async def enqueue(self, source: str, *, file: str = "w.yml", secrets: Mapping[str, str] | None = None) -> int:
        """Start a workflow and return the run's id."""
        request = EnqueueRequest(
            repository=REPOSITORY, workflow_file=file, source=source, event="push", secrets=secrets or {}
        )
        return (await self.server.services.runs.enqueue(request)).run_id

    async def cancel(self, run: int) -> int:
        """Cancel a run as its page would; returns how many jobs that changed."""
        return await self.server.services.runs.cancel(run)

    async def rerun(self, run: int, *, failed_only: bool = False) -> None:
        """Run a finished run again, as its page would."""
        await self.server.services.runs.rerun(run, failed_only=failed_only)
        self._paths.clear()

    # What was seen

    def records(self) -> list[CallRecord]:
        """Return every call so far that has ended, in the order in which they began."""
        views = []
        for before, entry in sorted(self.entries, key=lambda one: one[0] + one[1].number):
            shown = view(entry)
            views.append({**shown, **{name: shown[name] + before for name in ("number", "closed_after")}})
        return Session(views=views, runners={uuid: KnownRunner(name) for uuid, name in self.names.items()}).records()

    async def page(self, run: int, job: int = 0) -> Any:
        """Return the JSON of a job's page without rows, past all faults; ``job``: its place in the latest attempt."""
        answer = await self._ask(await self._path(run, job), b'{"logCursors": []}')
        assert answer.status == 200, answer
        return json.loads(answer.body)

    async def statuses(self, run: int) -> dict[str, str]:
        """Return the status of each job of a run's latest attempt, by name as the page shows it."""
        jobs = (await self.page(run))["state"]["run"]["jobs"]
        return {job["name"]: job["status"] for job in jobs}

    async def rows(self, run: int, job: int = 0) -> list[str]:
        """Return the stored rows of a job's newest task, without their times."""
        path = await self._path(run, job)
        answer = await call(self._web, f"{path}/logs", _HEADERS, b"", verb="GET")
        if answer.status == 404:
            return []
        assert answer.status == 200, answer
        return [line.partition(" ")[2] for line in answer.body.decode().splitlines()]

    async def visit(self, run: int) -> str:
        """Return what the page of a run's first job shows to a person, through all faults; empty when it shows nothing.

        Raises:
            ConnectionReset, ConnectionEnded: a fault ended the connection.
        """
        path = await self._path(run, 0)
        plain = await self._ask(path, b'{"logCursors": []}', self._serve)
        if plain.status != 200:
            return ""
        try:
            steps = len(json.loads(plain.body)["state"]["currentJob"]["steps"] or ())
        except ValueError:
            return ""  # a fault has changed or cut it
        cursors = [{"step": step, "cursor": None, "expanded": True} for step in range(steps)]
        answer = await self._ask(path, json.dumps({"logCursors": cursors}).encode(), self._serve)
        return answer.body.decode(errors="replace")

    async def figures(self) -> dict[str, float]:
        """Return the gauges that are 0 in a system at rest, as the metrics page has them."""
        server = self.server
        counts = await server.services.store.read(metric_queries.counts)
        return {
            "calls in progress": server.journal.in_progress,
            "rows not stored": server.services.logs.waiting_rows,
            "calls waiting for the database": server.services.store.figures().waiting,
            "jobs in the queue": counts.queued,
            "tasks running": counts.tasks.get(Status.RUNNING, 0) + counts.tasks.get(Status.CANCELLING, 0),
            "rules in force": len(server.faults.list()) + len(server.faults.list_downtimes()),
        }

    @property
    def counted(self) -> int:
        """Calls that the counters of every server so far have counted."""
        return sum(server.counters.total for server in self._servers)

    async def _path(self, run: int, job: int) -> str:
        path = self._paths.get((run, job)) or await self._found_path(run, job)
        if self.server.services.profile.page_urls is not PageUrls.ATTEMPT:  # where the path grows old with its attempt
            self._paths[run, job] = path
        return path

    async def _found_path(self, run: int, job: int) -> str:
        def query(conn: Any) -> str:
            owner, _, name = REPOSITORY.partition("/")
            links = PageLinks(owner, name, self.server.services.profile.page_urls)
            jobs = runs.latest_jobs(conn, run)
            return links.job(dict(runs.get_run(conn, run)), dict(jobs[job]), job)

        return await self.server.services.store.read(query)

    async def _ask(self, path: str, body: bytes, app: App | None = None) -> RawAnswer:
        headers = {**_HEADERS, "content-length": str(len(body))}
        if self.server.services.profile.page_requires_csrf_token:
            if not self._csrf_token:
                html = await call(self._web, path, _HEADERS, b"", verb="GET")
                (self._csrf_token,) = re.findall(r'name="_csrf" content="([^"]+)"', html.body.decode())
            headers["x-csrf-token"] = self._csrf_token
        return await call(app or self._web, path, headers, body)

    # Parts

    def _new_server(self) -> LabServer:
        server = LabServer(
            self._loop,
            profile=self.plan.profile,
            seed=self.plan.seed,
            on_close=functools.partial(self._closed, self._numbers_before),
            settings={"database": self.plan.database, "journal_entries": JOURNAL_ENTRIES, **self.plan.settings},
        )
        self._web = build_web_app(server.services)
        self._csrf_token = ""
        self._servers.append(server)
        return server

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        await self.server.app(scope, receive, send)

    def _closed(self, numbers_before: int, entry: Entry) -> None:
        self.entries.append((numbers_before, entry))

    def _fail(self, error: BaseException) -> None:
        self._failure = self._failure or error


def play(scene: Callable[[VirtualFleet], Awaitable[T]], plan: FleetPlan | None = None) -> T:
    """Run ``scene`` with a fleet from an empty server on, in virtual time that begins at 0."""

    async def main() -> T:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        fleet = VirtualFleet(plan or FleetPlan(), loop)
        await fleet.start()
        try:
            result = await scene(fleet)
        except BaseException:
            with contextlib.suppress(Exception):
                await fleet.close()
            raise
        await fleet.close()
        return result

    with quiet_logs(), asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
