"""The page's JSON per release: which keys exist, what they say, what is left out."""

from dataclasses import replace
from typing import Any

import pytest

from actionswire.result import Status
from mockgitea.core.page_links import PageLinks
from mockgitea.core.page_shapes import JobView, RunView, expired_log, is_done, page_answer, step_log
from mockgitea.core.profiles import PROFILES, PageUrls, Profile
from mockgitea.core.slicing import StepSlice

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
RUN: dict[str, Any] = {
    "id": 7, "repo_id": 4, "number": 3, "title": "Fix <b>it</b>", "status": int(Status.RUNNING), "attempt": 2,
    "needs_approval": False, "workflow_file": "ci.yaml", "event": "push", "ref": "refs/heads/main",
    "commit_sha": "0123456789abcdef", "actor": "ada", "created_us": START - SECOND, "started_us": START,
    "stopped_us": 0,
}  # fmt: skip
JOB: dict[str, Any] = {
    "id": 11, "job_id": "build", "name": "build (a)", "status": int(Status.RUNNING), "needs": ["lint"], "attempt": 2,
    "runs_on": ["linux"], "started_us": START, "stopped_us": 0, "failure_reason": "",
}  # fmt: skip
ATTEMPTS: list[dict[str, Any]] = [
    {"number": 1, "status": 2, "triggering_actor": "ada", "created_us": START - 60 * SECOND,
     "started_us": START - 50 * SECOND, "stopped_us": START - 48 * SECOND},
    {"number": 2, "status": 6, "triggering_actor": "bob", "created_us": START, "started_us": START, "stopped_us": 0},
]  # fmt: skip
GITEA_RUN = {
    "link", "title", "titleHTML", "status", "canCancel", "canApprove", "canRerun", "canDeleteArtifact", "done",
    "workflowID", "workflowLink", "isSchedule", "jobs", "commit",
}  # fmt: skip
SINCE_1_26 = {"repoId", "canRerunFailed", "duration", "triggeredAt", "triggerEvent"}
SINCE_1_27 = {"index", "viewLink", "canViewWorkflowFile", "runAttempt", "attempts"}
FORGEJO_RUN = {
    "link", "title", "titleHTML", "status", "description", "canCancel", "canApprove", "canRerun", "canDeleteArtifact",
    "canDelete", "done", "jobs", "commit", "preExecutionError", "preExecutionWarnings",
}  # fmt: skip


def profile(shape: str) -> Profile:
    family = "forgejo-15" if shape.startswith("forgejo") else "gitea-1.27"
    return replace(PROFILES[family], page_shape=shape)


def view(style: PageUrls = PageUrls.IDS, **changes: Any) -> RunView:
    run = RUN | changes.pop("run", {})
    links = PageLinks("demo", "app", style)
    return RunView(run=run, jobs=changes.pop("jobs", [JOB]), links=links, now_us=START + 62 * SECOND, **changes)


def latest(**changes: Any) -> RunView:
    return view(attempts=ATTEMPTS, attempt=ATTEMPTS[1], **changes)


@pytest.mark.parametrize(
    ("shape", "keys"),
    [
        ("gitea-1.21", GITEA_RUN),
        ("gitea-1.26", GITEA_RUN | SINCE_1_26),
        ("gitea-1.27", GITEA_RUN | SINCE_1_26 | SINCE_1_27),
        ("forgejo-11", FORGEJO_RUN),
        ("forgejo-15", FORGEJO_RUN),
    ],
)
def test_run_part_has_exactly_the_keys_of_its_release(shape: str, keys: set[str]) -> None:
    answer = page_answer(profile(shape), latest(), JobView(job=JOB))
    assert set(answer["state"]["run"]) == keys
    assert ("artifacts" in answer) is shape.startswith("gitea")
    assert set(answer) - {"artifacts"} == {"state", "logs"}


def test_current_job_part_follows_the_release() -> None:
    keys = {
        shape: set(page_answer(profile(shape), latest(), JobView(job=JOB))["state"]["currentJob"])
        for shape in ("gitea-1.27", "forgejo-11", "forgejo-15")
    }
    assert keys == {
        "gitea-1.27": {"title", "detail", "steps"},
        "forgejo-11": {"title", "detail", "steps"},
        "forgejo-15": {"title", "details", "steps", "allAttempts"},
    }


