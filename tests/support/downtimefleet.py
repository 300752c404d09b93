"""Three real runner processes on one real server that goes down, with jobs that run exactly as long as a test wants.

Each job leaves marks of its own beside the log: that it ran, and how many rows it printed. Intervals are about a
tenth of the defaults, so that windows of a second are long.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from actionsrunner.edge.registration import Registration, write_registration
from downtimechecks import check_audit, check_log
from eventually import eventually
from mockgitea.core.call_record import CallRecord
from mockgitea.verify.session import Session
from runnerproc import RunnerProcess, finished, log_rows
from serverproc import Mock, ServerProcess

RUNNERS = 3
CAPACITY = 2
POLL_S_MAX = 0.5
REPORT_S_MAX = 0.4
SETTINGS = {
    "fetch_interval": "125ms",
    "fetch_interval_max": "500ms",
    "fetch_timeout": "2s",
    "log_report_interval": "400ms",
    "log_report_max_latency": "200ms",
    "state_report_interval": "400ms",
}
"""The closing budget keeps its default: three times ten seconds for each of the two calls."""
WAIT_S = 30.0
REAPED_S = 16 * 60
WINDOW = "window"
JOB = """
  {name}:
    runs-on: {label}
    steps:
      - run: |
          echo "$GITHUB_RUN_ATTEMPT" >> {mark}.ran
          n=0
          until test -e {mark}.end || test $n -ge 3000; do
            for _ in $(seq {burst}); do n=$((n+1)); echo "row $n"; done
            sleep 0.05
          done
          echo $n > {mark}.rows
"""


@dataclass(frozen=True)
class Job:
    """One job of a test."""

    name: str
    mark: Path
    run_id: int

    def end(self) -> None:
        """Let its script end."""
        self.mark.with_suffix(".end").touch()

    @property
    def printed(self) -> list[str] | None:
        """The rows that its script printed; None before it has ended."""
        try:
            text = self.mark.with_suffix(".rows").read_text()
        except FileNotFoundError:
            return None
        return [f"row {number}" for number in range(1, int(text) + 1)] if text.endswith("\n") else None

    @property
    def times_run(self) -> int:
        """How often its script was started."""
        ran = self.mark.with_suffix(".ran")
        return len(ran.read_text().splitlines()) if ran.exists() else 0


@dataclass
class DownFleet:
    """The server and its runners."""

    mock: Mock
    folder: Path
    runners: list[RunnerProcess] = field(default_factory=list)
    jobs: list[Job] = field(default_factory=list)

    # Work

    def enqueue(self, count: int, *, burst: int = 1, label: str = "linux") -> list[Job]:
        """Enqueue one run of ``count`` jobs, each printing ``burst`` rows twenty times a second until it is ended."""
        names = [f"j{len(self.jobs) + number}" for number in range(1, count + 1)]
        marks = {name: self.folder / name for name in names}
        text = "on: push\njobs:" + "".join(JOB.format(name=n, label=label, mark=marks[n], burst=burst) for n in names)
        run_id = self.mock.enqueue(text)["run_id"]
        made = [Job(name, marks[name], run_id) for name in names]
        self.jobs += made
        return made

    def task(self, job: Job) -> Any:
        """The job's task, None while there is none."""
        return self.mock.job(job.run_id, job.name)["task"]

    def started(self, jobs: Sequence[Job]) -> None:
        """Wait until each job runs and has rows on the server."""
        for job in jobs:
            eventually(lambda job=job: self.task(job), lambda task: bool(task and task["log_rows"]), within_s=WAIT_S)  # type: ignore[misc]  # mypy cannot infer a lambda with a default

    def statuses(self, jobs: Sequence[Job]) -> dict[str, str]:
        """Wait for the end of the jobs' run; returns each job's status."""
        run = finished(self.mock, jobs[0].run_id, within_s=WAIT_S)
        return {job["job_id"]: job["status"] for job in run["jobs"]}

    # Bad days

    def down(self, kind: str, **fields: Any) -> None:
        """Take the port away until `up`."""
        self.mock.control("POST", "/downtime", {"name": WINDOW, "kind": kind, "duration_s": 3600, **fields})

    def up(self) -> None:
        """End the window and every fault."""
        self.mock.control("DELETE", "/faults")

    def fault(self, kind: str, **fields: Any) -> None:
        """Add a fault."""
        self.mock.control("POST", "/faults", {"name": "f", "kind": kind, **fields})

    # What was seen

    def calls(self) -> list[CallRecord]:
        """Everything that arrived so far."""
        reply = self.mock.control_reply("GET", "/journal/export?format=jsonl")
        assert reply.status == 200, reply
        session = Session.from_lines(reply.body.decode().splitlines())
        assert session.evicted == 0, "the journal is too small for this test"
        return session.records()

    def now_us(self) -> int:
        """The server's time."""
        return int(self.mock.control("GET", "/clock")["now_us"])

    @property
    def calls_total(self) -> int:
        """How many calls have arrived."""
        return int(self.mock.control("GET", "/journal", limit=1)["opened_total"])

    def wait_for(self, n: int = 1, **match: Any) -> None:
        """Wait until so many calls match."""
        met = self.mock.control("POST", "/journal/wait", {"match": match, "n": n, "within_s": WAIT_S})
        assert met["is_met"], met["explanation"]

    def claim_in_flight(self) -> Job:
        """Enqueue one job and return once a runner has been given it, with the answer still on its way."""
        self.fault("hold", method="FetchTask", stage="after")
        job = self.enqueue(1)[0]
        eventually(lambda: self.task(job), within_s=WAIT_S)
        return job

    def failures(self, event: str, since_s: float, *, of: Sequence[RunnerProcess] = ()) -> list[Any]:
        """What the runners' own logs say under ``event`` since this moment of the machine's clock."""
        found = []
        for runner in of or self.runners:
            lines = [json.loads(line) for line in runner.log_text().splitlines() if f'"{event}"' in line]
            found += [line for line in lines if datetime.fromisoformat(line["timestamp"]).timestamp() >= since_s]
        return found

    # Verdicts

    def check(self, jobs: Sequence[Job], *, times_run: int = 1) -> None:
        """Check logs, marks and protocol of jobs that have ended."""
        calls = self.calls()
        for job in jobs:
            task = self.task(job)
            stored = log_rows(self.mock, task["id"])
            check_log(task["id"], calls, stored)
            assert job.times_run == times_run, f"{job.name} ran {job.times_run} times"
            if task["status"] == "success":
                assert [row for row in stored if row.startswith("row ")] == job.printed
        tasks = [task for call in calls if call.is_fetch and call.is_answered for task in call.tasks]
        assert len(tasks) == len(set(tasks)), "a task was handed out twice with answers that arrived"
        check_audit(calls, capacity=CAPACITY)


