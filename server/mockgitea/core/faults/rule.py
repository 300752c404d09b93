"""One fault rule: which calls, when, and what happens to them, as flat fields with units in their names.

The fields are the table behind the control API's body, the command's flags and docs/faults.md; a wrong value is
refused with its field's name. Knows no call and no clock.
Source: docs/faults.md, "Fields".
"""

import math
from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from enum import StrEnum
from typing import Any, Final, TypeVar

from actionswire.codes import Code
from mockgitea.core.calls import Method
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults.kinds import KINDS, FaultKind, KindFacts, Stage, Transport

T = TypeVar("T")

DELAY_S_MAX: Final = 3600.0
SECONDS_MAX: Final = 366 * 24 * 3600.0
COUNT_MAX: Final = 2**53
BYTES_MAX: Final = 64 * 1024 * 1024
NAME_LENGTH_MAX: Final = 100
TEXT_LENGTH_MAX: Final = 4096
ANY_METHOD: Final = "*"

Value = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Param:
    """What the table says about one field. ``kinds`` empty: every kind; ``default``: used when the field is absent."""

    help: str
    kinds: tuple[FaultKind, ...] = ()
    default: Value | None = None
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def problem(self, name: str, value: Any) -> str:
        """Return what is wrong with a value, empty when nothing is."""
        if isinstance(value, str):
            if self.choices and value not in self.choices:
                return f"{name}: unknown {value!r}; one of {', '.join(self.choices)}"
            return f"{name}: at most {TEXT_LENGTH_MAX} characters" if len(value) > TEXT_LENGTH_MAX else ""
        if isinstance(value, bool):
            return ""
        low = self.above if self.above is not None else self.minimum
        is_low = low is not None and (value < low or (self.above is not None and value == low))
        is_high = self.maximum is not None and value > self.maximum
        if not math.isfinite(value) or is_low or is_high:
            return f"{name}: {self._range()}"
        return ""

    def _range(self) -> str:
        low = f"above {self.above:g}" if self.above is not None else f"at least {self.minimum:g}"
        return low if self.maximum is None else f"{low} and at most {self.maximum:g}"


def _param(default: T, text: str, *kinds: FaultKind, usual: Value | None = None, **limits: Any) -> T:
    return field(default=default, metadata={"param": Param(help=text, kinds=kinds, default=usual, **limits)})


