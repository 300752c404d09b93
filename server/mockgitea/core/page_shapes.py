"""The page's JSON, per release: from stored values to the answer of the polling endpoint.

Pure: it takes plain mappings (rows of the run, job and task tables) and returns JSON-like values. Which parts exist is
decided by the profile's `page_shape`; how rows are cut into steps is decided in `core.slicing`.
Source: docs/protocol.md, "Page".
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from actionswire.result import Status
from mockgitea.core.durations import duration_text
from mockgitea.core.page_links import PageLinks
from mockgitea.core.page_words import detail_text, escape, forgejo_description, forgejo_details, time_since_html
from mockgitea.core.profiles import Profile
from mockgitea.core.slicing import StepSlice

Json = dict[str, Any]

_SECOND_US: Final = 1_000_000
_RERUN_STATUSES: Final = frozenset({Status.FAILURE, Status.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunView:
    """One run as it is looked at: the run row, the jobs of the shown attempt and where its links lead."""

    run: Mapping[str, Any]
    jobs: Sequence[Mapping[str, Any]]
    links: PageLinks
    now_us: int
    attempts: Sequence[Mapping[str, Any]] = ()
    attempt: Mapping[str, Any] | None = None
    """The shown attempt's record; None where there are no records."""
    pull_request: int = 0
    summaries: Mapping[int, str] = field(default_factory=dict)
    """By job, the HTML of its summary; jobs without one are missing."""

    def job_summaries(self) -> list[tuple[Mapping[str, Any], str]]:
        """Return the jobs that have a summary, in order, each with its HTML."""
        return [(job, self.summaries[job["id"]]) for job in self.jobs if job["id"] in self.summaries]

    @property
    def is_latest(self) -> bool:
        """True when the newest attempt is shown."""
        return self.attempt is None or not self.attempts or self.attempt["number"] == self.attempts[-1]["number"]

    @property
    def timed(self) -> Mapping[str, Any]:
        """The row with status and times of what is shown: an older attempt's own, else the run's."""
        return self.run if self.is_latest or self.attempt is None else self.attempt

    @property
    def status(self) -> Status:
        """Status of what is shown."""
        return Status(self.timed["status"])


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """The job that is looked at, with its steps as shown and the logs asked for."""

    job: Mapping[str, Any]
    steps: Sequence[StepSlice] = ()
    logs: Sequence[Json] = field(default_factory=list)
    tasks: Sequence[Mapping[str, Any]] | None = None
    """Every task of the job, newest first, where the page lists attempts; None while it has no task."""


def page_answer(profile: Profile, view: RunView, job: JobView | None) -> Json:
    """Return the whole answer of the polling endpoint.

    Args:
        profile: decides the shape.
        view: the run.
        job: the job looked at; None on the summary page.

    Source: docs/protocol.md, "Page".
    """
    run_shape, job_shape, has_artifacts = _SHAPES[profile.page_shape]
    answer: Json = {"artifacts": []} if has_artifacts else {}
    answer["state"] = {"run": run_shape(profile, view), "currentJob": job_shape(view, job)}
    answer["logs"] = {"stepsLog": None if job is None else list(job.logs)}
    return answer


def step_log(step_index: int, step: StepSlice, cursor: int, lines: list[Json]) -> Json:
    """Return one entry of `logs.stepsLog`; the new cursor is the old one plus the rows served."""
    return {
        "step": step_index,
        "cursor": cursor + len(lines),
        "lines": lines,
        "started": step.started_us // _SECOND_US,
    }


def expired_log(step_index: int, step: StepSlice, updated_us: int) -> Json:
    """Return the one line shown, for cursor 0 only, when a task's log was removed after its retention."""
    line = {"index": 1, "message": "Logs have been cleaned up.", "timestamp": updated_us / _SECOND_US}
    return step_log(step_index, step, 0, [line])


def is_done(view: RunView, *, counts_jobs: bool) -> bool:
    """Tell whether the page may stop polling.

    Args:
        view: the run.
        counts_jobs: every job has to be final too (Forgejo, where one final job can make the run final).
    """
    done = view.status.is_final
    return done and (not counts_jobs or all(Status(job["status"]).is_final for job in view.jobs))


def _run_gitea_1_21(profile: Profile, view: RunView) -> Json:
    run, done = view.run, is_done(view, counts_jobs=False)
    can_rerun = view.is_latest and done
    return {
        "link": view.links.run(run),
        "title": run["title"],
        "titleHTML": escape(run["title"]),
        "status": view.status.text,
        "canCancel": view.is_latest and not done and view.status is not Status.CANCELLING,
        "canApprove": view.is_latest and bool(run["needs_approval"]),
        "canRerun": can_rerun,
        "canDeleteArtifact": done,
        "done": done,
        "workflowID": run["workflow_file"],
        "workflowLink": view.links.workflow(run) if view.is_latest else "",
        "isSchedule": run["event"] == "schedule",
        "jobs": [_gitea_job(profile, view, index, can_rerun=can_rerun) for index in range(len(view.jobs))],
        "commit": _commit(view),
    }


def _run_gitea_1_26(profile: Profile, view: RunView) -> Json:
    shown = _run_gitea_1_21(profile, view)
    timed = view.timed
    failed = any(Status(job["status"]) in _RERUN_STATUSES for job in view.jobs)
    shown["repoId"] = view.run["repo_id"]
    shown["canRerunFailed"] = shown["canRerun"] and failed
    shown["duration"] = duration_text(timed["started_us"], timed["stopped_us"], view.status, view.now_us)
    shown["triggeredAt"] = (view.attempt or view.run)["created_us"] // _SECOND_US
    shown["triggerEvent"] = view.run["event"]
    return shown


