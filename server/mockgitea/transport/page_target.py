"""Finding what a page URL points at: the run, the shown attempt, the job and its task, per style of URL.

Runs on a reader connection inside one snapshot. It knows how each release reads the numbers of a URL and what it
answers when there is nothing; it does not know HTTP.
Source: docs/protocol.md, "Page".
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from mockgitea.core.errors import NotFound
from mockgitea.core.page_links import PageLinks, pull_number_of_ref
from mockgitea.core.page_shapes import RunView
from mockgitea.core.profiles import PageUrls, Profile
from mockgitea.storage import page_queries, summaries
from mockgitea.storage.page_queries import Row, TaskRecord
from mockgitea.ui.markdown import rendered

NUMBER_DIGITS_MAX: Final = 18
"""Numbers in URLs are 64-bit; longer ones name nothing."""


class PageFailure(Exception):
    """The request is answered 500, as a real server does: the page would have to show something that does not exist."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageUrl:
    """The variable parts of a page URL, as they were written; empty = not in this URL."""

    owner: str
    name: str
    run: str
    job: str = ""
    attempt: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a page URL points at."""

    view: RunView
    job: Row | None = None
    """None on a summary page."""
    job_index: int = 0
    """0-based position of the job among those shown."""
    task: TaskRecord | None = None
    """None while the job has no task."""
    tasks: Sequence[Row] | None = None
    """All tasks of the job, newest first, where the page lists attempts and there is one."""


def resolve(conn: Connection, profile: Profile, url: PageUrl, now_us: int) -> Target:
    """Return what this URL points at.

    Raises:
        NotFound: no such repository, run or job.
        PageFailure: the job has tasks, but none of the attempt in the URL.
    """
    repository = find_repository(conn, url)
    run = find_run(conn, profile, repository, url)
    links = PageLinks(repository["owner_name"], repository["name"], profile.page_urls)
    if profile.page_urls is PageUrls.IDS:
        return by_ids(conn, profile, run, links, job_id=url.job, attempt=url.attempt, now_us=now_us)
    jobs = page_queries.jobs_of_run(conn, run["id"])
    if not jobs:
        raise NotFound("run: it has no jobs")
    index = number(url.job)
    # An index out of range shows the first job, as the real servers do.
    index = index if 0 <= index < len(jobs) else 0
    view = RunView(run=run, jobs=jobs, links=links, now_us=now_us)
    if profile.page_urls is PageUrls.ATTEMPT:
        return _of_attempt(conn, view, jobs[index], index, number(url.attempt))
    job = jobs[index]
    return Target(view=view, job=job, job_index=index, task=_task_of(conn, job))


def find_repository(conn: Connection, url: PageUrl) -> Row:
    """Return the repository of a page URL; raises `NotFound`."""
    repository = page_queries.repository_named(conn, url.owner, url.name)
    if repository is None:
        raise NotFound(f"repository: {url.owner}/{url.name} does not exist")
    return repository


def find_run(conn: Connection, profile: Profile, repository: Row, url: PageUrl) -> Row:
    """Return the run of a page URL: by id (or `latest`), or by its number in the repository; raises `NotFound`."""
    repo_id = repository["id"]
    if profile.page_urls is not PageUrls.IDS:
        run = page_queries.run_by_number(conn, repo_id, number(url.run))
    elif url.run == "latest":
        run = page_queries.latest_run(conn, repo_id)
    else:
        run = page_queries.run_by_id(conn, number(url.run), repo_id=repo_id)
    if run is None:
        raise NotFound(f"run: {url.owner}/{url.name} has no run {url.run}")
    return run


def by_ids(
    conn: Connection, profile: Profile, run: Row, links: PageLinks, *, job_id: str, attempt: str, now_us: int
) -> Target:
    """Return the target of a URL that names run and job by row ids, and possibly an attempt by its number."""
    job = page_queries.job_by_id(conn, number(job_id), run_id=run["id"]) if job_id else None
    if job_id and job is None:
        raise NotFound(f"job: run {run['id']} has no job {job_id}")
    attempts = page_queries.attempts_of_run(conn, run["id"]) if profile.rerun_clones_jobs else ()
    shown = _shown_attempt(attempts, job, attempt)
    jobs = page_queries.jobs_of_run(conn, run["id"], attempt=None if shown is None else shown["number"])
    if not jobs:
        raise NotFound(f"run: run {run['id']} has no jobs")
    view = RunView(
        run=run,
        jobs=jobs,
        links=links,
        now_us=now_us,
        attempts=attempts,
        attempt=shown,
        pull_request=_pull_request(conn, run),
        summaries=_summaries(conn, run) if profile.has_job_summaries else {},
    )
    if job is None:
        return Target(view=view)
    index = next((place for place, one in enumerate(jobs) if one["id"] == job["id"]), 0)
    task = _task_of(conn, job)
    lists_attempts = task is not None and profile.page_urls is PageUrls.ATTEMPT
    tasks = page_queries.tasks_of_job(conn, job["id"]) if lists_attempts else None
    return Target(view=view, job=job, job_index=index, task=task, tasks=tasks)


def _summaries(conn: Connection, run: Row) -> dict[int, str]:
    return {job_id: rendered(body) for job_id, body in summaries.of_run(conn, run["id"]).items()}


def number(text: str) -> int:
    """Return a number in a URL; anything else reads as 0, which names nothing."""
    return int(text) if is_number(text) else 0


def is_number(text: str) -> bool:
    """Tell whether a part of a URL is a number that may name something."""
    return text.isascii() and text.isdigit() and len(text) <= NUMBER_DIGITS_MAX


def _of_attempt(conn: Connection, view: RunView, job: Row, index: int, attempt: int) -> Target:
    if not job["task_id"]:
        return Target(view=view, job=job, job_index=index)
    task = page_queries.task_of_attempt(conn, job["id"], attempt)
    if task is None:
        raise PageFailure(f"attempt: job {job['id']} has no task of attempt {attempt}")
    tasks = page_queries.tasks_of_job(conn, job["id"])
    return Target(view=view, job=job, job_index=index, task=task, tasks=tasks)


def _shown_attempt(attempts: Sequence[Row], job: Row | None, asked: str) -> Row | None:
    if asked:
        wanted = number(asked)
    elif job is not None:
        wanted = job["attempt"]
    else:
        return attempts[-1] if attempts else None
    shown = next((one for one in attempts if one["number"] == wanted), None)
    if shown is None and asked:
        raise NotFound(f"attempt: the run has no attempt {asked}")
    return shown


def _task_of(conn: Connection, job: Row) -> TaskRecord | None:
    task_id = page_queries.effective_task_id(job)
    return page_queries.task_by_id(conn, task_id) if task_id else None


def _pull_request(conn: Connection, run: Row) -> int:
    if found := pull_number_of_ref(run["ref"]):
        return found
    return page_queries.pull_request_number(conn, run["id"]) if run["event"].startswith("pull_request") else 0