_K: Final = FaultKind
_SECONDS: Final[dict[str, Any]] = {"minimum": 0, "maximum": SECONDS_MAX}
_WAIT: Final[dict[str, Any]] = {"minimum": 0, "maximum": DELAY_S_MAX}
_SPAN: Final[dict[str, Any]] = {"above": 0, "maximum": SECONDS_MAX}
_COUNT: Final[dict[str, Any]] = {"minimum": 1, "maximum": COUNT_MAX}
_SIZE: Final[dict[str, Any]] = {"minimum": 0, "maximum": BYTES_MAX}
_VOCABULARIES: Final[dict[str, type[StrEnum]]] = {
    "kind": FaultKind,
    "stage": Stage,
    "transport": Transport,
    "code": Code,
}
_METHODS: Final = (ANY_METHOD, *(method.value for method in Method))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One rule. Fields that do not belong to the kind stay None; those that do get their usual value when absent."""

    name: str = _param("", "a name of your choice, to remove or release the rule by; the journal shows it")
    kind: FaultKind = _param(_K.REFUSE, "what happens to the call")  # noqa: RUF009 - a dataclass field
    stage: Stage | None = _param(  # noqa: RUF009 - a dataclass field
        None, "act before the server does its work, or after, when only the answer is left", choices=tuple(Stage)
    )
    transport: Transport | None = _param(  # noqa: RUF009 - a dataclass field
        None, "only calls that come in this way; absent: every way on which the kind can act", choices=tuple(Transport)
    )

    # --- which calls
    method: str = _param(ANY_METHOD, "only calls of this method; `*` for all", choices=_METHODS)
    runner: str | None = _param(None, "only calls of the runner with this UUID or name")
    label: str | None = _param(None, "only calls of runners with this label")
    task: int | None = _param(None, "only UpdateTask and UpdateLog of this task", **_COUNT)
    header: str | None = _param(None, "only calls with this header: `Name`, or `Name: value`")

    # --- when
    times: int | None = _param(None, "the first so many matching calls; absent: all", **_COUNT)
    skip: int | None = _param(None, "let so many matching calls pass first", minimum=0, maximum=COUNT_MAX)
    every: int | None = _param(None, "of the matching calls only every n-th, beginning with the first", **_COUNT)
    probability: float | None = _param(None, "chance of each matching call, drawn from the seed", above=0, maximum=1)
    from_s: float | None = _param(None, "not before so many seconds after the rule was added", **_SECONDS)
    until_s: float | None = _param(None, "no longer from so many seconds after the rule was added on", **_SPAN)
    period_s: float | None = _param(None, "schedule: length of one round in seconds; needs `open_s`", **_SPAN)
    open_s: float | None = _param(None, "schedule: act in the first so many seconds of each round", **_SPAN)
    ttl_s: float | None = _param(None, "the rule removes itself after so many seconds", **_SPAN)

    # --- what
    code: Code | None = _param(  # noqa: RUF009 - a dataclass field
        None, "Connect code of the error", _K.REFUSE, choices=tuple(Code)
    )
    status: int | None = _param(
        None, "bare HTTP status instead of a Connect error (not over gRPC)", _K.REFUSE, minimum=200, maximum=599
    )
    message: str | None = _param(None, "text of the error", _K.REFUSE)
    retry_after_s: int | None = _param(
        None, "seconds in a Retry-After header (not over gRPC)", _K.REFUSE, minimum=0, maximum=SECONDS_MAX
    )
    body: str | None = _param(
        None, "body that goes with `status`", _K.REFUSE, choices=("text", "html", "json", "empty")
    )
    content_type: str | None = _param(None, "Content-Type of that body, right or wrong for it", _K.REFUSE)
    delay_s: float | None = _param(
        None,
        "seconds: fixed: the delay; normal: its mean; lognormal: its median",
        _K.DELAY,
        above=0,
        maximum=DELAY_S_MAX,
    )
    distribution: str | None = _param(
        None,
        "how the delay varies, drawn from the seed",
        _K.DELAY,
        usual="fixed",
        choices=("fixed", "uniform", "normal", "lognormal", "pareto"),
    )
    spread_s: float | None = _param(None, "normal: standard deviation in seconds", _K.DELAY, **_WAIT)
    shape: float | None = _param(
        None,
        "lognormal: sigma of the logarithm; pareto: alpha, the smaller the longer the tail",
        _K.DELAY,
        above=0,
        maximum=100,
    )
    min_s: float | None = _param(None, "seconds: no delay is shorter; pareto: its scale", _K.DELAY, usual=0.0, **_WAIT)
    max_s: float | None = _param(
        None, "seconds: no delay is longer", _K.DELAY, usual=DELAY_S_MAX, above=0, maximum=DELAY_S_MAX
    )
    chunk_bytes: int | None = _param(None, "bytes in one piece", _K.SLOW_BODY, usual=1, minimum=1, maximum=BYTES_MAX)
    gap_s: float | None = _param(
        None, "seconds between two pieces", _K.SLOW_BODY, usual=0.1, above=0, maximum=DELAY_S_MAX
    )
    bytes_per_s: int | None = _param(
        None, "bytes of the body in a second", _K.BANDWIDTH, usual=1024, minimum=1, maximum=BYTES_MAX
    )
    kept_bytes: int | None = _param(
        None, "how much of the body is sent; absent: half", _K.PARTIAL_BODY, _K.TRUNCATE, **_SIZE
    )
    changed_bytes: int | None = _param(
        None, "how many bytes of the payload are changed", _K.CORRUPT, usual=1, minimum=1, maximum=BYTES_MAX
    )
    how: str | None = _param(None, "end of the connection", _K.LOSE_ANSWER, usual="close", choices=("close", "reset"))
    back: int | None = _param(
        None, "repeat the answer so many calls ago", _K.STALE_ANSWER, usual=1, minimum=1, maximum=16
    )
    swap: bool | None = _param(None, "give each of the two calls the other's answer", _K.REORDER, usual=False)
    wait_s: float | None = _param(
        None,
        "seconds to wait for a second call before the answer leaves as it is",
        _K.REORDER,
        usual=30.0,
        above=0,
        maximum=DELAY_S_MAX,
    )
    rows: int | None = _param(
        None,
        "rows by which the ack index is wrong: below 0 too low, above 0 too high",
        _K.WRONG_ACK,
        minimum=-(2**31),
        maximum=2**31,
    )
    busy_s: float | None = _param(
        None, "seconds before the error, as a busy time-out would take", _K.DATABASE_BUSY, usual=0.0, **_WAIT
    )
    skew_s: float | None = _param(
        None,
        "seconds that the server's clock seems to be ahead (below 0: behind)",
        _K.CLOCK_SKEW,
        minimum=-SECONDS_MAX,
        maximum=SECONDS_MAX,
    )
    mode: str | None = _param(
        None, "orderly stop, or as if killed", _K.RESTART, usual="graceful", choices=("graceful", "kill")
    )
    down_s: float | None = _param(None, "seconds until the port is open again", _K.RESTART, usual=0.0, **_WAIT)

    def __post_init__(self) -> None:
        self._name_members()
        for name, problem in self._problems():
            if problem:
                raise InvalidInput(problem, field=name)
        for name, param in parameters_of(self.kind).items():
            if getattr(self, name) is None and param.default is not None:
                object.__setattr__(self, name, param.default)
        if self.stage is None:
            object.__setattr__(self, "stage", self.facts.stages[0])
        if self.kind is FaultKind.REFUSE and self.code is None and self.status is None:
            object.__setattr__(self, "code", Code.UNAVAILABLE)

    @property
    def facts(self) -> KindFacts:
        """Return the table's row for the kind."""
        return KINDS[self.kind]

    @property
    def transports(self) -> tuple[Transport, ...]:
        """Return where the rule acts."""
        if self.status is not None:
            return (Transport.HTTP,)
        return self.facts.transports if self.transport is None else (self.transport,)

    def shown(self) -> dict[str, Any]:
        """Return the fields that are set, as JSON-like values."""
        return {one.name: value for one in fields(self) if (value := getattr(self, one.name)) is not None}

    def _name_members(self) -> None:
        """Replace plain texts by the members of the closed vocabularies that they spell."""
        for name, vocabulary in _VOCABULARIES.items():
            value = getattr(self, name)
            if value is None or isinstance(value, vocabulary):
                continue
            if value not in tuple(vocabulary):
                raise InvalidInput(f"{name}: unknown {value!r}; one of {', '.join(vocabulary)}", field=name)
            object.__setattr__(self, name, vocabulary(value))

    def _problems(self) -> Iterator[tuple[str, str]]:
        if not 0 < len(self.name) <= NAME_LENGTH_MAX or not self.name.isprintable() or "/" in self.name:
            yield "name", f"name: 1 to {NAME_LENGTH_MAX} printable characters without a slash"
        for name, (_, param) in table().items():
            value = getattr(self, name)
            if value is None:
                continue
            if param.kinds and self.kind not in param.kinds:
                yield name, f"{name}: only for {' and '.join(param.kinds)}; leave it out for {self.kind}"
            yield name, param.problem(name, value)
        yield from self._contradictions()
        yield from _NEEDS.get(self.kind, lambda _: iter(()))(self)

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        facts = self.facts
        if self.stage is not None and self.stage not in facts.stages:
            yield "stage", f"stage: {self.kind} acts {facts.stages[0]} the work only; leave it out"
        if self.transport is not None and self.transport not in facts.transports:
            yield "transport", f"transport: {self.kind} cannot act on {self.transport}, because {facts.why_not_grpc}"
        if facts.methods and self.method != ANY_METHOD and self.method not in facts.methods:
            yield "method", f"method: {self.kind} acts on {', '.join(sorted(facts.methods))} only"
        if (self.period_s is None) != (self.open_s is None):
            yield "period_s", "period_s: a schedule needs both period_s and open_s"
        if self.period_s is not None and self.open_s is not None and self.open_s > self.period_s:
            yield "open_s", "open_s: at most period_s"
        if self.until_s is not None and self.until_s <= (self.from_s or 0.0):
            yield "until_s", "until_s: must be later than from_s"