def _run_gitea_1_27(profile: Profile, view: RunView) -> Json:
    shown = _run_gitea_1_26(profile, view)
    run, number = view.run, view.run["attempt"] if view.attempt is None else view.attempt["number"]
    shown["viewLink"] = view.links.run(run) if view.is_latest else view.links.attempt(run, number)
    shown["index"] = run["number"]
    shown["canViewWorkflowFile"] = True
    shown["runAttempt"] = number
    shown["attempts"] = [_attempt(view, one, shown_number=number) for one in view.attempts]
    for job in shown["jobs"]:
        job |= {"parentJobID": 0, "isReusableCaller": False}
    if summaries := view.job_summaries():
        shown["jobSummaries"] = [
            {"jobId": job["id"], "jobName": job["name"], "summaryHTML": html} for job, html in summaries
        ]
    if view.pull_request:
        shown["pullRequest"] = {"index": f"#{view.pull_request}", "link": view.links.pull_request(view.pull_request)}
    return shown


def _attempt(view: RunView, attempt: Mapping[str, Any], *, shown_number: int) -> Json:
    number, user = attempt["number"], attempt["triggering_actor"] or view.run["actor"]
    is_latest = number == view.attempts[-1]["number"]
    status = Status((view.run if is_latest else attempt)["status"])
    return {
        "attempt": number,
        "status": status.text,
        "done": status.is_final,
        "link": view.links.run(view.run) if is_latest else view.links.attempt(view.run, number),
        "current": number == shown_number,
        "latest": is_latest,
        "triggeredAt": attempt["created_us"] // _SECOND_US,
        "triggerUserName": user,
        "triggerUserLink": view.links.user(user),
        "triggerUserAvatar": "",
    }


def _gitea_job(profile: Profile, view: RunView, index: int, *, can_rerun: bool) -> Json:
    job = view.jobs[index]
    status = Status(job["status"])
    shown = {
        "id": job["id"],
        "link": view.links.job(view.run, job, index),
        "jobId": job["job_id"],
        "name": job["name"],
        "status": status.text,
        "canRerun": can_rerun if profile.rerun_needs_final_run else status.is_final,
        "duration": duration_text(job["started_us"], job["stopped_us"], status, view.now_us),
        "needs": list(job["needs"]),
    }
    return {key: value for key, value in shown.items() if value or key not in ("jobId", "needs")}


def _commit(view: RunView) -> Json:
    run, links = view.run, view.links
    name, link = links.branch(run["ref"])
    return {
        "shortSHA": run["commit_sha"][:10],
        "link": links.commit(run["commit_sha"]),
        "pusher": {"displayName": run["actor"], "link": links.user(run["actor"])},
        "branch": {"name": name, "link": link, "isDeleted": False},
    }


def _run_forgejo(profile: Profile, view: RunView) -> Json:
    run, done = view.run, is_done(view, counts_jobs=True)
    return {
        "link": view.links.run(run),
        "title": run["title"],
        "titleHTML": escape(run["title"]),
        "status": view.status.text,
        "description": forgejo_description(run, view.links),
        "canCancel": not done,
        "canApprove": bool(run["needs_approval"]),
        "canRerun": view.status.is_final,
        "canDeleteArtifact": view.status.is_final,
        "canDelete": view.status.is_final,
        "done": done,
        "jobs": [_forgejo_job(job, view.now_us) for job in view.jobs],
        "commit": {"localeWorkflow": "Workflow", "localeAllRuns": "all runs", **_commit(view)},
        "preExecutionError": "",
        "preExecutionWarnings": [],
    }


def _forgejo_job(job: Mapping[str, Any], now_us: int) -> Json:
    status = Status(job["status"])
    return {
        "id": job["id"],
        "name": job["name"],
        "status": status.text,
        "canRerun": status.is_final,
        "duration": duration_text(job["started_us"], job["stopped_us"], status, now_us),
    }


def _job_with_detail(view: RunView, job: JobView | None) -> Json:
    if job is None:
        return {"title": "", "detail": "", "steps": None}
    detail = detail_text(view.run, job.job, view.jobs)
    return {"title": job.job["name"], "detail": detail, "steps": _steps(view, job)}


def _job_with_attempts(view: RunView, job: JobView | None) -> Json:
    if job is None:
        return {"title": "", "details": [], "steps": None, "allAttempts": None}
    details = forgejo_details(view.run, job.job)
    attempts = None if job.tasks is None else [_task_attempt(view, job.job, task) for task in job.tasks]
    return {"title": job.job["name"], "details": details, "steps": _steps(view, job), "allAttempts": attempts}


def _task_attempt(view: RunView, job: Mapping[str, Any], task: Mapping[str, Any]) -> Json:
    status = Status(task["status"])
    return {
        "number": task["attempt"],
        "time_since_started_html": time_since_html(task["started_us"]),
        "status": status.text,
        "status_diagnostics": forgejo_details(view.run, {**job, "status": status}),
    }


def _steps(view: RunView, job: JobView) -> list[Json]:
    return [
        {
            "summary": step.name,
            "duration": duration_text(step.started_us, step.stopped_us, step.status, view.now_us),
            "status": step.status.text,
        }
        for step in job.steps
    ]


_RunShape = Callable[[Profile, RunView], Json]
_JobShape = Callable[[RunView, JobView | None], Json]
_SHAPES: Final[dict[str, tuple[_RunShape, _JobShape, bool]]] = {
    "gitea-1.21": (_run_gitea_1_21, _job_with_detail, True),
    "gitea-1.26": (_run_gitea_1_26, _job_with_detail, True),
    "gitea-1.27": (_run_gitea_1_27, _job_with_detail, True),
    "forgejo-11": (_run_forgejo, _job_with_detail, False),
    "forgejo-15": (_run_forgejo, _job_with_attempts, False),
}
