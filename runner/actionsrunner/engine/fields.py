"""Single values of a workflow as the runner needs them: minutes, yes or no, maps of text. Pure."""

import math
from collections.abc import Mapping
from typing import Final

from actionsrunner.engine.plan import describe
from actionswire.expressions import ExpressionError, Scope, Value, evaluate_template, expand, to_text

MINUTES_MAX: Final = 60 * 24 * 365


class FieldError(Exception):
    """A field whose value cannot be used; the text names the field."""


def evaluate_field(value: Value, scope: Scope, where: str) -> Value:
    """Evaluate a field at any depth.

    Raises:
        FieldError: an expression in it does not parse or evaluate; the text names ``where``.
    """
    try:
        return expand(value, scope)
    except ExpressionError as error:
        raise FieldError(f"{where}: {error}") from error


def text_field(value: str, scope: Scope, where: str) -> str:
    """Evaluate a field that is text.

    Raises:
        FieldError: as `evaluate_field`.
    """
    try:
        return to_text(evaluate_template(value, scope))
    except ExpressionError as error:
        raise FieldError(f"{where}: {error}") from error


def minutes_field(value: Value, scope: Scope, where: str) -> float | None:
    """Read a number of minutes; fractions are fine.

    Returns:
        Seconds, or None when the field is absent or evaluates to nothing.

    Raises:
        FieldError: no positive number.
    """
    evaluated = evaluate_field(value, scope, where)
    text = to_text(evaluated).strip()
    if evaluated is None or not text:
        return None
    try:
        # The language's own numbers: Python would also take underscores and other scripts' digits.
        minutes = float(text) if text.isascii() and "_" not in text else math.nan
    except ValueError:
        minutes = math.nan
    if not 0 < minutes <= MINUTES_MAX:
        raise FieldError(f"{where} must be a number of minutes above 0, found {describe(evaluated)}")
    return minutes * 60


def boolean_field(value: Value, scope: Scope, where: str) -> bool:
    """Read true or false; absent means false.

    Raises:
        FieldError: anything else.
    """
    evaluated = evaluate_field(value, scope, where)
    if evaluated is None or isinstance(evaluated, bool):
        return bool(evaluated)
    match to_text(evaluated).strip().lower():
        case "true":
            return True
        case "false" | "":
            return False
        case _:
            raise FieldError(f"{where} must be true or false, found {describe(evaluated)}")


def env_field(value: Value, scope: Scope, where: str) -> dict[str, str]:
    """Evaluate an `env` into texts, in source order.

    Raises:
        FieldError: not a mapping of single values, or an expression fails.
    """
    evaluated = evaluate_field(value, scope, where)
    if evaluated is None or evaluated == "":
        return {}
    if not isinstance(evaluated, Mapping):
        raise FieldError(f"{where} must be a mapping, found {describe(evaluated)}")
    for name, item in evaluated.items():
        if isinstance(item, Mapping | list):
            raise FieldError(f"{where}.{name} must be a single value, found {describe(item)}")
        if not name or "=" in name or "\0" in name + to_text(item):
            raise FieldError(f"{where}: {name!r} cannot be an environment variable")
    return {name: to_text(item) for name, item in evaluated.items()}