def _needs_of_delay(fault: Fault) -> Iterator[tuple[str, str]]:
    form = fault.distribution or "fixed"
    for name, forms in _DELAY_NEEDS.items():
        is_given = getattr(fault, name) is not None
        if form in forms and not is_given:
            yield name, f"{name}: above 0 and at most {DELAY_S_MAX:.0f}; a {form} delay needs it"
        if is_given and form not in forms and name in ("delay_s", "spread_s", "shape"):
            yield name, f"{name}: a {form} delay does not use it; leave it out"
    if form == "pareto" and fault.min_s is not None and fault.min_s <= 0:
        yield "min_s", "min_s: above 0; it is the scale of a pareto delay"
    if (fault.min_s or 0.0) > (DELAY_S_MAX if fault.max_s is None else fault.max_s):
        yield "max_s", "max_s: at least min_s"


def _needs_of_refuse(fault: Fault) -> Iterator[tuple[str, str]]:
    if fault.status is not None and fault.code is not None:
        yield "status", "status: give a Connect code or a bare status, not both"
    for name in ("body", "content_type"):
        if getattr(fault, name) is not None and fault.status is None:
            yield name, f"{name}: goes with a bare status; set status"
    if fault.transport is Transport.GRPC:
        for name in ("status", "retry_after_s"):
            if getattr(fault, name) is not None:
                yield name, f"{name}: gRPC has status codes and no HTTP ones; use code"
    for name in ("content_type", "message"):
        value = getattr(fault, name)
        if value is not None and not value.isprintable():
            yield name, f"{name}: printable characters only"
    if fault.content_type is not None and not fault.content_type.isascii():
        yield "content_type", "content_type: ASCII characters only"


