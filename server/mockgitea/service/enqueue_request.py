"""A request to start a workflow file: what may be asked, how it is checked, and the run it describes.

Source: docs/protocol.md, "Lifecycle".
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from actionswire.expressions import Value
from actionswire.result import Status
from mockgitea.core.dispatch_inputs import declared_only, event_inputs, typed_inputs
from mockgitea.core.errors import InvalidInput
from mockgitea.core.events import PULL_REQUEST_EVENTS, Happened, default_payload, full_ref
from mockgitea.core.profiles import Profile
from mockgitea.core.vault_names import checked_name, checked_value, checked_variable_name
from mockgitea.core.workflow import check_event, parse_workflow
from mockgitea.core.workflow_model import DISPATCH, Workflow
from mockgitea.storage.repositories import RepositoryRecord
from mockgitea.storage.runs import NewRun

DEFAULT_FILE: Final = "workflow.yml"
PAYLOAD_BYTES_MAX: Final = 1024 * 1024
PAYLOAD_DEPTH_MAX: Final = 25
"""Each level is three messages on the wire, and protobuf readers stop at 100; real events have fewer than ten."""
TEXT_CHARS_MAX: Final = 255
ENTRIES_MAX: Final = 256
"""Most secrets, variables or inputs of one request."""

_FILE = re.compile(r"[^/\\\x00-\x1f]{1,250}\.(?:yml|yaml)")
_SHA = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_REF = re.compile(r"[^\s\x00-\x1f\x7f~^:?*\[\\]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueRequest:
    """What happened, and which workflow file it starts."""

    repository: str
    """``owner/name``."""
    workflow_file: str = DEFAULT_FILE
    source: str | bytes = ""
    """The file's text; empty = the one of this name that the repository has already."""
    event: str = ""
    """Empty = ``push`` if the file has it, else its first event."""
    event_payload: Mapping[str, Any] | None = None
    ref: str = ""
    sha: str = ""
    base_ref: str = ""
    head_ref: str = ""
    inputs: Mapping[str, Any] = field(default_factory=dict)
    ignores_unknown_inputs: bool = False
    """Drop inputs that the file does not declare, as a real server does, instead of refusing them."""
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    vars: Mapping[str, str] = field(default_factory=dict)
    actor: str = ""
    title: str = ""
    fork_pull_request: bool = False
    needs_approval: bool = False


@dataclass(frozen=True, slots=True)
class EnqueuedJob:
    """One job of a new run."""

    id: int
    job_id: str
    name: str
    status: Status
    failure_reason: str = ""


@dataclass(frozen=True, slots=True)
class EnqueuedRun:
    """A run as it was made."""

    run_id: int
    run_number: int
    status: Status
    jobs: tuple[EnqueuedJob, ...]


def check_request(request: EnqueueRequest) -> None:
    """Refuse a request whose fields are wrong in themselves.

    Raises:
        InvalidInput: ``field`` names the first wrong one.
    """
    if not _FILE.fullmatch(request.workflow_file):
        raise InvalidInput(
            f"workflow_file: {request.workflow_file[:TEXT_CHARS_MAX]!r} must be a file name that ends in .yml or .yaml",
            field="workflow_file",
        )
    if request.sha and not _SHA.fullmatch(request.sha):
        raise InvalidInput("sha: must be 40 or 64 lower-case hex digits", field="sha")
    for name in ("ref", "base_ref", "head_ref"):
        ref = getattr(request, name)
        if ref and not _REF.fullmatch(ref):
            raise InvalidInput(f"{name}: {ref[:TEXT_CHARS_MAX]!r} is no branch, tag or full ref", field=name)
    for name in ("workflow_file", "event", "ref", "base_ref", "head_ref", "actor", "title"):
        text = getattr(request, name)
        if len(text) > TEXT_CHARS_MAX:
            raise InvalidInput(f"{name}: is longer than {TEXT_CHARS_MAX} characters; shorten it", field=name)
        if _CONTROL.search(text):
            raise InvalidInput(f"{name}: holds control characters; remove them", field=name)
    for name in ("inputs", "secrets", "vars"):
        if len(getattr(request, name)) > ENTRIES_MAX:
            raise InvalidInput(f"{name}: has more than {ENTRIES_MAX} entries", field=name)


