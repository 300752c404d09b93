"""Needed jobs as their dependants see them, and whether a blocked job may go on.

A job id can stand for several rows (matrix siblings). Which rules hold depends on the profile's flags.
Source: docs/protocol.md, "Needs".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TypeAlias

from actionswire.expressions import ExpressionError, Value, evaluate_condition
from actionswire.result import Result, Status
from mockgitea.core.messages import Need
from mockgitea.core.profiles import IfRule, Profile
from mockgitea.core.run_status import aggregate, counted
from mockgitea.core.scopes import Surroundings
from mockgitea.core.workflow_fields import bad_expression


@dataclass(frozen=True, slots=True, kw_only=True)
class Sibling:
    """One row of a needed job."""

    status: Status
    continues_on_error: bool = False
    has_task: bool = True
    outputs: Mapping[str, str] = field(default_factory=dict)


Needed: TypeAlias = Mapping[str, Sequence[Sibling]]
"""Rows of every needed job id, in row order."""


class Verdict(Enum):
    """What becomes of a blocked job."""

    HOLD = auto()
    """A need is not final yet."""
    START = auto()
    SKIP = auto()


def seen_needs(needed: Needed, profile: Profile) -> dict[str, Need]:
    """Return what a task or an expression is told of each needed job.

    Source: docs/protocol.md, "Needs".
    """
    return {
        job_id: Need(aggregated(siblings, profile).as_result, merged_outputs(siblings, profile))
        for job_id, siblings in needed.items()
    }


def needs_context(needs: Mapping[str, Need]) -> dict[str, Value]:
    """Return needs as the `needs` context of expressions."""
    return {
        job_id: {"result": "" if need.result is Result.UNSPECIFIED else need.result.text, "outputs": dict(need.outputs)}
        for job_id, need in needs.items()
    }


def aggregated(siblings: Sequence[Sibling], profile: Profile) -> Status:
    """Return the one status of a job id; a job that is in no row has none."""
    if not siblings:
        return Status.UNKNOWN
    if not profile.merges_siblings:
        return siblings[-1].status
    rule = profile.run_status
    return aggregate((counted(row.status, rule, continues_on_error=row.continues_on_error) for row in siblings), rule)


def merged_outputs(siblings: Sequence[Sibling], profile: Profile) -> dict[str, str]:
    """Merge the outputs of matrix siblings.

    Walking in row order, a later sibling's keys replace all earlier ones; an empty value falls back to the earlier
    value of its key.
    Source: docs/protocol.md, "Needs".
    """
    merged: dict[str, str] = {}
    for sibling in siblings:
        if not sibling.has_task:
            merged = merged if profile.outputs_of_taskless_sibling == "skip" else {}
        elif profile.merges_siblings:
            merged = {key: value or merged.get(key, "") for key, value in sibling.outputs.items()}
        else:
            merged = dict(sibling.outputs)
    return merged


def judge(if_text: str, needed: Needed, profile: Profile, surroundings: Surroundings, *, field: str) -> Verdict:
    """Decide what becomes of a blocked job.

    Args:
        if_text: its condition as written, empty = none.
        needed: rows of everything it needs; empty = it needs nothing, so its condition is the runner's business.
        profile: who evaluates conditions, and what counts as success.
        surroundings: contexts of the run.
        field: path of the condition, for refusals.

    Raises:
        InvalidInput: the condition fails on the server; the job stays blocked.
    Source: docs/protocol.md, "Needs".
    """
    rows = [sibling for siblings in needed.values() for sibling in siblings]
    if not all(row.status.is_final for row in rows):
        return Verdict.HOLD
    if not needed:
        return Verdict.START
    if profile.if_rule is IfRule.RUNNER:
        goes_on = bool(if_text) or all(row.status is Status.SUCCESS for row in rows)
    else:
        goes_on = _holds(if_text, seen_needs(needed, profile), surroundings, field)
    return Verdict.START if goes_on else Verdict.SKIP


def _holds(if_text: str, needs: Mapping[str, Need], surroundings: Surroundings, field: str) -> bool:
    results = [need.result for need in needs.values()]

    def status(name: str) -> bool:
        if name == "success":
            return all(result is Result.SUCCESS for result in results)
        if name == "failure":
            return Result.FAILURE in results
        return name == "always" or Result.CANCELLED in results

    try:
        return evaluate_condition(if_text, surroundings.scope(needs=needs_context(needs), status=status))
    except ExpressionError as error:
        raise bad_expression(error, field) from error
