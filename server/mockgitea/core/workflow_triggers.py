"""Read `on`: which events start a workflow, and the inputs that a manual start takes.

Filters (branches, paths, types) are kept as written and not applied: whoever enqueues an event has decided already.
Source: docs/workflows.md, "Events".
"""

import re
from collections.abc import Mapping
from typing import Final

from actionswire.expressions import Value
from actionswire.expressions.values import is_array, is_object
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow_fields import flag, kind_of, mapping, text, texts
from mockgitea.core.workflow_model import DISPATCH, InputSpec, Trigger

INPUTS_MAX: Final = 100
EVENTS_MAX: Final = 100
INPUT_TYPES: Final = ("string", "boolean", "number", "choice", "environment")

_EVENT = re.compile(r"[a-z][a-z0-9_]*")


def read_triggers(document: Mapping[str, Value]) -> Mapping[str, Trigger]:
    """Read the `on` of a workflow: a text, a list of texts or a mapping.

    Raises:
        InvalidInput: missing, empty, or an entry that is no event.
    """
    if "on" not in document:
        raise InvalidInput("on: is missing; say which events start the workflow, e.g. `on: push`", field="on")
    value = document["on"]
    if is_object(value):
        triggers = {event: _trigger(event, details) for event, details in value.items()}
    else:
        triggers = {event: _trigger(event, None) for event in texts(value, "on")}
    if not triggers:
        raise InvalidInput("on: names no event; write e.g. `on: push`", field="on")
    if len(triggers) > EVENTS_MAX:
        raise InvalidInput(f"on: names {len(triggers)} events, more than {EVENTS_MAX}", field="on")
    return triggers


def _trigger(event: str, details: Value) -> Trigger:
    field = f"on.{event}"
    if not _EVENT.fullmatch(event):
        raise InvalidInput(f"{field}: is no event name; use lower-case words such as pull_request", field=field)
    if event == "schedule":
        return Trigger(event=event, filters={"schedule": _schedule(details, field)})
    if details is None:
        return Trigger(event=event)
    filters = mapping(details, field, "list its filters by name, or leave it empty")
    inputs = _inputs(filters.get("inputs"), f"{field}.inputs") if event == DISPATCH else {}
    return Trigger(event=event, filters=filters, inputs=inputs)


def _schedule(value: Value, field: str) -> Value:
    if value is None:
        return []
    if not is_array(value):
        raise InvalidInput(f"{field}: must be a list of `- cron: ...`, not {kind_of(value)}", field=field)
    for index, entry in enumerate(value):
        if not is_object(entry) or not isinstance(entry.get("cron"), str):
            raise InvalidInput(f"{field}[{index}]: must be `cron: <five fields>`", field=f"{field}[{index}]")
    return value


def _inputs(value: Value, field: str) -> Mapping[str, InputSpec]:
    if value is None:
        return {}
    entries = mapping(value, field, "name each input and say its type below")
    if len(entries) > INPUTS_MAX:
        raise InvalidInput(f"{field}: has {len(entries)} inputs, more than {INPUTS_MAX}", field=field)
    return {name: _input(name, details, f"{field}.{name}") for name, details in entries.items()}


def _input(name: str, details: Value, field: str) -> InputSpec:
    if details is None:
        return InputSpec(name=name)
    given = mapping(details, field, "write e.g. `type: string` below it")
    kind = text(given.get("type"), f"{field}.type") or "string"
    if kind not in INPUT_TYPES:
        raise InvalidInput(f"{field}.type: unknown {kind!r}; choose {', '.join(INPUT_TYPES)}", field=f"{field}.type")
    options = texts(given.get("options"), f"{field}.options")
    if kind == "choice" and not options:
        raise InvalidInput(f"{field}.options: is missing; a choice needs its options", field=f"{field}.options")
    text(given.get("default"), f"{field}.default")
    return InputSpec(
        name=name,
        type=kind,
        is_required=flag(given.get("required"), f"{field}.required"),
        default=given.get("default"),
        options=options,
    )
