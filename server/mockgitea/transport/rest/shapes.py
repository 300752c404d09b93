"""JSON objects of Gitea's REST v1, from stored rows. Pure; keys, order and omissions as the real server's.

Times that were not reached are the Unix epoch. Keys that Gitea leaves out when empty are left out here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from actionswire.result import Status
from mockgitea.core.page_links import PageLinks
from mockgitea.service.directory import RunnerRecord
from mockgitea.transport.rest.status_words import status_and_conclusion
from mockgitea.transport.times import rfc3339

Row = Mapping[str, Any]
API_PREFIX: Final = "/api/v1"
_HEADS: Final = "refs/heads/"
_NO_TIME: Final = "0001-01-01T00:00:00Z"


class Links:
    """Absolute links for rows of one repository.

    Args:
        base_url: the server as the caller knows it.
        page: links of the page, relative to it.
    """

    def __init__(self, base_url: str, page: PageLinks) -> None:
        self._base = base_url
        self.page = page

    @property
    def api(self) -> str:
        """REST URL of the repository."""
        return f"{self._base}{API_PREFIX}/repos{self.page.repository}"

    @property
    def html(self) -> str:
        """Page of the repository."""
        return self._base + self.page.repository

    def run_api(self, run_id: int) -> str:
        """REST URL of a run."""
        return f"{self.api}/actions/runs/{run_id}"

    def run_html(self, row: Row) -> str:
        """Page of a run given by `id` and `number`."""
        return self._base + self.page.run(row)

    def user_html(self, name: str) -> str:
        """Page of a user."""
        return self._base + self.page.user(name)


def user(name: str, links: Links) -> dict[str, Any]:
    """Show a user, as far as a mock knows one."""
    return {
        "login": name,
        "login_name": "",
        "full_name": "",
        "email": f"{name}@noreply.localhost",
        "avatar_url": "",
        "html_url": links.user_html(name),
        "username": name,
    }


def repository(row: Row, links: Links) -> dict[str, Any]:
    """Show the repository of a row that carries `repo_id`, `owner_name` and `repo_name`."""
    return {
        "id": row["repo_id"],
        "owner": user(row["owner_name"], links),
        "name": row["repo_name"],
        "full_name": f"{row['owner_name']}/{row['repo_name']}",
        "private": False,
        "fork": False,
        "html_url": links.html,
        "url": links.api,
        "clone_url": f"{links.html}.git",
    }


def runner(record: RunnerRecord, now_us: int, *, shows_disabled: bool) -> dict[str, Any]:
    """Show a runner; `disabled` exists on servers that can disable one."""
    status = record.status(now_us)
    shown: dict[str, Any] = {
        "id": record.id,
        "name": record.name,
        "status": "offline" if status == "offline" else "online",
        "busy": status == "active",
    }
    if shows_disabled:
        shown["disabled"] = record.is_disabled
    shown["ephemeral"] = record.is_ephemeral
    shown["labels"] = [{"id": number, "name": name, "type": "custom"} for number, name in enumerate(record.labels)]
    return shown


def run(row: Row, links: Links, *, shows_attempts: bool, attempt: Row | None = None) -> dict[str, Any]:
    """Show a run, or one of its attempts when ``attempt`` is given.

    Args:
        row: the run with `owner_name` and `repo_name`.
        links: where its repository is.
        shows_attempts: the release knows attempts and pull requests of a run.
        attempt: the attempt's row; its number, status and times take the place of the run's.
    """
    held = attempt or row
    number = attempt["number"] if attempt else row["attempt"]
    status, conclusion = status_and_conclusion(held["status"])
    url = links.run_api(row["id"])
    shown: dict[str, Any] = {"id": row["id"], "url": url}
    if shows_attempts:
        shown["previous_attempt_url"] = f"{url}/attempts/{number - 1}" if number > 1 else None
    shown |= {
        "html_url": links.run_html(row),
        "display_title": row["title"],
        "path": f"{row['workflow_file']}@{row['ref']}",
        "event": row["event"],
        "run_attempt": number,
        "run_number": row["number"],
        "head_sha": row["commit_sha"],
        **given("head_branch", _branch(row["ref"])),
        "status": status,
        **given("conclusion", conclusion),
        "actor": user(row["actor"], links),
        "trigger_actor": user(held["triggering_actor"] or row["actor"], links),
        "repository": repository(row, links),
    }
    if shows_attempts:
        shown["pull_requests"] = []
    return shown | {"started_at": rfc3339(held["started_us"]), "completed_at": rfc3339(held["stopped_us"])}


def job(row: Row, links: Links) -> dict[str, Any]:
    """Show a job row as `rest_queries.list_jobs` gives it."""
    status, conclusion = status_and_conclusion(row["status"])
    run_html = links.run_html({"id": row["run_id"], "number": row["run_number"]})
    task = row["task"]
    return {
        "id": row["id"],
        "url": f"{links.api}/actions/jobs/{row['id']}",
        "html_url": f"{run_html}/jobs/{row['id']}",
        "run_id": row["run_id"],
        "run_url": links.run_api(row["run_id"]),
        "name": row["name"],
        "labels": list(row["runs_on"]),
        "run_attempt": row["attempt"],
        "head_sha": row["commit_sha"],
        **given("head_branch", _branch(row["run_ref"])),
        "status": status,
        **given("conclusion", conclusion),
        **given("runner_id", task["runner_id"] if task else 0),
        **given("runner_name", row["runner_name"]),
        "steps": _steps(row["steps"]),
        "created_at": rfc3339(row["created_us"]),
        "started_at": rfc3339(row["started_us"]),
        "completed_at": rfc3339(row["stopped_us"]),
    }


def task(row: Row, links: Links) -> dict[str, Any]:
    """Show a task row as `rest_queries.list_tasks` gives it."""
    return {
        "id": row["id"],
        "name": row["name"],
        "head_branch": links.page.branch(row["run_ref"])[0],
        "head_sha": row["commit_sha"],
        "run_number": row["run_number"],
        "event": row["run_event"],
        "display_title": row["run_title"],
        "status": Status(row["status"]).text,
        "workflow_id": row["run_workflow_file"],
        "url": links.run_html({"id": row["run_id"], "number": row["run_number"]}),
        "created_at": rfc3339(row["created_us"]),
        "updated_at": rfc3339(row["updated_us"]),
        "run_started_at": rfc3339(row["started_us"]),
    }


def workflow(row: Row, links: Links, *, default_branch: str) -> dict[str, Any]:
    """Show a workflow file as it stands on the default branch."""
    file = quote(row["file"], safe="")
    return {
        "id": row["file"],
        "name": row["name"] or row["file"],
        "path": f".gitea/workflows/{row['file']}",
        "state": "active" if row["is_enabled"] else "disabled_manually",
        "created_at": rfc3339(row["created_us"]),
        "updated_at": rfc3339(row["updated_us"]),
        "url": f"{links.api}/actions/workflows/{file}",
        "html_url": f"{links.html}/src/branch/{quote(default_branch)}/.gitea/workflows/{file}",
        "badge_url": f"{links.html}/actions/workflows/{file}/badge.svg?branch={quote(default_branch, safe='')}",
        "deleted_at": _NO_TIME,
    }


def secret(row: Row) -> dict[str, Any]:
    """Show a secret: never its value."""
    return {"name": row["name"], "description": row["description"], "created_at": rfc3339(row["created_us"])}


def variable(row: Row, *, shows_description: bool) -> dict[str, Any]:
    """Show a variable; Forgejo's have no description."""
    shown = {"owner_id": row["owner_id"], "repo_id": row["repo_id"], "name": row["name"], "data": row["value"]}
    return {**shown, "description": row["description"]} if shows_description else shown


def _steps(rows: Sequence[Row]) -> list[dict[str, Any]]:
    steps = []
    for row in rows:
        status, conclusion = status_and_conclusion(row["status"])
        steps.append(
            {
                "name": row["name"],
                "number": row["number"],
                "status": status,
                **given("conclusion", conclusion),
                "started_at": rfc3339(row["started_us"]),
                "completed_at": rfc3339(row["stopped_us"]),
            }
        )
    return steps


def _branch(ref: str) -> str:
    return ref.removeprefix(_HEADS) if ref.startswith(_HEADS) else ""


def given(key: str, value: object) -> dict[str, Any]:
    """Return the pair only when there is something to show, as `omitempty` does."""
    return {key: value} if value else {}
