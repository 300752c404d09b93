"""Which concurrency group a run or job belongs to, and whether it cancels or queues.

The three rules of the servers are one flag of the profile. Pure: who else is in the group is the store's business.
Source: docs/protocol.md, "Concurrency".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from actionswire.expressions import Scope
from mockgitea.core.context import RunFacts
from mockgitea.core.plan import evaluated_flag, evaluated_text
from mockgitea.core.profiles import ConcurrencyRule, Profile
from mockgitea.core.workflow_model import ConcurrencySpec

_UPDATES: Final = ("synchronize", "synchronized")


@dataclass(frozen=True, slots=True)
class Group:
    """Membership in a concurrency group."""

    name: str
    cancels: bool = False
    """The newcomer cancels everything unfinished in the group."""
    queues: bool = False
    """Forgejo: it waits in the queue until the group is free."""


def run_group(spec: ConcurrencySpec | None, facts: RunFacts, scope: Scope, profile: Profile) -> Group | None:
    """Return the group of a run, None when there is none.

    Raises:
        InvalidInput: an expression of the block fails.
    Source: docs/protocol.md, "Concurrency".
    """
    if profile.concurrency is ConcurrencyRule.GITEA:
        return job_group(spec, scope, profile, field="concurrency")
    if profile.concurrency is ConcurrencyRule.FORGEJO:
        return _forgejo_group(spec, facts, scope)
    return None


def job_group(spec: ConcurrencySpec | None, scope: Scope, profile: Profile, *, field: str) -> Group | None:
    """Return the group of a job, None when there is none or the server knows no groups of jobs.

    Raises:
        InvalidInput: an expression of the block fails.
    """
    if spec is None or profile.concurrency is not ConcurrencyRule.GITEA:
        return None
    name = evaluated_text(spec.group, scope, f"{field}.group")
    if not name:
        return None
    return Group(name, cancels=evaluated_flag(spec.cancel, scope, f"{field}.cancel-in-progress"))


def blocks_members(profile: Profile) -> bool:
    """Tell whether members of a group wait as blocked; elsewhere nobody waits, or the queue itself holds them back."""
    return profile.concurrency is ConcurrencyRule.GITEA


def cancels_previous(event: str, payload: Mapping[str, Any], profile: Profile) -> bool:
    """Tell whether a new run cancels unfinished ones of the same ref, workflow and event (servers without groups)."""
    return (
        profile.concurrency is ConcurrencyRule.AUTO_CANCEL
        and event in profile.auto_cancel_events
        and is_update(event, payload)
    )


def is_update(event: str, payload: Mapping[str, Any]) -> bool:
    """Tell whether the event is a push or brings new commits to a pull request."""
    return event == "push" or (event == "pull_request" and payload.get("action") in _UPDATES)


def _forgejo_group(spec: ConcurrencySpec | None, facts: RunFacts, scope: Scope) -> Group:
    given = "" if spec is None else evaluated_text(spec.group, scope, "concurrency.group")
    name = given or f"{facts.ref}_{facts.workflow_file}_{facts.event}__auto"
    if spec is None or spec.cancel is None:
        return Group(name.lower(), cancels=is_update(facts.event, facts.event_payload))
    cancels = evaluated_flag(spec.cancel, scope, "concurrency.cancel-in-progress")
    return Group(name.lower(), cancels=cancels, queues=bool(given) and not cancels)
