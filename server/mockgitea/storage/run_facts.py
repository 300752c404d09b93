"""Read a run as expressions and tasks see it: its facts, and the contexts around its jobs."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, RowMapping

from mockgitea.core.context import RunFacts, github_context
from mockgitea.core.profiles import Profile
from mockgitea.core.scopes import Surroundings
from mockgitea.storage.repositories import owner_id_of, repository_of
from mockgitea.storage.vault import vars_for


def run_facts(conn: Connection, run: Mapping[str, Any] | RowMapping, *, attempt: int) -> RunFacts:
    """Return the facts of a run row.

    Args:
        conn: an open connection.
        run: the row.
        attempt: of the run or of the job, whichever the server shows.
    """
    repository = repository_of(conn, run["repo_id"])
    ref, sha = run["ref"], run["commit_sha"]
    if run["event"] == "pull_request_target":
        ref, sha = _base_of_pull_request(run)
    return RunFacts(
        run_id=run["id"],
        number=run["number"],
        attempt=attempt,
        repository=repository.full_name,
        owner_id=repository.owner_id,
        repo_id=repository.id,
        actor_id=owner_id_of(conn, run["actor"]),
        workflow_file=run["workflow_file"],
        event=run["event"],
        event_payload=run["event_payload"],
        ref=ref,
        base_ref=run["base_ref"],
        head_ref=run["head_ref"],
        sha=sha,
        actor=run["actor"],
        triggering_actor=run["triggering_actor"],
    )


def surroundings_of(
    conn: Connection, run: RowMapping, facts: RunFacts, *, app_url: str, profile: Profile, job: str = ""
) -> Surroundings:
    """Return the contexts for expressions of a run, or of its job of id ``job``."""
    return Surroundings(
        github=github_context(facts, job=job, app_url=app_url, profile=profile),
        inputs=run["inputs"],
        vars=vars_for(conn, owner_id=run["owner_id"], repo_id=run["repo_id"]),
    )


def _base_of_pull_request(run: Mapping[str, Any] | RowMapping) -> tuple[str, str]:
    """Return ref and sha of the target branch: the code that `pull_request_target` runs."""
    base = run["event_payload"].get("pull_request", {})
    base = base.get("base", {}) if isinstance(base, dict) else {}
    sha = base.get("sha") if isinstance(base, dict) else None
    branch = run["base_ref"].removeprefix("refs/heads/")
    return (f"refs/heads/{branch}" if branch else run["ref"]), (sha if isinstance(sha, str) else run["commit_sha"])