def new_run(
    request: EnqueueRequest,
    *,
    repository: RepositoryRecord,
    source: bytes,
    profile: Profile,
    app_url: str,
    default_sha: str,
) -> NewRun:
    """Turn a request into the run it describes.

    Args:
        request: already checked.
        repository: where it happens.
        source: the workflow file.
        profile: the imitated server.
        app_url: the instance address with a trailing slash.
        default_sha: the commit when the request names none.

    Raises:
        InvalidInput: ``field`` names what is wrong with the file, the event or its inputs.
    """
    workflow = parse_workflow(source)
    event = check_event(workflow, request.event)
    inputs = _inputs(workflow, event, request)
    happened = Happened(
        event=event,
        repository=repository.full_name,
        owner_id=repository.owner_id,
        repo_id=repository.id,
        default_branch=repository.default_branch,
        is_fork_pull_request=request.fork_pull_request,
        ref=full_ref(request.ref, event=event, default_branch=repository.default_branch),
        base_ref=request.base_ref or (repository.default_branch if event in PULL_REQUEST_EVENTS else ""),
        head_ref=request.head_ref or ("feature" if event in PULL_REQUEST_EVENTS else ""),
        sha=request.sha or default_sha,
        actor=request.actor or repository.owner_name,
        title=request.title or workflow.name or request.workflow_file,
        workflow_file=request.workflow_file,
        app_url=app_url,
        inputs=event_inputs(inputs),
    )
    return NewRun(
        repository=repository,
        workflow=workflow,
        workflow_file=request.workflow_file,
        source=source,
        event=event,
        event_payload=_payload(request, happened),
        inputs=inputs,
        ref=happened.ref,
        base_ref=happened.base_ref,
        head_ref=happened.head_ref,
        sha=happened.sha,
        actor=happened.actor,
        title=request.title,
        is_fork_pull_request=request.fork_pull_request,
        needs_approval=request.needs_approval,
        secrets=_checked(request.secrets, "secrets", profile, checked_name),
        vars=_checked(request.vars, "vars", profile, checked_variable_name),
    )


def _inputs(workflow: Workflow, event: str, request: EnqueueRequest) -> dict[str, Value]:
    if event == DISPATCH:
        specs = workflow.triggers[DISPATCH].inputs
        given = declared_only(specs, request.inputs) if request.ignores_unknown_inputs else request.inputs
        return typed_inputs(specs, given)
    if request.inputs:
        raise InvalidInput(f"inputs: only {DISPATCH} takes inputs, the event is {event}", field="inputs")
    return {}


def _payload(request: EnqueueRequest, happened: Happened) -> dict[str, Any]:
    payload = default_payload(happened) if request.event_payload is None else dict(request.event_payload)
    if happened.event == DISPATCH and request.event_payload is not None:
        payload = {"inputs": dict(happened.inputs)} | payload
    try:
        written = orjson.dumps(payload)
    except TypeError as error:
        raise InvalidInput(f"event_payload: must hold JSON values only: {error}", field="event_payload") from error
    if len(written) > PAYLOAD_BYTES_MAX:
        raise InvalidInput(
            f"event_payload: has {len(written)} bytes, more than {PAYLOAD_BYTES_MAX}; shorten it", field="event_payload"
        )
    if _depth(payload) > PAYLOAD_DEPTH_MAX:
        raise InvalidInput(
            f"event_payload: is nested deeper than {PAYLOAD_DEPTH_MAX} levels; flatten it", field="event_payload"
        )
    # What was written is what readers see: no NaN, no tuples, text keys.
    read: dict[str, Any] = orjson.loads(written)
    return read


def _depth(value: Any) -> int:
    """Count the levels of mappings and lists; the writer has bounded them already."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return 1 + max(map(_depth, inner), default=0)


def _checked(
    values: Mapping[str, str], field_name: str, profile: Profile, check_name: Callable[..., str]
) -> dict[str, str]:
    return {
        check_name(name, profile=profile, field=f"{field_name}.{name}"): checked_value(
            value, field=f"{field_name}.{name}"
        )
        for name, value in values.items()
    }
