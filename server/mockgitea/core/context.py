"""The `github` context: what a run knows of itself, for expressions on the server and for the task that carries it.

All values are text but `event` and `ref_protected`. Pure: the caller brings every fact.
Source: docs/protocol.md, "Context".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mockgitea.core.profiles import Family, Profile

_PRESENT_AND_EMPTY: Final = (
    "action",
    "action_path",
    "action_ref",
    "action_repository",
    "action_status",
    "env",
    "event_path",
    "graphql_url",
    "path",
    "retention_days",
    "workspace",
)
_FORGEJO_EMPTY: Final = ("job_name", "runner_perflog", "runner_tracking_id")

_REF_KINDS: Final = (("refs/heads/", "branch"), ("refs/tags/", "tag"))
_PULL_PREFIX: Final = "refs/pull/"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """One run, as its context shows it."""

    run_id: int
    number: int
    attempt: int = 1
    repository: str
    """``owner/name``."""
    owner_id: int = 0
    repo_id: int = 0
    actor_id: int = 0
    workflow_file: str
    event: str
    event_payload: Mapping[str, Any] = field(default_factory=dict)
    ref: str = ""
    base_ref: str = ""
    head_ref: str = ""
    sha: str = ""
    actor: str = ""
    triggering_actor: str = ""


def ref_name_and_type(ref: str) -> tuple[str, str]:
    """Split a full ref into its short name and ``branch``, ``tag`` or nothing.

    Source: docs/protocol.md, "Context".
    """
    for prefix, kind in _REF_KINDS:
        if ref.startswith(prefix):
            return ref.removeprefix(prefix), kind
    if ref.startswith(_PULL_PREFIX) and "/" in ref.removeprefix(_PULL_PREFIX):
        return ref.removeprefix(_PULL_PREFIX).rpartition("/")[0], ""
    return ref, ""


def github_context(facts: RunFacts, *, job: str, app_url: str, profile: Profile) -> dict[str, Any]:
    """Build the context without its tokens.

    Args:
        facts: the run.
        job: the workflow job id, or the number of the job row on servers that send that.
        app_url: the instance address with a trailing slash.
        profile: which fields there are.

    Returns:
        JSON-like values; safe to show, because no token is among them.
    Source: docs/protocol.md, "Context".
    """
    ref_name, ref_type = ref_name_and_type(facts.ref)
    owner = facts.repository.partition("/")[0]
    context: dict[str, Any] = dict.fromkeys(_PRESENT_AND_EMPTY, "")
    context |= {
        "actor": facts.actor,
        "triggering_actor": facts.triggering_actor if profile.triggering_actor else "",
        "api_url": f"{app_url}api/v1",
        "base_ref": facts.base_ref,
        "event": dict(facts.event_payload),
        "event_name": facts.event,
        "gitea_default_actions_url": profile.default_actions_url,
        "head_ref": facts.head_ref,
        "job": job,
        "ref": facts.ref,
        "ref_name": ref_name,
        "ref_protected": False,
        "ref_type": ref_type,
        "repository": facts.repository,
        "repositoryUrl": f"{app_url}{facts.repository}",
        "repository_owner": owner,
        "run_attempt": str(facts.attempt),
        "run_id": str(facts.run_id),
        "run_number": str(facts.number),
        "secret_source": "Actions",
        "server_url": app_url,
        "sha": facts.sha,
        "workflow": facts.workflow_file,
    }
    if profile.forgejo_context:
        context |= dict.fromkeys(_FORGEJO_EMPTY, "")
        context |= {
            "actor_id": str(facts.actor_id),
            "forgejo_server_version": profile.server_version,
            "repository_id": str(facts.repo_id),
            "repository_owner_id": str(facts.owner_id),
            "workflow_ref": f"{facts.repository}/{workflow_folder(profile)}/{facts.workflow_file}@{facts.ref}",
        }
    return context


def workflow_folder(profile: Profile) -> str:
    """Return the folder that this family looks into first."""
    return ".forgejo/workflows" if profile.family is Family.FORGEJO else ".gitea/workflows"
