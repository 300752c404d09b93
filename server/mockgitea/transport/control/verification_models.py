"""Bodies and answers of the verification routes. A matcher's fields are those of `core.call_match.CallMatcher`."""

import json
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from mockgitea.core.calls import Method, Outcome
from mockgitea.transport.control.models import ID_MAX, LIST_LENGTH_MAX, Strict
from mockgitea.verify.live import WAIT_S_MAX

JOURNAL_PAGE_MAX = 10_000
COUNT_MAX = 10_000_000
STEPS_MAX = 100

Text = Annotated[str, Field(max_length=4096)]
DEPTH_MAX = 25


def _plain_json(fields: dict[str, Any]) -> dict[str, Any]:
    """Refuse what the answer could not repeat: NaN, and values nested deeper than any message."""
    levels: list[Any] = [fields]
    for _ in range(DEPTH_MAX):
        levels = [inner for value in levels for inner in _inner(value)]
    if levels:
        raise ValueError(f"is nested deeper than {DEPTH_MAX} levels")
    json.dumps(fields, allow_nan=False)
    return fields


def _inner(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


Fields = Annotated[dict[str, Any], Field(max_length=LIST_LENGTH_MAX), AfterValidator(_plain_json)]
AnyMethod = Annotated[Method, Field(strict=False)]
AnyOutcome = Annotated[Outcome, Field(strict=False)]
Number = Annotated[int, Field(ge=0, le=ID_MAX)]
Count = Annotated[int, Field(ge=0, le=COUNT_MAX)]
Seconds = Annotated[float, Field(gt=0, le=366 * 24 * 3600.0)]


class Match(Strict):
    """What a call must be. Absent fields do not matter; a list means any of its values."""

    method: AnyMethod | list[AnyMethod] | None = None
    runner: Text | list[Text] | None = Field(default=None, description="Name or UUID.")
    outcome: AnyOutcome | list[AnyOutcome] | None = Field(
        default=None, description="Calls without an answer yet match only when `open` is asked for."
    )
    status: int | list[int] | None = Field(default=None, description="HTTP status.")
    code: Text | list[Text] | None = Field(default=None, description="Connect code as it travelled.")
    task: Number | list[Number] | None = Field(default=None, description="A task that it reports on or hands out.")
    fault: Text | list[Text] | None = Field(default=None, description="Name of the fault that acted.")
    verb: Text | list[Text] | None = None
    path: Text | list[Text] | None = None
    header: Annotated[dict[str, Text], Field(max_length=LIST_LENGTH_MAX)] = Field(default_factory=dict)
    request: Fields = Field(
        default_factory=dict,
        description="Message fields by name as in the schema, dots going deeper, such as `state.result`.",
        examples=[{"state.result": "success"}],
    )
    response: Fields = Field(default_factory=dict, description="The same for the answer.")
    since: Number = Field(default=0, description="Only calls with a number above this one.")
    after_us: Number | None = Field(default=None, description="Began at this server time or later, microseconds.")
    before_us: Number | None = Field(default=None, description="Began before this server time, microseconds.")


class Query(Strict):
    """Which recorded calls to show."""

    match: Match = Field(default_factory=Match)
    limit: int = Field(default=100, ge=1, le=JOURNAL_PAGE_MAX, description="Only the newest so many.")


class Wait(Strict):
    """What to wait for."""

    match: Match = Field(default_factory=Match)
    n: int = Field(default=1, ge=1, le=COUNT_MAX, description="How many calls there must be, earlier ones included.")
    within_s: float = Field(default=5.0, ge=0, le=WAIT_S_MAX, description="Longest wait in real seconds.")


class Requests(Strict):
    """How many calls match; without any number, at least one must."""

    match: Match = Field(default_factory=Match)
    count: Count | None = None
    at_least: Count | None = None
    at_most: Count | None = None


class Rate(Strict):
    """No span of `per_s` real seconds may hold more than `at_most` matching calls."""

    match: Match = Field(default_factory=Match)
    at_most: Count
    per_s: Seconds


class NoGap(Strict):
    """Matching calls must begin at most `longest_s` real seconds after one another."""

    match: Match = Field(default_factory=Match)
    longest_s: Seconds


class Expectation(Strict):
    """What must be true of the recorded calls; every given part is checked, in this order."""

    requests: Requests | None = None
    order: list[Match] = Field(default_factory=list, max_length=STEPS_MAX, description="Calls after one another.")
    rate: Rate | None = None
    no_gap: NoGap | None = None


class DifferenceAnswer(BaseModel):
    """One field of a call that is not as wanted."""

    field: str
    got: Any
    wanted: Any


class NearMissAnswer(BaseModel):
    """A call that almost matched."""

    number: int
    differences: list[DifferenceAnswer]


class QueryAnswer(BaseModel):
    """Recorded calls that match, oldest first."""

    entries: list[dict[str, Any]]
    matched: int = Field(description="How many match, the limit left aside.")
    recorded: int = Field(description="How many calls the journal has.")
    evicted_total: int
    mark: int = Field(description="Number of the newest call, to be given as `since` later.")
    nearest_misses: list[NearMissAnswer] = Field(description="When nothing matches: what came closest.")


class VerdictAnswer(BaseModel):
    """Whether the calls are as expected, and if not, why."""

    is_met: bool
    entries: list[int] = Field(description="Numbers of the calls that it is about.")
    explanation: str = Field(description="Empty when it is met; else the nearest misses and what came instead.")


class FindingAnswer(BaseModel):
    """One breach of a rule."""

    rule: str
    runner: str
    task: int | None
    entries: list[int]
    message: str
    correct: str = Field(description="What a correct peer does.")


class AuditAnswer(BaseModel):
    """What an audit of the recorded calls found."""

    findings: list[FindingAnswer]
    notes: list[str] = Field(description="What could not be judged, and tasks without an end.")
    calls: int
    tasks: int
    runners: int
