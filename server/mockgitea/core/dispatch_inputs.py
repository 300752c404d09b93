"""Check and type the inputs of a manual start.

Two shapes leave here: typed values for the `inputs` context, and texts for `github.event.inputs`.
Source: docs/workflows.md, "Inputs".
"""

from collections.abc import Mapping
from typing import Any

from actionswire.expressions import Value, to_text
from actionswire.expressions.values import is_array, is_object, parse_number
from mockgitea.core.errors import InvalidInput
from mockgitea.core.workflow_model import InputSpec


def typed_inputs(specs: Mapping[str, InputSpec], given: Mapping[str, Any]) -> dict[str, Value]:
    """Return every declared input with its value or default, in the declared type.

    Args:
        specs: `on.workflow_dispatch.inputs`.
        given: what the caller sent; texts, or values that already have their type.

    Raises:
        InvalidInput: an unknown input, a required one without value, or a value of the wrong type.
    Source: docs/workflows.md, "Inputs".
    """
    for name in given:
        if name not in specs:
            known = ", ".join(specs) or "none"
            raise InvalidInput(
                f"inputs.{name}: the workflow has no such input; it has: {known}", field=f"inputs.{name}"
            )
    return {name: _typed(spec, given.get(name)) for name, spec in specs.items()}


def declared_only(specs: Mapping[str, InputSpec], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the given inputs that the file declares: a real server never looks at the others.

    A browser sends `on` for a checked box, so that is a boolean's true.
    """
    return {
        name: "true" if specs[name].type == "boolean" and value == "on" else value
        for name, value in given.items()
        if name in specs
    }


def event_inputs(inputs: Mapping[str, Value]) -> dict[str, str]:
    """Return typed inputs as `github.event.inputs` shows them: texts only."""
    return {name: to_text(value) for name, value in inputs.items()}


def _typed(spec: InputSpec, given: Any) -> Value:
    field = f"inputs.{spec.name}"
    if is_array(given) or is_object(given):
        raise InvalidInput(f"{field}: must be a text, not a list or mapping", field=field)
    is_missing = given is None or given == ""
    if is_missing and spec.is_required and spec.default in (None, ""):
        raise InvalidInput(f"{field}: is required; give it a value", field=field)
    value: Value = spec.default if is_missing else given
    if spec.type == "boolean":
        return _boolean(value, field)
    if spec.type == "number":
        return _number(value, field)
    text = to_text(value)
    if spec.type == "choice":
        text = text or (spec.options[0] if not spec.is_required else "")
        if text not in spec.options:
            raise InvalidInput(f"{field}: {text!r} is no option; choose {', '.join(spec.options)}", field=field)
    return text


def _boolean(value: Value, field: str) -> bool:
    if value in (None, ""):
        return False
    text = to_text(value)
    if text not in ("true", "false"):
        raise InvalidInput(f"{field}: must be true or false, not {text!r}", field=field)
    return text == "true"


def _number(value: Value, field: str) -> Value:
    if value in (None, ""):
        return None
    number = parse_number(to_text(value).strip())
    if number is None:
        raise InvalidInput(f"{field}: must be a number, not {to_text(value)!r}", field=field)
    return number