@contextmanager
def down_fleet(folder: Path, profile: str = "gitea-1.27") -> Iterator[DownFleet]:
    """Start a server and three runners that poll; end them afterwards."""
    arguments = ["--port", "0", "--control-port", "0", "--profile", profile, "--clock", "offset"]
    (folder / "server").mkdir()
    server = ServerProcess(*arguments, "--journal-entries", "20000", folder=folder / "server")
    fleet = DownFleet(Mock(server, profile), folder)
    try:
        for number in range(1, RUNNERS + 1):
            fleet.runners.append(runner(fleet, f"r{number}"))
        for process in fleet.runners:
            fleet.wait_for(method="FetchTask", runner=process.identity["uuid"])
        yield fleet
    finally:
        for job in fleet.jobs:
            job.end()  # a killed runner leaves its jobs running
        for process in fleet.runners:
            process.kill()
        server.kill()


def runner(fleet: DownFleet, name: str, *, label: str = "linux", **settings: Any) -> RunnerProcess:
    """Start one runner process of the fleet's kind, under a registration that the server made: registering is slow."""
    folder = fleet.folder / name
    folder.mkdir()
    made = fleet.mock.runner([label], name=name)
    address = fleet.mock.ready["runner_url"]
    registration = Registration(
        uuid=made.uuid, token=made.token, address=address, id=made.id, name=name, labels=(f"{label}:host",)
    )
    write_registration(folder / ".runner", registration)
    return RunnerProcess(
        fleet.mock, name=name, labels=(f"{label}:host",), capacity=CAPACITY, folder=folder,
        settings={**SETTINGS, **settings}, sections={"log": {"level": "debug", "format": "json"}},
    )  # fmt: skip
