"""A small reference model of the server's runner-facing behaviour, written from the contract and from nothing else.

Plain dictionaries and loops, no product code: every call returns what a runner would hear, `snapshot` what a person
would see. Statuses are the contract's words.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rules import Rules

S = 1_000_000
FINAL = ("success", "failure", "cancelled", "skipped")
RESULTS = ("", *FINAL)


class Refused(Exception):
    """What a runner hears instead of an answer."""


@dataclass
class Runner:
    number: int
    owner: bool
    """Scope: the owner of both repositories when True and ``repo`` is 0."""
    repo: int
    labels: tuple[str, ...]
    ephemeral: bool
    cancelling: bool
    disabled: bool = False
    gone: bool = False


@dataclass
class JobSpec:
    name: str
    runs_on: tuple[str, ...]
    needs: tuple[str, ...]
    steps: int
    always: bool


@dataclass
class Job:
    number: int
    run: int
    repo: int
    spec: JobSpec
    status: str
    updated: int
    task: int = 0


@dataclass
class Step:
    status: str = "waiting"
    log_index: int = 0
    log_length: int = 0
    started: int = 0
    stopped: int = 0


@dataclass
class Task:
    number: int
    job: Job
    runner: Runner
    started: int
    updated: int
    steps: list[Step]
    key: str = ""
    status: str = "running"
    stopped: int = 0
    outputs: dict[str, str] = field(default_factory=dict)
    lines: list[bytes] = field(default_factory=list)
    sealed: bool = False


@dataclass
class Run:
    number: int
    repo: int
    jobs: list[Job]


def log_line(time_ns: int, content: str) -> bytes:
    stamp = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=time_ns // 1000)
    seven = f"{time_ns % 1_000_000_000 // 100:07d}"
    return f"{stamp:%Y-%m-%dT%H:%M:%S}.{seven}Z ".encode() + content.replace("\n", "\\n").encode()[:65536]


class Model:
    """The whole server, at one moment."""

    def __init__(self, rules: Rules, now_us: int) -> None:
        self.rules = rules
        self.now = now_us
        self.versions: dict[str, int] = {}
        self.bumped: set[str] = set()
        """Scopes whose counter has to have moved since `follow`; by how much is the server's affair."""
        self.ended: set[int] = set()
        """Repositories in which a job ended since `follow`."""
        self.runners: list[Runner] = []
        self.runs: list[Run] = []
        self.tasks: dict[int, Task] = {}
        self.job_numbers = itertools.count(1)
        self.task_numbers = itertools.count(1)
        self.due: dict[str, int] = {}
        self.start()

    # --- identities
    def register(
        self, *, token: str, name: str, owner: bool, repo: int, labels: tuple[str, ...], agent_labels: tuple[str, ...],
        ephemeral: bool, cancelling: bool,
    ) -> tuple[Any, ...]:  # fmt: skip
        if not token or not name:
            raise Refused("missing runner token, name")
        if token == "unknown":
            raise Refused("runner registration token not found")
        kept = agent_labels if self.rules.agent_labels and not labels else labels
        runner = Runner(
            len(self.runners), owner, repo, kept, ephemeral and self.rules.ephemeral,
            cancelling and self.rules.capabilities,
        )  # fmt: skip
        self.runners.append(runner)
        return (name, kept, runner.ephemeral)

    def declare(self, who: int, labels: tuple[str, ...], *, cancelling: bool) -> tuple[Any, ...]:
        runner = self._known(who)
        runner.labels, runner.cancelling = labels, cancelling and self.rules.capabilities
        return labels

    def toggle(self, who: int, *, disabled: bool) -> None:
        runner = self.runners[who]
        if runner.disabled != disabled:
            runner.disabled = disabled
            self._bump(owner=runner.owner, repo=runner.repo)

    def delete_runner(self, who: int) -> None:
        self.runners[who].gone = True

    # --- runs
    def enqueue(self, repo: int, specs: Sequence[JobSpec]) -> None:
        run = Run(len(self.runs) + 1, repo, [])
        for spec in specs:
            status = "blocked" if spec.needs else "waiting"
            run.jobs.append(Job(next(self.job_numbers), run.number, repo, spec, status, self.now))
        self.runs.append(run)
        self._bump(owner=True, repo=repo)

    def rerun(self, number: int) -> None:
        """Run a run again whose jobs are all final."""
        run = self.runs[number]
        if self.rules.rerun_clones:
            run.jobs = [Job(next(self.job_numbers), j.run, j.repo, j.spec, "", 0) for j in run.jobs]
        for job in run.jobs:
            job.status, job.updated, job.task = ("blocked" if job.spec.needs else "waiting"), self.now, 0
        self._bump(owner=True, repo=run.repo)

    def cancel(self, number: int) -> None:
        run = self.runs[number]
        changed = False
        for job in run.jobs:
            if job.status in FINAL:
                continue
            task = self.tasks.get(job.task)
            if task is None:
                self._finish_job(job, "cancelled")
            elif task.status == "cancelling":
                continue
            elif self.rules.capabilities and task.runner.cancelling and not task.runner.gone:
                task.status = job.status = "cancelling"
                task.updated = job.updated = self.now
            else:
                self._stop(task, "cancelled")
            changed = True
        if changed and self.rules.resolves_after_stop:
            self._resolve(run)

    # --- fetching
    def fetch(self, who: int, version: int, capacity: int | None, key: str) -> tuple[Any, ...]:
        runner = self._known(who)
        if self.rules.request_key and key:
            again = [task for task in self.tasks.values() if task.runner is runner and task.key == key]
            if again:
                return (0, [self._message(task) for task in again])
        current = 0
        if self.rules.has_versions:
            current = self.versions.get(self._scope(runner), 0)
            if not current:
                self._bump(owner=runner.owner, repo=runner.repo)
                current = 1
            if version == current:
                return (current, [])
        if runner.disabled:
            return (current, [])
        wanted = max(1, capacity or 1) if self.rules.several_tasks and not runner.ephemeral else 1
        picked: list[Task] = []
        while len(picked) < wanted and (task := self._pick(runner, key)):
            picked.append(task)
        return (current, [self._message(task) for task in picked])

    def release(self, number: int) -> None:
        task = self.tasks[number]
        if task.status in FINAL:
            return
        if task.status == "cancelling":
            self._stop(task, "cancelled")
            return
        del self.tasks[number]
        task.job.status, task.job.task, task.job.updated = "waiting", 0, self.now
        self._bump(owner=True, repo=task.job.repo)

    # --- reporting
    def update_task(
        self, who: int, number: int, result: int, stopped: int, steps: Sequence[Mapping[str, int]],
        outputs: Mapping[str, str],
    ) -> tuple[Any, ...]:  # fmt: skip
        runner = self._known(who)
        task = self.tasks.get(number)
        if task is None:
            raise Refused("update task: resource does not exist")
        if task.runner is not runner and self.rules.checks_owner:
            raise Refused("update task: invalid runner for task")
        if task.status not in FINAL:
            self._report_steps(task, {step["id"]: step for step in steps})
            task.updated = self.now
            if result:
                task.status = "cancelled" if task.status == "cancelling" else RESULTS[result]
                task.stopped = stopped // S * S
                self._remove_ephemeral(task.runner)
                self._finish_job(task.job, task.status, task)
        for name, value in outputs.items():
            if len(name.encode()) <= 255 and len(value.encode()) <= 1048576:
                task.outputs.setdefault(name, value)
        if result:
            if self.rules.bumps_on_final_update:
                self._bump(owner=runner.owner, repo=runner.repo)
                self._remove_ephemeral(task.runner)
            self._resolve(self.runs[task.job.run - 1])
        shown = "cancelled" if task.status == "cancelling" else task.status
        return (number, RESULTS.index(shown) if shown in RESULTS else 0, sorted(task.outputs))

    def update_log(self, who: int, number: int, index: int, rows: Sequence[tuple[int, str]], *, no_more: bool) -> int:
        runner = self._known(who)
        task = self.tasks.get(number)
        if task is None:
            raise Refused(f"get task: task with id {number}: resource does not exist")
        if task.runner is not runner and self.rules.checks_owner:
            raise Refused("invalid runner for task")
        held, count = len(task.lines), len(rows)
        fresh = rows[held - index :] if index <= held < index + count else ()
        if fresh and task.sealed:
            raise Refused("log file has been archived")
        if fresh:
            task.lines += [log_line(*row) for row in fresh]
            task.sealed = no_more
            task.updated = self.now
        elif self.rules.empty_call_seals and no_more and index <= held and not task.sealed:
            task.sealed = True
            task.updated = self.now
        return len(task.lines)

    # --- time
    def start(self) -> None:
        """The server starts (again): reapers run at once, then everything blocked is looked at."""
        self.due = {"zombie": self.now, "endless": self.now, "abandoned": self.now}
        if self.rules.transfers_logs:
            self.due["logs"] = self.now
        self._run_due()
        for run in self.runs:
            self._resolve(run)

    def advance(self, seconds: float) -> None:
        self.now += round(seconds * S)
        self._run_due()

    def _run_due(self) -> None:
        for name, due in sorted(self.due.items(), key=lambda item: item[1]):
            if due > self.now:
                continue
            every = {"zombie": 300, "endless": 1800, "abandoned": 21600}.get(name, 0) * S
            self.due[name] = self.now + every if every else (self.now // (86400 * S) + 1) * 86400 * S
            getattr(self, f"_reap_{name}")()

    def _reap_zombie(self) -> None:
        self._stop_all([task for task in self._open() if task.updated < self.now - 600 * S])

    def _reap_endless(self) -> None:
        self._stop_all([task for task in self._open() if task.started < self.now - 10800 * S])

    def _reap_abandoned(self) -> None:
        touched = []
        for job in self._jobs():
            if job.status in ("waiting", "blocked") and job.updated < self.now - 86400 * S:
                self._finish_job(job, "cancelled")
                touched.append(job.run)
        self._resolve_after_stop(touched)

    def _reap_logs(self) -> None:
        for task in self.tasks.values():
            if task.status in FINAL and task.updated < self.now - 86400 * S and task.lines:
                task.sealed = True

    # --- rules
    def _known(self, who: int) -> Runner:
        if who >= len(self.runners) or self.runners[who].gone:
            raise Refused("unregistered runner")
        return self.runners[who]

    def _scope(self, runner: Runner) -> str:
        return f"repo{runner.repo}" if runner.repo else "owner" if runner.owner else "global"

    def _bump(self, *, owner: bool, repo: int) -> None:
        scopes = ["global", *(["owner"] if owner else []), *([f"repo{repo}"] if repo else [])]
        self.bumped.update(scopes)

    def follow(self, versions: Mapping[str, int]) -> str:
        """Check the counters a call left behind, and go on with them.

        Returns:
            What is wrong; empty when nothing is. A job that ends while its repository still has waiting jobs bumps;
            one that ends when none waits any more may have, if several ended at once.
        """
        may_move: set[str] = set()
        for repo in self.ended:
            waits = any(job.status == "waiting" and job.repo == repo for job in self._jobs())
            scopes = {"global", "owner", f"repo{repo}"}
            (self.bumped if waits else may_move).update(scopes)
        moved = {scope for scope in versions if versions[scope] != self.versions.get(scope, 0)}
        back = [scope for scope in moved if versions[scope] < self.versions.get(scope, 0)]
        wrong = f"moved {sorted(moved)}, has to {sorted(self.bumped)}, may {sorted(may_move)}, back {back}"
        is_right = not back and self.bumped <= moved <= self.bumped | may_move
        self.versions, self.bumped, self.ended = dict(versions), set(), set()
        return "" if is_right else wrong

    def _jobs(self) -> list[Job]:
        return sorted((job for run in self.runs for job in run.jobs), key=lambda job: job.number)

    def _open(self) -> list[Task]:
        return [task for task in self.tasks.values() if task.status in ("running", "cancelling")]

    def _pick(self, runner: Runner, key: str) -> Task | None:
        if runner.ephemeral and any(task.runner is runner for task in self.tasks.values()):
            return None
        queue = [job for job in self._jobs() if job.status == "waiting" and self._fits(runner, job)]
        if not queue:
            return None
        job = min(queue, key=lambda job: (job.updated // S, job.number))
        steps = [Step() for _ in range(job.spec.steps)]
        task = Task(next(self.task_numbers), job, runner, self.now // S * S, self.now, steps, key)
        self.tasks[task.number] = task
        job.status, job.task, job.updated = "running", task.number, self.now
        return task

    def _fits(self, runner: Runner, job: Job) -> bool:
        if runner.repo and runner.repo != job.repo:
            return False
        if not job.spec.runs_on:
            return self.rules.empty_runs_on_matches
        return bool(runner.labels or not self.rules.forgejo) and set(job.spec.runs_on) <= set(runner.labels)

    def _message(self, task: Task) -> tuple[Any, ...]:
        needs = {}
        for name in task.job.spec.needs:
            needed = next(job for job in self._family(task.job) if job.spec.name == name)
            outputs = self.tasks[needed.task].outputs if needed.task else {}
            needs[name] = (needed.status, dict(outputs))
        return (task.number, task.job.run, task.job.spec.name, needs)

    def _family(self, job: Job) -> list[Job]:
        return self.runs[job.run - 1].jobs

    def _report_steps(self, task: Task, sent: Mapping[int, Mapping[str, int]]) -> None:
        for number, step in enumerate(task.steps):
            given = sent.get(number)
            result = given.get("result", 0) if given else 0
            start = given.get("started", 0) // S * S if given else step.started
            if given:
                step.log_index = given.get("log_index", 0) or step.log_index
                step.log_length = given.get("log_length", 0) or step.log_length
                step.started = start or step.started
                step.stopped = given.get("stopped", 0) // S * S or step.stopped
            if result:
                step.status = RESULTS[result]
            elif start:
                step.status = "running"

    def _finish_job(self, job: Job, status: str, task: Task | None = None) -> None:
        if job.status in FINAL or (task is not None and job.task != task.number):
            return
        job.status, job.updated = status, self.now
        if self.rules.bumps_on_finish:
            self.ended.add(job.repo)

    def _remove_ephemeral(self, runner: Runner) -> None:
        if runner.ephemeral:
            runner.gone = True

    def _stop(self, task: Task, status: str, *, seal: bool = False) -> None:
        status = "cancelled" if task.status == "cancelling" else status
        task.status, task.updated, task.stopped = status, self.now, self.now // S * S
        task.sealed = task.sealed or (seal and bool(task.lines))
        for step in task.steps:
            if step.status not in FINAL:
                step.status, step.stopped = status, task.stopped
                step.started = step.started or task.stopped
        self._remove_ephemeral(task.runner)
        self._finish_job(task.job, status, task)

    def _stop_all(self, dead: Sequence[Task]) -> None:
        for task in dead:
            self._stop(task, "failure", seal=True)
        self._resolve_after_stop([task.job.run for task in dead])

    def _resolve_after_stop(self, runs: Sequence[int]) -> None:
        if self.rules.resolves_after_stop:
            for number in sorted(set(runs)):
                self._resolve(self.runs[number - 1])

    def _resolve(self, run: Run) -> None:
        moved = True
        while moved:
            moved = False
            status = {job.spec.name: job.status for job in run.jobs}
            for job in run.jobs:
                needed = [status[name] for name in job.spec.needs]
                if job.status != "blocked" or any(one not in FINAL for one in needed):
                    continue
                moved = True
                if job.spec.always or all(one == "success" for one in needed):
                    job.status, job.updated = "waiting", self.now
                    self._bump(owner=True, repo=run.repo)
                else:
                    self._finish_job(job, "skipped")

    # --- what a person sees
    def _overall(self, have: set[str]) -> str:
        """Return the status of several jobs together."""
        if self.rules.run_order == "1.22":
            if have <= set(FINAL):
                return "failure" if have & {"failure", "cancelled"} else "success"
            return "waiting" if have <= {"waiting", "blocked"} else "running"
        if have == {"skipped"}:
            return "skipped"
        if have <= {"success", "skipped"}:
            return "success"
        order = {
            "1.27": ("cancelling", "running", "waiting", "blocked", "cancelled"),
            "1.25": ("cancelled", "running", "waiting", "failure", "blocked"),
            "forgejo": ("cancelled", "failure", "running", "waiting", "blocked"),
        }[self.rules.run_order]
        return next((status for status in order if status in have), "failure")

    def snapshot(self) -> dict[str, Any]:
        """Return runs with jobs, and tasks with steps, outputs and log."""
        return {
            "runs": [
                {
                    "status": self._overall({job.status for job in run.jobs}),
                    "jobs": [(job.spec.name, job.status, job.task) for job in run.jobs],
                }
                for run in self.runs
            ],
            "tasks": {
                number: {
                    "status": task.status,
                    "steps": [(s.status, s.log_index, s.log_length, s.started, s.stopped) for s in task.steps],
                    "outputs": task.outputs,
                    "sealed": task.sealed,
                    "log": task.lines,
                }
                for number, task in self.tasks.items()
            },
            "runners": [runner.number for runner in self.runners if not runner.gone],
        }
