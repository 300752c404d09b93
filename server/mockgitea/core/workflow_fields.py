"""Typed reading of one field of a loaded workflow: the value, or a refusal that names the field and the fix.

Knows what kinds of YAML values there are, and how an expression is checked without being evaluated.
"""

from collections.abc import Mapping
from typing import Final

from actionswire.expressions import ExpressionError, Value, contexts_used, to_text, uses_status_function
from actionswire.expressions.values import is_array, is_object
from mockgitea.core.errors import InvalidInput

OPENING: Final = "${{"


def kind_of(value: Value) -> str:
    """Name the kind of ``value`` the way a YAML author would."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, int | float):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if is_array(value) else "a mapping"


def mapping(value: Value, field: str, fix: str) -> Mapping[str, Value]:
    """Return ``value`` when it is a mapping.

    Raises:
        InvalidInput: it is something else; ``fix`` says what to write instead.
    """
    if not is_object(value):
        raise InvalidInput(f"{field}: must be a mapping, not {kind_of(value)}; {fix}", field=field)
    return value


def text(value: Value, field: str) -> str:
    """Return a scalar as text; empty for null.

    Raises:
        InvalidInput: a list or mapping.
    """
    if is_array(value) or is_object(value):
        raise InvalidInput(f"{field}: must be a text, not {kind_of(value)}", field=field)
    return to_text(value)


def texts(value: Value, field: str) -> tuple[str, ...]:
    """Return a text, or a list of texts, as a tuple; null is an empty one.

    Raises:
        InvalidInput: a mapping, or an entry that is no text.
    """
    if value is None:
        return ()
    if is_array(value):
        for index, entry in enumerate(value):
            if entry is None:
                raise InvalidInput(
                    f"{field}[{index}]: is empty; remove it or give it a name", field=f"{field}[{index}]"
                )
        return tuple(text(entry, f"{field}[{index}]") for index, entry in enumerate(value))
    if is_object(value):
        raise InvalidInput(f"{field}: must be a text or a list of texts, not a mapping", field=field)
    return (to_text(value),)


def flag(value: Value, field: str) -> bool:
    """Return a boolean; null is false.

    Raises:
        InvalidInput: anything else.
    """
    if value is None:
        return False
    if not isinstance(value, bool):
        raise InvalidInput(f"{field}: must be true or false, not {kind_of(value)}", field=field)
    return value


def has_expression(value: Value) -> bool:
    """Tell whether any text inside ``value`` holds an expression."""
    if isinstance(value, str):
        return OPENING in value
    if is_object(value):
        return any(OPENING in key or has_expression(item) for key, item in value.items())
    return is_array(value) and any(has_expression(item) for item in value)


def check_expressions(value: Value, field: str) -> None:
    """Refuse a text inside ``value`` whose expression does not parse.

    Raises:
        InvalidInput: names the path below ``field``.
    """
    if isinstance(value, str):
        if OPENING in value:
            _parse(value, field)
    elif is_object(value):
        for key, item in value.items():
            check_expressions(item, f"{field}.{key}")
    elif is_array(value):
        for index, item in enumerate(value):
            check_expressions(item, f"{field}[{index}]")


def condition(value: Value, field: str) -> str:
    """Return an `if` as text, empty when there is none, after checking that it parses.

    Raises:
        InvalidInput: a list or mapping, or a condition that does not parse.
    """
    written = text(value, field).strip()
    try:
        uses_status_function(written)
    except ExpressionError as error:
        raise bad_expression(error, field) from error
    return written


def bad_expression(error: ExpressionError, field: str) -> InvalidInput:
    """Turn an expression's error into a refusal that names the field."""
    return InvalidInput(f"{field}: {error}", field=field)


def _parse(template: str, field: str) -> None:
    try:
        contexts_used(template)
    except ExpressionError as error:
        raise bad_expression(error, field) from error
