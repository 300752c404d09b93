"""Scenario files: YAML text to a checked `Scenario`, every mistake named by its field with the way to mend it.

The schema is docs/lab.md, "Scenario files".
"""

from importlib import resources
from pathlib import Path
from typing import Any, Final

import yaml

from mockgitea.core.profiles import DEFAULT_PROFILE, PROFILES
from mockgitea.lab.fields import Fields, ScenarioError
from mockgitea.lab.fleet import FleetPlan
from mockgitea.lab.rule_reader import check_times, read_downtime, read_faults
from mockgitea.lab.scenario import LinkPlan, Scenario, TimeMode, WatchPlan, WorkloadPlan
from mockgitea.lab.shapes import (
    BURST_PIECE_ROWS,
    BURST_ROWS,
    SHAPE_NAMES,
    STEPS,
    JobShape,
    RecordedRow,
    built_in,
)
from mockgitea.lab.strategies import StrategyChoice
from mockgitea.lab.workload import ArrivalKind, Arrivals, shapes_of
from mockgitea.settings import table

PRESETS: Final = (
    "headline",
    "capacity-60",
    "capacity-60-full",
    "outage",
    "outage-running",
    "idle",
    "mixed-day",
    "silent",
    "connections",
)
BURSTING: Final = ("bursty-install", "mixed")
"""Workloads with bursts, whose pieces can be set."""
RUNNERS_MAX: Final = 100_000
CAPACITY_MAX: Final = 1_000
SPAN_S_MAX: Final = 31 * 86_400.0
STRATEGIES_MAX: Final = 50
FILE_BYTES_MAX: Final = 1024 * 1024
LOG_BYTES_MAX: Final = 64 * 1024 * 1024
_RESERVED_SETTINGS: Final = frozenset(
    {"profile", "seed", "repositories", "app_url", "registration_token", "api_token", "journal_entries", "clock",
     "database", "host", "port", "control_host", "control_port", "grpc_port", "ready_file"}
)  # fmt: skip


def read_preset(name: str) -> Scenario:
    """Return one of `PRESETS`; raises `ScenarioError` for another name."""
    if name not in PRESETS:
        raise ScenarioError(f"preset: unknown name {name!r}; choose one of {', '.join(PRESETS)}")
    text = (resources.files("mockgitea.lab") / "presets" / f"{name}.yaml").read_text(encoding="utf-8")
    return parse(text, name=name)


def read_file(path: Path) -> Scenario:
    """Return the scenario in a file; a recorded log is looked for beside it. Raises `ScenarioError`."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise ScenarioError(f"{path}: larger than {FILE_BYTES_MAX} bytes; a scenario is a page of text")
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    return parse(text, name=path.stem, folder=path.parent)


def parse(text: str, *, name: str, folder: Path | None = None) -> Scenario:
    """Read YAML.

    Args:
        text: the file.
        name: used when the file gives none.
        folder: where recorded logs are; None = there can be none.

    Raises:
        ScenarioError: the text begins with the path of the field.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f"scenario: not valid YAML ({error})") from error
    top = Fields.of(content, "")
    faults = read_faults(top)
    scenario = Scenario(
        name=top.text("name", default=name),
        description=top.text("description", default=""),
        fleet=_fleet(top.section("fleet")),
        workload=_workload(top.section("workload", is_optional=True), folder),
        strategies=_strategies(top),
        duration_us=top.whole_seconds("duration_s", minimum=1, maximum=SPAN_S_MAX),
        warm_up_us=top.whole_seconds("warm_up_s", default=120, minimum=0, maximum=SPAN_S_MAX),
        seed=top.number("seed", default=1, minimum=0, maximum=2**63 - 1),
        time=TimeMode(top.choice("time", [mode.value for mode in TimeMode], default=TimeMode.VIRTUAL.value)),
        profile=top.choice("profile", list(PROFILES), default=DEFAULT_PROFILE),
        server=_server(top.section("server", is_optional=True)),
        link=_link(top.section("link", is_optional=True)),
        faults=faults,
        downtime=read_downtime(top, beside=faults),
        watch=_watch(top.section("watch", is_optional=True)),
    )
    top.finish()
    check_times(scenario.downtime, scenario.end_us)
    return scenario


def _fleet(fields: Fields) -> FleetPlan:
    capacity = fields.number("capacity", default=1, minimum=1, maximum=CAPACITY_MAX)
    plan = FleetPlan(
        runners=fields.number("runners", minimum=1, maximum=RUNNERS_MAX),
        capacity=capacity,
        labels=fields.texts("labels"),
        start_spread_us=fields.micros("start_spread_s", default=0.0, maximum=SPAN_S_MAX),
        running_tasks=fields.number("running_tasks", default=0, minimum=0, maximum=capacity),
    )
    fields.finish()
    return plan