def test_newest_gitea_run_says_where_it_stands() -> None:
    run = page_answer(profile("gitea-1.27"), latest(), None)["state"]["run"]
    assert run["link"] == run["viewLink"] == "/demo/app/actions/runs/7"
    assert (run["titleHTML"], run["title"]) == ("Fix &lt;b&gt;it&lt;/b&gt;", "Fix <b>it</b>")
    assert (run["status"], run["done"], run["canCancel"], run["canRerun"]) == ("running", False, True, False)
    assert (run["duration"], run["triggeredAt"], run["triggerEvent"]) == ("1m2s", START // SECOND, "push")
    assert run["workflowLink"] == "/demo/app/actions/?workflow=ci.yaml"
    assert run["commit"] == {
        "shortSHA": "0123456789",
        "link": "/demo/app/commit/0123456789abcdef",
        "pusher": {"displayName": "ada", "link": "/ada"},
        "branch": {"name": "main", "link": "/demo/app/src/branch/main", "isDeleted": False},
    }
    assert run["jobs"] == [
        {
            "id": 11, "link": "/demo/app/actions/runs/7/jobs/11", "jobId": "build", "name": "build (a)",
            "status": "running", "canRerun": False, "duration": "1m2s", "needs": ["lint"], "parentJobID": 0,
            "isReusableCaller": False,
        }
    ]  # fmt: skip
    assert [(one["attempt"], one["status"], one["current"], one["latest"], one["link"]) for one in run["attempts"]] == [
        (1, "failure", False, False, "/demo/app/actions/runs/7/attempts/1"),
        (2, "running", True, True, "/demo/app/actions/runs/7"),
    ]


def test_empty_needs_and_missing_pull_request_are_left_out() -> None:
    bare = latest(jobs=[JOB | {"needs": [], "job_id": ""}])
    run = page_answer(profile("gitea-1.27"), bare, None)["state"]["run"]
    assert not {"needs", "jobId"} & set(run["jobs"][0])
    assert "pullRequest" not in run
    pull = page_answer(profile("gitea-1.27"), latest(pull_request=7), None)["state"]["run"]["pullRequest"]
    assert pull == {"index": "#7", "link": "/demo/app/pulls/7"}


@pytest.mark.parametrize(
    ("status", "can_cancel", "can_rerun"),
    [(Status.WAITING, True, False), (Status.CANCELLING, False, False), (Status.FAILURE, False, True)],
)
def test_buttons_follow_the_runs_status(status: Status, *, can_cancel: bool, can_rerun: bool) -> None:
    shown = latest(run={"status": int(status)}, jobs=[JOB | {"status": int(status)}])
    run = page_answer(profile("gitea-1.27"), shown, None)["state"]["run"]
    assert (run["canCancel"], run["canRerun"], run["canRerunFailed"]) == (can_cancel, can_rerun, can_rerun)
    assert run["jobs"][0]["canRerun"] is can_rerun


def test_forgejo_is_done_only_when_run_and_every_job_are_final() -> None:
    failed = view(run={"status": int(Status.FAILURE)})
    assert is_done(failed, counts_jobs=False)
    assert not is_done(failed, counts_jobs=True)
    run = page_answer(profile("forgejo-15"), failed, JobView(job=JOB))["state"]["run"]
    assert (run["status"], run["done"], run["canCancel"], run["canRerun"]) == ("failure", False, True, True)


def test_summary_has_no_steps_and_no_logs() -> None:
    answer = page_answer(profile("gitea-1.27"), latest(), None)
    assert answer["state"]["currentJob"] == {"title": "", "detail": "", "steps": None}
    assert answer["logs"] == {"stepsLog": None}


def test_job_without_task_has_empty_lists_and_no_attempts() -> None:
    answer = page_answer(profile("forgejo-15"), view(PageUrls.ATTEMPT), JobView(job=JOB))
    assert answer["state"]["currentJob"]["steps"] == []
    assert answer["state"]["currentJob"]["allAttempts"] is None
    assert answer["logs"] == {"stepsLog": []}


def test_forgejo_lists_every_attempt_with_its_state() -> None:
    tasks = [{"attempt": 2, "status": 6, "started_us": START}, {"attempt": 1, "status": 2, "started_us": 0}]
    job = page_answer(profile("forgejo-15"), view(), JobView(job=JOB, tasks=tasks))["state"]["currentJob"]
    assert [(one["number"], one["status"], one["status_diagnostics"]) for one in job["allAttempts"]] == [
        (2, "running", ["Running"]),
        (1, "failure", ["Failure"]),
    ]
    assert "2023-11-14T22:13:20Z" in job["allAttempts"][0]["time_since_started_html"]


@pytest.mark.parametrize(
    ("job", "siblings", "run", "expected"),
    [
        ({"status": 5}, [], {}, "Waiting for a runner with the labels: linux"),
        ({"status": 7}, [{"job_id": "lint", "status": 6}], {}, "Waiting for other jobs to finish: lint"),
        ({"status": 7}, [{"job_id": "lint", "status": 1}], {}, "Blocked"),
        ({"status": 2, "failure_reason": "no steps"}, [], {}, "no steps"),
        ({"status": 3}, [], {}, "Canceled"),
        ({"status": 7}, [], {"needs_approval": True}, "This run needs approval before its jobs may start."),
    ],
)
def test_detail_says_why_a_job_does_not_run(
    job: dict[str, Any], siblings: list[dict[str, Any]], run: dict[str, Any], expected: str
) -> None:
    current = JOB | job
    shown = latest(run=run, jobs=[current, *[JOB | other for other in siblings]])
    answer = page_answer(profile("gitea-1.27"), shown, JobView(job=current))
    assert answer["state"]["currentJob"]["detail"] == expected


def test_forgejo_details_say_why_a_job_failed_before_any_runner_saw_it() -> None:
    spoilt = JOB | {"status": 2, "failure_reason": "runs-on: <nothing>"}
    shown = page_answer(profile("forgejo-15"), latest(jobs=[spoilt]), JobView(job=spoilt))
    assert shown["state"]["currentJob"]["details"] == ["runs-on: &lt;nothing&gt;"]


def test_forgejo_html_escapes_what_people_wrote() -> None:
    hostile = view(run={"actor": "<i>", "title": "<i>", "commit_sha": "<i>"})
    answer = page_answer(profile("forgejo-15"), hostile, JobView(job=JOB | {"status": 5, "runs_on": ["<i>"]}))
    assert "<i>" not in answer["state"]["run"]["description"]
    assert "<i>" not in answer["state"]["currentJob"]["details"][0]


@pytest.mark.parametrize(
    ("style", "job", "run"),
    [
        (PageUrls.IDS, "/demo/app/actions/runs/7/jobs/11", "/demo/app/actions/runs/7"),
        (PageUrls.INDEX, "/demo/app/actions/runs/3/jobs/0", "/demo/app/actions/runs/3"),
        (PageUrls.ATTEMPT, "/demo/app/actions/runs/3/jobs/0/attempt/2", "/demo/app/actions/runs/3"),
    ],
)
def test_links_follow_the_style_of_url(style: PageUrls, job: str, run: str) -> None:
    links = PageLinks("demo", "app", style)
    assert (links.job(RUN, JOB, 0), links.run(RUN)) == (job, run)


@pytest.mark.parametrize(
    ("ref", "name", "link"),
    [
        ("refs/heads/feat/x y", "feat/x y", "/demo/app/src/branch/feat/x%20y"),
        ("refs/tags/v1", "v1", "/demo/app/src/tag/v1"),
        ("refs/pull/7/head", "#7", "/demo/app/pulls/7"),
    ],
)
def test_branch_of_a_ref_is_short_and_linked(ref: str, name: str, link: str) -> None:
    assert PageLinks("demo", "app", PageUrls.IDS).branch(ref) == (name, link)


def test_step_log_moves_the_cursor_by_what_it_serves() -> None:
    step = StepSlice(name="x", status=Status.RUNNING, started_us=START + 999_999)
    assert step_log(2, step, 5, [{}, {}]) == {"step": 2, "cursor": 7, "lines": [{}, {}], "started": START // SECOND}
    expired = expired_log(1, step, START + 500_000)
    assert (expired["cursor"], expired["lines"][0]["index"], expired["lines"][0]["timestamp"]) == (
        1, 1, 1_700_000_000.5,
    )  # fmt: skip
