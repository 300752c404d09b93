"""The expression language of workflows: ``${{ }}`` templates and ``if`` conditions, as GitHub evaluates them.

Pure: contexts, job status and file hashes come in through a Scope.
"""

from actionswire.expressions.errors import ExpressionError
from actionswire.expressions.evaluator import evaluate
from actionswire.expressions.nodes import Expression
from actionswire.expressions.parser import parse
from actionswire.expressions.scope import Scope
from actionswire.expressions.templates import (
    contexts_used,
    evaluate_condition,
    evaluate_template,
    expand,
    interpolate,
    uses_status_function,
)
from actionswire.expressions.values import Value, equals, to_number, to_text, truthy

__all__ = [
    "Expression",
    "ExpressionError",
    "Scope",
    "Value",
    "contexts_used",
    "equals",
    "evaluate",
    "evaluate_condition",
    "evaluate_template",
    "expand",
    "interpolate",
    "parse",
    "to_number",
    "to_text",
    "truthy",
    "uses_status_function",
]
