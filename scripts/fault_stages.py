"""The stages of `make demo-faults`: each stages one bad day on running processes and says what came of it.

Knows the control API through `Playground`; the figures are `traffic`'s, the verdicts' form is `verdicts`'.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fleet import WAIT_S_MAX, calls, ended, enqueue, is_alive, rows_of, status, task_of, until
from playground import Playground
from traffic import Figures, Window, measure
from verdicts import Story

from actionswire.headers import REQUEST_KEY

ROW_S = 0.5
HERD_MAX = 3.0
BACK_S_MAX = 3.0
EDGE_S = 0.05  # a call that begins so close to an end of the window may be judged on its other side
ZOMBIE_S = 660.0


@dataclass(frozen=True)
class Spans:
    """How long the fleet is watched before, during and after its downtime, in seconds."""

    before_s: float
    down_s: float
    after_s: float

    @property
    def total_s(self) -> float:
        """All three together."""
        return self.before_s + self.down_s + self.after_s


@dataclass(frozen=True)
class Watched:
    """A downtime that was watched: its window and the beginnings of all calls, in seconds from the start."""

    window: Window
    times_s: list[float]
    figures: Figures


def downtime(ground: Playground, story: Story, spans: Spans, runners: int) -> Watched:
    """Take the port away under a fleet with running jobs, and look who comes back when."""
    story.chapter(
        f"Downtime: {spans.down_s:.0f} s",
        f"{runners} runners poll, and {runners} jobs print a row every {ROW_S:g} s. Then every call gets 503"
        " (a planned downtime, so that tries can be counted).",
    )
    count = round((spans.total_s + 1) / ROW_S)
    script = f"i=0; while [ $i -lt {count} ]; do i=$((i+1)); echo row $i; sleep {ROW_S:g}; done"
    runs = [enqueue(ground, f"steady-{number}", script) for number in range(1, runners + 1)]
    is_busy = until(lambda: all("row 1" in rows_of(ground, run) for run in runs))
    story.check("a healthy fleet, every job running", "all rows flow" if is_busy else "a job is stuck", is_met=is_busy)
    start_us = ground.control("GET", "/clock")["now_us"]
    time.sleep(spans.before_s)
    rule = {"name": "outage", "kind": "planned", "duration_s": spans.down_s}
    opened = ground.control("POST", "/downtime", json=rule)
    time.sleep(spans.down_s + spans.after_s)
    down_s, up_s = (_micros(opened[key]) - start_us for key in ("starts_at", "ends_at"))
    window = Window(down_s / 1e6, up_s / 1e6, up_s / 1e6 + spans.after_s)
    entries = calls(ground, after_us=start_us, before_us=start_us + int(window.end_s * 1e6))
    times_s = [(_micros(entry["at"]) - start_us) / 1e6 for entry in entries]
    watched = Watched(window, times_s, measure(times_s, window))
    _judge_downtime(story, watched, entries, start_us, runners)
    good = sum(ended(ground, run) == "success" for run in runs)
    wanted = [f"row {number}" for number in range(1, count + 1)]
    whole = sum([row for row in rows_of(ground, run) if row.startswith("row ")] == wanted for run in runs)
    seen = f"{good} of {runners} succeeded, {whole} logs have all {count} rows in order"
    story.check("the jobs outlive the downtime and no row is lost", seen, is_met=good == whole == runners)
    return watched


def _micros(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1e6)


def _judge_downtime(story: Story, watched: Watched, entries: list[dict[str, Any]], start_us: int, runners: int) -> None:
    figures, window = watched.figures, watched.window
    refused = [entry for entry in entries if entry["fault"] == "outage"]
    begins_us, ends_us = (start_us + round(at_s * 1e6) for at_s in (window.down_s + EDGE_S, window.up_s - EDGE_S))
    passed = [entry for entry in entries if begins_us <= _micros(entry["at"]) < ends_us and entry not in refused]
    story.check(
        "every call of the downtime is refused, and nobody hammers the closed door",
        f"{len(refused)} calls got 503, {len(passed)} did not; requests per second: before {figures.before:.1f},"
        f" during {figures.during:.1f}, after {figures.after:.1f}",
        is_met=bool(refused) and not passed and figures.during <= HERD_MAX * figures.before,
    )
    back: dict[str, float] = {}
    for entry in entries:
        at_s = (_micros(entry["at"]) - start_us) / 1e6
        if at_s >= window.up_s and entry["method"] == "FetchTask" and entry["status"] == 200:
            back.setdefault(entry["runner_uuid"], at_s - window.up_s)
    last_s = max(back.values(), default=0.0)
    story.check(
        f"all {runners} runners are back within {BACK_S_MAX:g} s",
        f"{len(back)} are back, the last after {last_s:.1f} s",
        is_met=len(back) == runners and last_s <= BACK_S_MAX,
    )
    story.check(
        f"no herd: the busiest second after recovery is at most {HERD_MAX:g} times the mean before",
        f"{figures.busiest} requests / {figures.before:.1f} = {figures.herd:.2f}",
        is_met=figures.herd <= HERD_MAX,
    )


def lose_task(ground: Playground, name: str) -> tuple[int, int | None]:
    """Enqueue a job and lose the answer that hands it out; returns its run and its task, None if it was never lost.

    Idle fetches may lose their answers as well meanwhile: nobody knows beforehand which fetch will get the job.
    """
    rule = {"name": "lost", "kind": "lose-answer", "method": "FetchTask", "ttl_s": WAIT_S_MAX}
    ground.control("POST", "/faults", json=rule)
    run_id = enqueue(ground, name, "echo hello")
    until(lambda: bool(task_of(ground, run_id)))
    task_id = task_of(ground, run_id).get("id")
    match = {"method": "FetchTask", "fault": "lost", "task": task_id}
    wanted = {"match": match, "n": 1, "within_s": WAIT_S_MAX / 2}
    is_lost = task_id is not None and ground.control("POST", "/journal/wait", json=wanted)["is_met"]
    ground.control("DELETE", "/faults")
    return run_id, task_id if is_lost else None


def recovered(ground: Playground, story: Story) -> None:
    """Lose the answer that hands out a task where the server knows request keys."""
    story.chapter(
        "A lost FetchTask answer, recovered (forgejo-15)",
        "The answer that hands out a task is lost on its way; the runner asks again under the same request key.",
    )
    run_id, task_id = lose_task(ground, "lost-and-found")
    state = ended(ground, run_id)
    handed = calls(ground, method="FetchTask", task=task_id) if task_id else []
    keys = {entry["headers"].get(REQUEST_KEY.lower(), "") for entry in handed}
    lost = sum(entry["outcome"] == "dropped" for entry in handed)
    seen = f"task {task_id}: {lost} answers lost, {len(handed) - lost} arrived, {len(keys)} request key"
    is_same = lost >= 1 and len(handed) - lost == 1 and len(keys) == 1 and "" not in keys
    story.check("the same task comes again by request key", seen, is_met=is_same)
    story.check("the job succeeds", state, is_met=state == "success")


def reaped(ground: Playground, story: Story) -> int | None:
    """Lose such an answer where nobody can ask again; returns the lost task."""
    story.chapter(
        "The same loss, ending in a reaped task (gitea-1.27)",
        "No request key here: the task is assigned, no runner knows of it, and it runs on until the reaper comes.",
    )
    run_id, task_id = lose_task(ground, "lost-for-good")
    runners = len(ground.control("GET", "/runners")["runners"])
    begun = {"match": {"method": "FetchTask", "outcome": "empty"}, "within_s": WAIT_S_MAX}
    settled = len(calls(ground, method="FetchTask", outcome="empty")) + runners
    ground.control("POST", "/journal/wait", json={**begun, "n": settled})
    state = status(ground, run_id)
    reports = len(calls(ground, method=["UpdateTask", "UpdateLog"], task=task_id)) if task_id else 0
    story.check(
        "the task stays running though the runners poll on, and nobody reports on it",
        f"task {task_id}: {state}, {reports} reports",
        is_met=task_id is not None and state == "running" and reports == 0,
    )
    ground.control("POST", "/clock/advance", json={"seconds": ZOMBIE_S})
    ground.control("POST", "/settle")
    state = ended(ground, run_id)
    story.check(
        f"the clock moved on {ZOMBIE_S / 60:g} minutes, the reaper fails the task", state, is_met=state == "failure"
    )
    return task_id


def cancelled(ground: Playground, story: Story) -> None:
    """Cancel a job with children, and look for its processes."""
    story.chapter(
        "Cancel", "A job starts children that would sleep for ten minutes; then its run is cancelled through the API."
    )
    run_id = enqueue(ground, "long", "sleep 600 &\necho pid $$\necho pid $!\nsleep 600")
    until(lambda: len(_pids(ground, run_id)) == 2)
    pids = _pids(ground, run_id)
    alive = sum(is_alive(pid) for pid in pids)
    ground.control("POST", f"/runs/{run_id}/cancel")
    began = time.monotonic()
    state, took_s = ended(ground, run_id), time.monotonic() - began
    story.check("the job ends cancelled", f"{state} after {took_s:.1f} s", is_met=state == "cancelled")
    until(lambda: not any(map(is_alive, pids)))
    left = sum(is_alive(pid) for pid in pids)
    seen = f"{alive} of {len(pids)} processes ran before, {left} run now"
    story.check("its process tree is gone", seen, is_met=alive == 2 and left == 0)


def _pids(ground: Playground, run_id: int) -> list[int]:
    words = [row.split() for row in rows_of(ground, run_id)]
    return [int(row[1]) for row in words if len(row) == 2 and row[0] == "pid" and row[1].isdecimal()]


def audit(ground: Playground, story: Story, capacity: int, lost_task: int | None) -> None:
    """Run `mockgitea audit` on one server; what the staged loss explains is named as expected."""
    names = [runner["name"] for runner in ground.control("GET", "/runners")["runners"]]
    limits = [word for name in names for word in ("--capacity", f"{name}={capacity}")]
    command = [sys.executable, "-m", "mockgitea", "audit", "--json", "--server", ground.control_url, *limits]
    done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S_MAX, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        said = (done.stderr or done.stdout).strip()[-400:]
        story.check("the audit gives a report", said or f"exit code {done.returncode}", is_met=False)
        return
    unexplained = [finding for finding in report["findings"] if not is_explained(finding, lost_task)]
    for finding in report["findings"]:
        word = "expected" if is_explained(finding, lost_task) else "UNEXPECTED"
        story.say(f"{word}: {finding['rule']}: {finding['runner']} task {finding['task']}: {finding['message']}")
    for note in report["notes"]:
        is_lost = lost_task is not None and note.startswith(f"task {lost_task} of ")
        story.say(f"note{' (expected: its answer was lost)' if is_lost else ''}: {note}")
    judged = f"{report['calls']} calls, {report['tasks']} tasks, {report['runners']} runners"
    story.check(
        f"{ground.ready['profile']}: no rule broken but by the staged loss",
        f"{len(unexplained)} unexpected findings in {judged}",
        is_met=not unexplained,
    )


def is_explained(finding: dict[str, Any], lost_task: int | None) -> bool:
    """True for a finding on the task whose answer was lost: its runner never knew of it."""
    return lost_task is not None and finding["task"] == lost_task
