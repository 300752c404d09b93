"""What a watcher knows of a run and what is new in each answer of the page: pure, knows no HTTP and no terminal.

Every job has its own cursors, exactly as the page keeps them: the first request of a job has none, steps that may be
opened are expanded, and the cursor to send is the one the server returned. News comes in the order a reader expects:
a step's rows before its end, a job's steps before its end, the run's end last.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

OPENABLE: Final = frozenset({"running", "success", "failure", "cancelled"})
FINAL: Final = frozenset({"success", "failure", "cancelled", "skipped"})
GOOD: Final = frozenset({"success", "skipped"})


@dataclass(frozen=True, slots=True)
class RunChanged:
    """The run has another status."""

    status: str


@dataclass(frozen=True, slots=True)
class JobChanged:
    """A job has another status; ``duration`` is the server's text."""

    job: str
    status: str
    duration: str


@dataclass(frozen=True, slots=True)
class StepChanged:
    """A step has another status."""

    job: str
    step: str
    status: str
    duration: str


@dataclass(frozen=True, slots=True)
class NewRow:
    """A row became visible; ``timestamp`` is float seconds since the epoch."""

    job: str
    step: str
    timestamp: float
    message: str


Event = RunChanged | JobChanged | StepChanged | NewRow


@dataclass(slots=True)
class StepState:
    """One step as last seen."""

    name: str
    status: str = ""
    duration: str = "0s"
    cursor: int | None = None
    told: str = ""
    """The status that was last reported as an event."""

    @property
    def is_unopened(self) -> bool:
        """True when its rows can be asked for and never were."""
        return self.status in OPENABLE and self.cursor is None


@dataclass(slots=True)
class JobState:
    """One job as last seen. ``position`` is its place in the run, from 0."""

    position: int
    id: int
    name: str
    status: str = ""
    duration: str = "0s"
    detail: str = ""
    """Why it does not run yet, or its status, in the server's words."""
    attempt: int = 1
    """Newest attempt the page has told of, for servers that ask for one."""
    is_settled: bool = False
    """True once it is final and a further request brought nothing new."""
    told: str = ""
    """The status that was last reported as an event."""
    steps: list[StepState] = field(default_factory=list)

    @property
    def is_final(self) -> bool:
        """True for success, failure, cancelled and skipped."""
        return self.status in FINAL

    @property
    def is_pressing(self) -> bool:
        """True when asking again at once brings more: a step was just opened, or the job has ended."""
        return not self.is_settled and (self.is_final or any(step.is_unopened for step in self.steps))

    def cursors(self) -> list[dict[str, Any]]:
        """Return the `logCursors` of the next request."""
        return [
            {"step": index, "cursor": step.cursor, "expanded": step.status in OPENABLE}
            for index, step in enumerate(self.steps)
        ]


class Follower:
    """The run as a watcher knows it.

    Args:
        wanted: names of the jobs to follow; empty = all.
    """

    def __init__(self, wanted: Sequence[str] = ()) -> None:
        self._wanted = frozenset(wanted)
        self.status = ""
        self.is_done = False
        self.title = ""
        self.names: list[str] = []
        self.jobs: list[JobState] = []

    def accept_run(self, answer: Mapping[str, Any]) -> list[Event]:
        """Take the run's part of an answer; returns what changed."""
        run = answer["state"]["run"]
        events: list[Event] = []
        self.title, self.is_done = run["title"], run["done"]
        self.names = [job["name"] for job in run["jobs"]]
        if run["status"] != self.status:
            self.status = run["status"]
            if self.status not in FINAL:
                events.append(RunChanged(self.status))
        known = {job.position: job for job in self.jobs}
        for position, shown in enumerate(run["jobs"]):
            if self._wanted and shown["name"] not in self._wanted:
                continue
            job = known.get(position)
            if job is None or job.id != shown["id"]:
                self.jobs = [other for other in self.jobs if other.position != position]
                job = JobState(position=position, id=shown["id"], name=shown["name"])
                self.jobs.append(job)
            job.duration = shown["duration"]
            if shown["status"] != job.status:
                job.status, job.is_settled = shown["status"], False
                events.extend([] if job.is_final else _tell(job))
        self.jobs.sort(key=lambda job: job.position)
        return events

    def accept_job(self, job: JobState, answer: Mapping[str, Any]) -> list[Event]:
        """Take the steps and rows of one job's answer; returns what changed, rows before the steps they end."""
        current = answer["state"]["currentJob"]
        attempts = [one["number"] for one in current.get("allAttempts") or []]
        if (newest := max(attempts, default=job.attempt)) > job.attempt:
            # The answer is about an attempt that is over; the next request asks for the newest from its first row.
            job.attempt, job.steps, job.is_settled = newest, [], False
            return []
        job.detail = current.get("detail") or " ".join(current.get("details") or [])
        rows = _rows(job, answer["logs"]["stepsLog"] or [])
        events: list[Event] = []
        for index, state in enumerate(current.get("steps") or []):
            events += _step(job, index, state, rows)
        job.is_settled = job.is_final and not events
        return [*events, *_tell(job)] if job.is_settled else events

    def closing(self) -> list[Event]:
        """Return the last event once `is_over`: how the run ended, if it has."""
        return [RunChanged(self.status)] if self.status in FINAL else []

    def succeeded(self) -> bool:
        """Tell whether what was followed went well: every followed job, or the run when all are followed."""
        if self._wanted:
            return all(job.status in GOOD for job in self.jobs)
        return self.status in GOOD

    def is_over(self) -> bool:
        """Tell whether nothing new can come: the run is done, or all the wanted jobs are final; rows are all here."""
        if self._wanted:
            return bool(self.jobs) and all(job.is_settled for job in self.jobs)
        return self.is_done and all(job.is_settled for job in self.jobs)


def _tell(job: JobState) -> list[Event]:
    if job.told == job.status:
        return []
    job.told = job.status
    return [JobChanged(job.name, job.status, job.duration)]


def _step(job: JobState, index: int, state: Mapping[str, Any], rows: Mapping[int, list[Event]]) -> list[Event]:
    """Take one step's state; returns its news, which wait until its rows were asked for."""
    if index == len(job.steps):
        job.steps.append(StepState(state["summary"]))
    step = job.steps[index]
    step.name, step.status, step.duration = state["summary"], state["status"], state["duration"]
    new = rows.get(index, [])
    if step.told == step.status or step.is_unopened or step.status == "waiting":
        return new
    step.told = step.status
    event = StepChanged(job.name, step.name, step.status, step.duration)
    return [*new, event] if step.status in FINAL else [event, *new]


def _rows(job: JobState, logs: Sequence[Mapping[str, Any]]) -> dict[int, list[Event]]:
    rows: dict[int, list[Event]] = {}
    for log in logs:
        if log["step"] >= len(job.steps):
            continue
        step = job.steps[log["step"]]
        step.cursor = log["cursor"]
        rows[log["step"]] = [NewRow(job.name, step.name, line["timestamp"], line["message"]) for line in log["lines"]]
    return rows