def _needs_rows(fault: Fault) -> Iterator[tuple[str, str]]:
    if not fault.rows:
        yield "rows", "rows: by how many rows the ack index is wrong; not 0"


def _needs_skew(fault: Fault) -> Iterator[tuple[str, str]]:
    if not fault.skew_s:
        yield "skew_s", "skew_s: by how many seconds the clock is off; not 0"


_DELAY_NEEDS: Final = {
    "delay_s": ("fixed", "normal", "lognormal"),
    "max_s": ("uniform",),
    "spread_s": ("normal",),
    "shape": ("lognormal", "pareto"),
    "min_s": ("pareto",),
}
_NEEDS: Final = {
    FaultKind.DELAY: _needs_of_delay,
    FaultKind.REFUSE: _needs_of_refuse,
    FaultKind.WRONG_ACK: _needs_rows,
    FaultKind.CLOCK_SKEW: _needs_skew,
}


def table() -> dict[str, tuple[Field[Any], Param]]:
    """Return every field by name, in the order of the documentation."""
    return {one.name: (one, one.metadata["param"]) for one in fields(Fault)}


def parameters_of(kind: FaultKind) -> dict[str, Param]:
    """Return the fields that belong to this kind alone or to a few with it."""
    return {name: param for name, (_, param) in table().items() if kind in param.kinds}
