"""The fault and downtime rules of a scenario: the fields of the control API, and what virtual time cannot do.

A rule's seconds count from the start of the simulation. Knows no gate and no call.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pydantic import BaseModel, ValidationError

from mockgitea.core.downtime import SECOND_US, Downtime
from mockgitea.core.errors import InvalidInput
from mockgitea.core.faults import Fault, FaultKind, Transport
from mockgitea.lab.fields import Fields, ScenarioError
from mockgitea.transport.control.fault_models import NewDowntime, NewFault

RULES_MAX: Final = 100


def read_faults(top: Fields) -> tuple[Fault, ...]:
    """Read ``faults``; a rule without a name gets that of its kind and place. Raises `ScenarioError`."""
    found = []
    for where, values in _rules(top, "faults"):
        body = _checked(NewFault, values, where)
        try:
            fault = Fault(**{name: value for name, value in body if value is not None})
        except InvalidInput as error:
            raise ScenarioError(f"{where}.{error}") from error
        if problem := _beyond_virtual_time(fault):
            raise ScenarioError(f"{where}.{problem}")
        found.append(fault)
    return tuple(found)


def read_downtime(top: Fields, *, beside: Sequence[Fault] = ()) -> tuple[Downtime, ...]:
    """Read ``downtime``, likewise; no name may be one of the faults ``beside`` it."""
    found = []
    for where, values in _rules(top, "downtime", taken=[fault.name for fault in beside]):
        body = _checked(NewDowntime, values, where)
        try:
            found.append(Downtime(**body.model_dump()))
        except InvalidInput as error:
            raise ScenarioError(f"{where}.{error}") from error
    return tuple(found)


def check_times(rules: Sequence[Downtime], end_us: int) -> None:
    """Raise `ScenarioError` when the simulation is over before the first window of a rule has ended."""
    for rule in rules:
        if (rule.start_s + rule.jitter_s + rule.duration_s) * SECOND_US > end_us:
            raise ScenarioError(f"downtime: {rule.name} ends after the simulation; shorten it or lengthen duration_s")


def _beyond_virtual_time(fault: Fault) -> str:
    """Return what is wrong with a rule in virtual time; empty when nothing is."""
    if fault.transport is Transport.GRPC:
        return "transport: virtual time has no gRPC port; leave it out"
    if fault.kind is FaultKind.HOLD:
        return "kind: nobody is there to release a hold in a scenario; write hang, with a ttl_s"
    return ""


def _rules(top: Fields, name: str, taken: Sequence[str] = ()) -> list[tuple[str, Mapping[str, Any]]]:
    """Return every rule's path and fields, each with a name of its own."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    names = set(taken)
    for place, values in enumerate(top.mappings(name, maximum=RULES_MAX)):
        where = f"{name}[{place}]"
        named = {"name": f"{values.get('kind')}-{place + 1}", **values}
        if named["name"] in names:
            raise ScenarioError(f"{where}.name: {named['name']!r} is taken; give each rule its own")
        names.add(str(named["name"]))
        found.append((where, named))
    return found


def _checked(model: type[BaseModel], values: Mapping[str, Any], where: str) -> BaseModel:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ScenarioError(f"{where}.{place}: {first['msg']}") from error
