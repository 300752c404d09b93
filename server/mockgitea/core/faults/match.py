"""Which calls a rule is about: method, runner, label, task and header of a call, compared with the rule's fields.

Source: docs/faults.md, "Which calls".
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mockgitea.core.calls import Method
from mockgitea.core.faults.kinds import Transport
from mockgitea.core.faults.rule import ANY_METHOD, Fault


@dataclass(slots=True, kw_only=True, eq=False)
class Call:
    """What is known of a call before it is served. Who calls is what its headers claim; nobody has proved it yet."""

    method: Method
    transport: Transport = Transport.HTTP
    runner_uuid: str = ""
    runner_name: str = ""
    labels: Sequence[str] = ()
    task_id: int = 0
    """The task that UpdateTask or UpdateLog is about; 0 for none or unknown."""
    headers: Sequence[tuple[bytes, bytes]] = ()
    """Names in lower case."""


def fits(fault: Fault, call: Call) -> bool:
    """Tell whether the rule is about this call, whatever the time."""
    methods = fault.facts.methods
    return (
        fault.method in (ANY_METHOD, call.method)
        and (not methods or call.method in methods)
        and call.transport in fault.transports
        and (fault.runner is None or fault.runner in (call.runner_uuid, call.runner_name))
        and (fault.label is None or fault.label in call.labels)
        and (fault.task is None or fault.task == call.task_id)
        and (fault.header is None or _has_header(call.headers, fault.header))
    )


def _has_header(headers: Sequence[tuple[bytes, bytes]], wanted: str) -> bool:
    name, colon, value = wanted.partition(":")
    key, text = name.strip().lower().encode(), value.strip().encode()
    return any(found == key and (not colon or content == text) for found, content in headers)
