"""Events: which refs they imply, and a plausible webhook payload for an event that was enqueued without one.

The payload has the fields that workflows and actions read most; it claims nothing that was not given.
Source: docs/workflows.md, "Events".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from mockgitea.core.context import ref_name_and_type
from mockgitea.core.workflow_model import DISPATCH

PULL_REQUEST_EVENTS: Final = (
    "pull_request",
    "pull_request_target",
    "pull_request_review",
    "pull_request_review_comment",
    "pull_request_comment",
)
NO_COMMIT: Final = "0" * 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """An event as it was enqueued."""

    event: str
    repository: str
    """``owner/name``."""
    owner_id: int = 0
    repo_id: int = 0
    default_branch: str = "main"
    is_fork_pull_request: bool = False
    ref: str
    base_ref: str = ""
    head_ref: str = ""
    sha: str
    actor: str
    title: str = ""
    workflow_file: str = ""
    app_url: str
    inputs: Mapping[str, str] = field(default_factory=dict)


def full_ref(ref: str, *, event: str, default_branch: str) -> str:
    """Complete a ref: nothing becomes the default branch, a bare name a branch (a tag for releases).

    Source: docs/workflows.md, "Events".
    """
    if not ref and event in PULL_REQUEST_EVENTS and event != "pull_request_target":
        return "refs/pull/1/head"
    if not ref:
        return f"refs/heads/{default_branch}"
    if ref.startswith("refs/"):
        return ref
    return f"refs/tags/{ref}" if event == "release" else f"refs/heads/{ref}"


def default_payload(happened: Happened) -> dict[str, Any]:
    """Build the payload of an event.

    Source: docs/workflows.md, "Events".
    """
    common = {"repository": _repository(happened), "sender": _user(happened.actor)}
    if happened.event == "push":
        return _push(happened) | common
    if happened.event in PULL_REQUEST_EVENTS:
        return _pull_request(happened) | common
    if happened.event == DISPATCH:
        return {"inputs": dict(happened.inputs), "ref": happened.ref, "workflow": happened.workflow_file} | common
    if happened.event == "schedule":
        return {"schedule": "", "action": "schedule"} | common
    if happened.event == "release":
        tag = ref_name_and_type(happened.ref)[0]
        release = {"id": 1, "tag_name": tag, "name": happened.title or tag, "draft": False, "prerelease": False}
        return {"action": "published", "release": release} | common
    return common


def _push(happened: Happened) -> dict[str, Any]:
    commit = {
        "id": happened.sha,
        "message": happened.title,
        "url": f"{happened.app_url}{happened.repository}/commit/{happened.sha}",
        "author": {"name": happened.actor, "email": "", "username": happened.actor},
        "committer": {"name": happened.actor, "email": "", "username": happened.actor},
        "added": [],
        "removed": [],
        "modified": [],
    }
    return {
        "ref": happened.ref,
        "before": NO_COMMIT,
        "after": happened.sha,
        "commits": [commit],
        "total_commits": 1,
        "head_commit": commit,
        "pusher": _user(happened.actor),
    }


def _pull_request(happened: Happened) -> dict[str, Any]:
    number = _pull_number(happened.ref)
    base = {"label": happened.base_ref, "ref": happened.base_ref, "sha": NO_COMMIT, "repo_id": happened.repo_id}
    head = {"label": happened.head_ref, "ref": happened.head_ref, "sha": happened.sha, "repo_id": happened.repo_id}
    return {
        "action": "opened",
        "number": number,
        "pull_request": {
            "id": number,
            "number": number,
            "state": "open",
            "title": happened.title,
            "user": _user(happened.actor),
            "html_url": f"{happened.app_url}{happened.repository}/pulls/{number}",
            "merged": False,
            "base": base | {"repo": _repository(happened)},
            "head": head | {"repo": _repository(happened) | {"fork": happened.is_fork_pull_request}},
        },
    }


def _pull_number(ref: str) -> int:
    text = ref.removeprefix("refs/pull/").partition("/")[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else 1


def _repository(happened: Happened) -> dict[str, Any]:
    owner, _, name = happened.repository.partition("/")
    url = f"{happened.app_url}{happened.repository}"
    return {
        "id": happened.repo_id,
        "name": name,
        "full_name": happened.repository,
        "owner": {**_user(owner), "id": happened.owner_id},
        "private": False,
        "fork": False,
        "default_branch": happened.default_branch,
        "html_url": url,
        "clone_url": f"{url}.git",
        "url": f"{happened.app_url}api/v1/repos/{happened.repository}",
    }


def _user(name: str) -> dict[str, Any]:
    return {"login": name, "username": name, "full_name": "", "email": ""}