def _workload(fields: Fields, folder: Path | None) -> WorkloadPlan:
    name = fields.choice("shape", [*SHAPE_NAMES, "mixed", "recorded"], default="mixed")
    duration_s = fields.seconds("job_s", default=0.0, minimum=0, maximum=SPAN_S_MAX) or None
    if name == "recorded":
        shapes: tuple[JobShape, ...] = (_recorded(fields, folder, duration_s),)
    else:
        piece = _burst_piece(fields) if name in BURSTING else BURST_PIECE_ROWS
        known = {one: built_in(one, duration_s=duration_s, burst_piece_rows=piece) for one in SHAPE_NAMES}
        shapes = shapes_of(name, known)
    arrivals = _arrivals(fields.section("arrivals", is_optional=True))
    fields.finish()
    return WorkloadPlan(shapes=shapes, arrivals=arrivals)


def _burst_piece(fields: Fields) -> int:
    rows = fields.number("burst_piece_rows", default=BURST_PIECE_ROWS, minimum=1, maximum=BURST_ROWS)
    if BURST_ROWS % rows:
        raise ScenarioError(f"{fields.path('burst_piece_rows')}: must divide the {BURST_ROWS} rows of a burst evenly")
    return rows


def _arrivals(fields: Fields) -> Arrivals:
    kind = ArrivalKind(fields.choice("process", [one.value for one in ArrivalKind], default=ArrivalKind.NONE.value))
    at_start = kind is ArrivalKind.AT_START
    has_rate = kind in (ArrivalKind.POISSON, ArrivalKind.FIXED_RATE)
    arrivals = Arrivals(
        kind=kind,
        jobs=fields.number("jobs", minimum=1, maximum=1_000_000) if at_start else 0,
        per_hour=fields.seconds("per_hour", minimum=0.001, maximum=10_000_000.0) if has_rate else 0.0,
        start_us=fields.micros("start_s", default=0.0, maximum=SPAN_S_MAX),
    )
    fields.finish()
    return arrivals


def _recorded(fields: Fields, folder: Path | None, duration_s: float | None) -> JobShape:
    """Read a log of lines ``<seconds from the start> <text>``."""
    where = fields.path("log")
    path = (folder or Path()) / fields.text("log")
    rows: list[RecordedRow] = []
    try:
        if path.stat().st_size > LOG_BYTES_MAX:
            raise ScenarioError(f"{where}: larger than {LOG_BYTES_MAX} bytes")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{where}: cannot read {path} ({error})") from error
    for number, line in enumerate(lines, 1):
        stamp, _, text = line.partition(" ")
        try:
            at_us = round(float(stamp) * 1e6)
        except (ValueError, OverflowError) as error:
            raise ScenarioError(f"{where}: line {number} must begin with seconds from the start") from error
        if at_us < (rows[-1].at_us if rows else 0):
            raise ScenarioError(f"{where}: line {number} is earlier than the one before")
        rows.append(RecordedRow(at_us, text))
    total_us = round(duration_s * 1e6) if duration_s else (rows[-1].at_us if rows else 0) + STEPS
    return JobShape(name="recorded", step_us=max(1, -(-total_us // STEPS)), rows=tuple(rows))


def _strategies(top: Fields) -> tuple[StrategyChoice, ...]:
    choices = []
    for fields in top.sections("strategies", minimum=1, maximum=STRATEGIES_MAX):
        choices.append(
            StrategyChoice(
                name=fields.text("name"),
                label=fields.text("label", default=""),
                poll=fields.mapping("poll"),
                report=fields.mapping("report"),
                pool=fields.mapping("pool"),
            )
        )
        fields.finish()
    titles = [choice.title for choice in choices]
    for place, title in enumerate(titles):
        if title in titles[:place]:
            raise ScenarioError(f"strategies[{place}].label: {title!r} is taken; give each its own label")
    return tuple(choices)


def _server(fields: Fields) -> dict[str, Any]:
    settings = table()
    found: dict[str, Any] = {}
    for name in fields.names():
        if name not in settings or name in _RESERVED_SETTINGS:
            raise ScenarioError(f"{fields.path(name)}: not a server setting that a scenario may change")
        spec = settings[name][1]
        low, high = spec.minimum or 0, spec.maximum or 2**31
        wants_float = isinstance(settings[name][0].default, float)
        found[name] = (
            fields.seconds(name, minimum=low, maximum=high)
            if wants_float
            else fields.number(name, minimum=int(low), maximum=int(high))
        )
    return found


def _link(fields: Fields) -> LinkPlan:
    plan = LinkPlan(
        round_trip_us=fields.micros("round_trip_s", default=0.0, maximum=60.0), has_tls=fields.flag("tls", default=True)
    )
    fields.finish()
    return plan


def _watch(fields: Fields) -> WatchPlan:
    usual = WatchPlan()
    plan = WatchPlan(
        phase_us=fields.micros("phase_s", default=usual.phase_us / 1e6, maximum=0.999_999),
        sampled_tasks=fields.number("sampled_tasks", default=0, minimum=0, maximum=1_000),
    )
    fields.finish()
    return plan
