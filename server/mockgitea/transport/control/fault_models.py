"""Bodies and answers of the fault and downtime routes; rules are described by the table of the core alone."""

from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, create_model

from mockgitea.core.downtime import DownKind, DowntimeState
from mockgitea.core.faults import FaultState, table
from mockgitea.transport.control.models import Strict
from mockgitea.transport.times import precise

_VOCABULARIES: Final = ("kind", "stage", "transport", "code")
"""Fields whose texts are members of closed vocabularies."""


def _body_fields() -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, (one, param) in table().items():
        is_required = name in ("name", "kind")
        fields[name] = (
            Annotated[one.type, Field(description=param.help, strict=False if name in _VOCABULARIES else None)],
            ... if is_required else one.default,
        )
    return fields


if TYPE_CHECKING:
    NewFault = Strict
else:
    NewFault = create_model(
        "NewFault", __base__=Strict, __doc__="A fault rule: what happens to which calls, and when.", **_body_fields()
    )


class FaultAnswer(BaseModel):
    """One fault rule: its fields as far as they are set, and how it has been used."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str
    stage: str
    method: str
    transports: list[str] = Field(description="Where it acts.")
    seen: int = Field(description="Matching calls at a time when it acts, hit or not.")
    hits: int = Field(description="How many calls it has hit.")
    left: int | None = Field(description="How many it will still hit; null for no limit.")
    expires_at: str | None = Field(description="When it removes itself; null for never.")


class FaultsAnswer(BaseModel):
    """All fault rules, in the order in which they are asked."""

    faults: list[FaultAnswer]


class NewDowntime(Strict):
    """A downtime rule. Seconds count from the moment it is added."""

    name: str = Field(min_length=1, max_length=100, description="A name of your choice, to remove it by.")
    kind: DownKind = Field(
        strict=False,
        description="`planned` answers 503, `refused` closes the port, `black-hole` accepts and never answers.",
    )
    duration_s: float = Field(description="Seconds that one window lasts.")
    start_s: float = Field(default=0.0, description="Seconds until the first window.")
    every_s: float | None = Field(default=None, description="Seconds from one start to the next; absent: once.")
    rounds: int | None = Field(default=None, description="How often, with `every_s`; absent: without end.")
    jitter_s: float = Field(
        default=0.0, description="Each start is late by up to so many seconds, drawn from the seed."
    )
    cuts: bool = Field(
        default=False, description="Reset connections that are open at the start; `refused` always does."
    )
    retry_after_s: int | None = Field(default=None, description="`planned`: seconds in a Retry-After header.")


class DowntimeAnswer(BaseModel):
    """One downtime rule."""

    model_config = ConfigDict(extra="allow")

    name: str
    kind: str
    duration_s: float
    is_open: bool = Field(description="True while the server is down because of it.")
    starts_at: str | None = Field(description="Start of the window that is open or comes next; null when all are over.")
    ends_at: str | None
    rounds_begun: int


class DowntimesAnswer(BaseModel):
    """All downtime rules; where windows overlap, the first one counts."""

    downtimes: list[DowntimeAnswer]


def fault_view(state: FaultState) -> dict[str, Any]:
    """Return one rule as the routes show it."""
    return {
        **state.fault.shown(),
        "transports": list(state.fault.transports),
        "seen": state.seen,
        "hits": state.hits,
        "left": state.left,
        "expires_at": None if state.expires_us is None else precise(state.expires_us),
    }


def downtime_view(state: DowntimeState) -> dict[str, Any]:
    """Return one downtime rule as the routes show it."""
    window = state.window
    return {
        **state.downtime.shown(),
        "is_open": state.is_open,
        "starts_at": None if window is None else precise(window.start_us),
        "ends_at": None if window is None else precise(window.end_us),
        "rounds_begun": state.rounds_begun,
    }
