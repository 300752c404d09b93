"""Strings with ``${{ }}`` in them, and conditions.

Knows when a status check is implied and what keeps its type; the expressions themselves are the evaluator's.

Source: docs/expressions.md, "Templates" and "Conditions".
"""

import re
from functools import lru_cache

from actionswire.expressions.errors import ExpressionError
from actionswire.expressions.evaluator import check_contexts, evaluate
from actionswire.expressions.nodes import Expression
from actionswire.expressions.parser import parse
from actionswire.expressions.scope import Scope
from actionswire.expressions.values import WHITE_SPACE, Value, is_array, is_object, to_text, truthy

TEMPLATE_RESULT_CHARS_MAX = 10 * 1024 * 1024
_VALUE_DEPTH_MAX = 100
# Together they bound what the cache of split templates can hold.
_CACHED_TEMPLATES = 512
_CACHED_TEMPLATE_CHARS = 4096

_OPEN = "${{"
# Up to the first closing braces that are not within a quoted text. The first character decides the alternative, so a
# failing match tries nothing twice; a doubled quote is one quoted text directly after another. No possessive
# quantifiers: Python before 3.11.4 gets nested ones wrong.
_BODY = re.compile(r"(?P<inner>(?:[^'}]|'[^']*'|\}(?!\}))*)\}\}")


def interpolate(text: str, scope: Scope) -> str:
    """Replace every ``${{ }}`` in ``text`` by the text of its value; the result is not looked at again.

    Args:
        text: any text; without braces it is returned as it is, and so is an opening without any closing braces.
        scope: see `evaluate`.

    Returns:
        At most TEMPLATE_RESULT_CHARS_MAX characters.

    Raises:
        ExpressionError: an expression does not parse or evaluate, or the result is too long.
    Source: docs/expressions.md, "Templates".
    """
    parts: list[str] = []
    chars = 0
    for part in _split(text):
        parts.append(part if isinstance(part, str) else to_text(evaluate(part, scope)))
        chars += len(parts[-1])
        if chars > TEMPLATE_RESULT_CHARS_MAX and len(parts) > 1:
            raise ExpressionError(f"the text grows beyond {TEMPLATE_RESULT_CHARS_MAX} characters", text, 1)
    return "".join(parts)


def evaluate_template(text: str, scope: Scope) -> Value:
    """Evaluate a value of a workflow: text that is exactly one ``${{ }}`` keeps the type of its result.

    Args:
        text: as for `interpolate`.
        scope: see `evaluate`.

    Returns:
        Any value for a lone ``${{ }}``; otherwise what `interpolate` returns.

    Raises:
        ExpressionError: as `interpolate`.
    Source: docs/expressions.md, "Templates".
    """
    parts = _split(text)
    if len(parts) == 1 and isinstance(parts[0], Expression):
        return evaluate(parts[0], scope)
    return interpolate(text, scope)


def evaluate_condition(value: Value, scope: Scope, *, default: str = "success()") -> bool:
    """Decide an ``if``.

    A condition without a status function means ``success() && (condition)``. Text that mixes words and braces is no
    expression but a text, and true unless it is empty.

    Args:
        value: what the workflow says: text with or without braces, a boolean, a number, or nothing.
        scope: see `evaluate`; ``scope.status`` decides.
        default: the condition when ``value`` is None or blank.

    Returns:
        Whether the step or job goes ahead.

    Raises:
        ExpressionError: the condition does not parse or evaluate, or is a list or mapping.
    Source: docs/expressions.md, "Conditions".
    """
    if value is None or (isinstance(value, str) and not value.strip(WHITE_SPACE)):
        value = default
    if is_array(value) or is_object(value):
        raise ExpressionError("a condition must be a text, a boolean or a number", to_text(value), 1)
    if not isinstance(value, str):
        return scope.ask_status("success") and truthy(value)
    parts = _condition_parts(value)
    expressions = _expressions(parts)
    for expression in expressions:
        check_contexts(expression, scope)
    if not any(expression.has_status_call for expression in expressions) and not scope.ask_status("success"):
        return False
    return truthy(evaluate(expressions[0], scope) if len(parts) == 1 else interpolate(value, scope))


def expand(value: Value, scope: Scope) -> Value:
    """Evaluate every text in ``value``, at any depth; keys become text, other values keep their type.

    Args:
        value: as loaded from a workflow; it is not changed.
        scope: see `evaluate`.

    Returns:
        A new value. Of two keys that become equal the last wins.

    Raises:
        ExpressionError: as `interpolate`, or ``value`` is nested too deeply.
    Source: docs/expressions.md, "Templates".
    """
    return _expand(value, scope, _VALUE_DEPTH_MAX)


def uses_status_function(text: str) -> bool:
    """Tell whether the condition ``text`` calls success, failure, cancelled or always.

    A name within a quoted text does not count.

    Raises:
        ExpressionError: the condition does not parse.
    Source: docs/expressions.md, "Conditions".
    """
    if not text.strip(WHITE_SPACE):
        return False
    return any(expression.has_status_call for expression in _expressions(_condition_parts(text)))


def contexts_used(text: str) -> frozenset[str]:
    """Return the lower-case names of the contexts that a template or a condition refers to.

    Text without braces is read as a condition; when it does not parse as one, it is plain text and refers to nothing.

    Raises:
        ExpressionError: an expression in braces does not parse.
    Source: docs/expressions.md, "Templates".
    """
    expressions = _expressions(_split(text))
    if not expressions:
        try:
            expressions = [parse(text)]
        except ExpressionError:
            return frozenset()
    return frozenset(context.name.lower() for expression in expressions for context in expression.contexts)


def _expand(value: Value, scope: Scope, levels: int) -> Value:
    if isinstance(value, str):
        return evaluate_template(value, scope)
    if not (is_array(value) or is_object(value)):
        return value
    if levels == 0:
        raise ExpressionError(f"the value is nested deeper than {_VALUE_DEPTH_MAX} levels", to_text(value), 1)
    if is_object(value):
        return {interpolate(key, scope): _expand(item, scope, levels - 1) for key, item in value.items()}
    return [_expand(item, scope, levels - 1) for item in value]


def _condition_parts(text: str) -> tuple[str | Expression, ...]:
    parts = _split(text)
    return parts if _expressions(parts) else (parse(text),)


def _expressions(parts: tuple[str | Expression, ...]) -> list[Expression]:
    return [part for part in parts if isinstance(part, Expression)]


def _split(text: str) -> tuple[str | Expression, ...]:
    """Split a template into literal texts and parsed expressions, in order; empty texts are left out."""
    return _split_cached(text) if len(text) <= _CACHED_TEMPLATE_CHARS else _split_fresh(text)


def _split_fresh(text: str) -> tuple[str | Expression, ...]:
    parts: list[str | Expression] = []
    done = 0
    while (start := text.find(_OPEN, done)) >= 0:
        body = _BODY.match(text, start + len(_OPEN))
        if body is None:
            if "}}" not in text[start:]:
                break
            raise ExpressionError("a text in this expression has no closing quote", text[start:], 1)
        parts += [text[done:start]] if start > done else []
        parts.append(parse(body["inner"].strip(WHITE_SPACE)))
        done = body.end()
    parts += [text[done:]] if done < len(text) or not parts else []
    return tuple(parts)


_split_cached = lru_cache(maxsize=_CACHED_TEMPLATES)(_split_fresh)
