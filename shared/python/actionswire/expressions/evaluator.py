"""Evaluate a syntax tree in a scope.

Decides nothing about templates or conditions. Recursion is bounded by the depth that the parser allows.

Source: docs/expressions.md, "Values" and "Paths".
"""

from collections.abc import Iterator

from actionswire.expressions.errors import ExpressionError
from actionswire.expressions.functions import FUNCTIONS, Evaluation, FunctionFailure
from actionswire.expressions.nodes import (
    Call,
    Comparison,
    ContextName,
    Expression,
    Filter,
    Index,
    Literal,
    Logical,
    Node,
    Not,
)
from actionswire.expressions.parser import parse
from actionswire.expressions.scope import Scope
from actionswire.expressions.values import (
    Value,
    equals,
    is_array,
    is_object,
    lookup,
    order,
    to_number,
    to_text,
    truthy,
)

_ORDERS: dict[str, frozenset[int | None]] = {
    "<": frozenset((-1,)),
    "<=": frozenset((-1, 0)),
    ">": frozenset((1,)),
    ">=": frozenset((1, 0)),
}


class _FilteredArray(list[Value]):
    """The result of ``.*``: a further property or index applies to its elements."""


def evaluate(text_or_node: str | Expression, scope: Scope) -> Value:
    """Evaluate one expression, given without braces or already parsed.

    Args:
        text_or_node: at most EXPRESSION_CHARS_MAX characters, or what `parse` returned.
        scope: contexts and services; every context that the expression names must be in it.

    Returns:
        The value; numbers are int or float without a difference in meaning. Values of contexts are not copied.

    Raises:
        ExpressionError: it does not parse, names an unknown context, or a function refuses its arguments.
    Source: docs/expressions.md, "Values".
    """
    expression = parse(text_or_node) if isinstance(text_or_node, str) else text_or_node
    check_contexts(expression, scope)
    value = _Evaluator(expression.text, scope).value(expression.root)
    return list(value) if isinstance(value, _FilteredArray) else value


def check_contexts(expression: Expression, scope: Scope) -> None:
    """Refuse a context name that ``scope`` does not have, also in a part that would not be evaluated.

    Raises:
        ExpressionError: at the first such name.
    """
    for context in expression.contexts:
        if not scope.find(context.name)[0]:
            known = ", ".join(sorted(scope.contexts)) or "none"
            raise ExpressionError(
                f"unknown name {context.name} (known here: {known})", expression.text, context.position
            )


class _Evaluator:
    """One evaluation of one expression."""

    def __init__(self, text: str, scope: Scope) -> None:
        self._text = text
        self._evaluation = Evaluation(scope)

    def value(self, node: Node) -> Value:
        match node:
            case Literal(value):
                return value
            case ContextName(name):
                return self._evaluation.scope.find(name)[1]
            case Index(target, key):
                return _index(self.value(target), self.value(key))
            case Filter(target):
                return _filter(self.value(target))
            case Not(operand):
                return not truthy(self.value(operand))
            case Comparison(operator, left, right):
                return _compare(operator, self.value(left), self.value(right))
            case Logical():
                return self._logical(node)
            case Call():
                return self._call(node)

    def _logical(self, node: Logical) -> Value:
        stops_at = node.operator == "||"
        value: Value = None
        for operand in node.operands:
            value = self.value(operand)
            if truthy(value) is stops_at:
                break
        return value

    def _call(self, node: Call) -> Value:
        function = FUNCTIONS[node.function]
        arguments = [self.value(argument) for argument in node.arguments]
        try:
            return function.run(self._evaluation, arguments)
        except FunctionFailure as error:
            raise ExpressionError(f"{function.name}: {error}", self._text, node.position) from error


def _compare(operator: str, left: Value, right: Value) -> bool:
    if operator in ("==", "!="):
        return equals(left, right) is (operator == "==")
    return order(left, right) in _ORDERS[operator]


def _index(target: Value, key: Value) -> Value:
    if isinstance(target, _FilteredArray):
        return _FilteredArray(value for item in target for value in _found(item, key))
    return next(_found(target, key), None)


def _found(target: Value, key: Value) -> Iterator[Value]:
    """Yield the one value at ``key``, or nothing."""
    if is_array(key) or is_object(key):
        return
    if is_object(target):
        found, value = lookup(target, to_text(key))
        if found:
            yield value
    elif is_array(target):
        position = to_number(key)
        if 0 <= position < len(target):
            yield target[int(position)]


def _filter(target: Value) -> Value:
    if isinstance(target, _FilteredArray):
        return _FilteredArray(value for item in target for value in _elements(item))
    return _FilteredArray(_elements(target))


def _elements(target: Value) -> Iterator[Value]:
    if is_object(target):
        yield from target.values()
    elif is_array(target):
        yield from target
