"""Turn the text of an expression into a tree: operator precedence by hand, bounded in length and depth.

Comparisons group to the left and ``==`` binds less tightly than ``<``, as on GitHub. Knows function names and argument
counts, because a wrong one is an error even where it would never be evaluated.

Source: docs/expressions.md, "Syntax".
"""

import math
from functools import lru_cache

from actionswire.expressions.errors import ExpressionError
from actionswire.expressions.functions import FUNCTIONS, STATUS_FUNCTIONS
from actionswire.expressions.lexer import Token, tokenize
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
    walk,
)

EXPRESSION_CHARS_MAX = 21_000
EXPRESSION_DEPTH_MAX = 50
_CACHED_EXPRESSIONS = 512

_BINDING_POWER = {"||": 1, "&&": 2, "==": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4}
_KEYWORDS = {"null": None, "true": True, "false": False, "NaN": math.nan, "Infinity": math.inf}


@lru_cache(maxsize=_CACHED_EXPRESSIONS)
def parse(text: str) -> Expression:
    """Parse one expression, without the braces.

    Args:
        text: at most EXPRESSION_CHARS_MAX characters.

    Returns:
        The tree; the same object for the same text while it is cached.

    Raises:
        ExpressionError: syntax, unknown function, wrong number of arguments, too long or too deep.
    Source: docs/expressions.md, "Syntax".
    """
    if len(text) > EXPRESSION_CHARS_MAX:
        raise ExpressionError(
            f"the expression has {len(text)} characters, more than {EXPRESSION_CHARS_MAX}", text, EXPRESSION_CHARS_MAX
        )
    return _survey(text, _Parser(text).whole())


def _survey(text: str, root: Node) -> Expression:
    contexts = []
    has_status_call = False
    for node, depth in walk(root):
        if depth > EXPRESSION_DEPTH_MAX:
            raise _too_deep(text, 1)
        if isinstance(node, ContextName):
            contexts.append(node)
        elif isinstance(node, Call) and node.function in STATUS_FUNCTIONS:
            has_status_call = True
    return Expression(text, root, tuple(contexts), has_status_call)


def _too_deep(text: str, position: int) -> ExpressionError:
    return ExpressionError(f"the expression is nested deeper than {EXPRESSION_DEPTH_MAX} levels", text, position)


class _Parser:
    """One pass over the tokens of one expression."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokenize(text)
        self._next = 0
        self._nesting = 0

    def whole(self) -> Node:
        if self._peek.kind == "end":
            raise ExpressionError("the expression is empty", self._text, 1)
        node = self._binary(0)
        if self._peek.kind != "end":
            raise self._unexpected("an operator or the end")
        return node

    @property
    def _peek(self) -> Token:
        return self._tokens[self._next]

    def _take(self) -> Token:
        token = self._tokens[self._next]
        self._next += 1
        return token

    def _at(self, operator: str) -> bool:
        return self._peek.kind == "operator" and self._peek.text == operator

    def _accept(self, operator: str) -> bool:
        found = self._at(operator)
        if found:
            self._next += 1
        return found

    def _expect(self, operator: str) -> None:
        if not self._accept(operator):
            raise self._unexpected(f"'{operator}'")

    def _unexpected(self, wanted: str) -> ExpressionError:
        token = self._peek
        found = "the end" if token.kind == "end" else token.text if len(token.text) <= 40 else token.text[:40] + "…"
        return ExpressionError(f"unexpected {found}, expected {wanted}", self._text, token.offset + 1)

    def _nested(self) -> Node:
        """Parse what stands within brackets; bounds the recursion of this parser."""
        self._nesting += 1
        if self._nesting > EXPRESSION_DEPTH_MAX:
            raise _too_deep(self._text, self._peek.offset + 1)
        node = self._binary(0)
        self._nesting -= 1
        return node

    def _binary(self, floor: int) -> Node:
        """Parse operands joined by operators that bind more tightly than ``floor``."""
        left = self._unary()
        while self._peek.kind == "operator" and (power := _BINDING_POWER.get(self._peek.text, 0)) > floor:
            operator = self._take().text
            right = self._binary(power)
            left = Comparison(operator, left, right) if power > 2 else self._chain(operator, left, right)
        return left

    def _chain(self, operator: str, left: Node, right: Node) -> Logical:
        """Collect the operands of one chain of ``&&`` or ``||``."""
        operands = [left, right]
        while self._accept(operator):
            operands.append(self._binary(_BINDING_POWER[operator]))
        return Logical(operator, tuple(operands))

    def _unary(self) -> Node:
        negations = 0
        while self._accept("!"):
            negations += 1
        node = self._path()
        for _ in range(negations):
            node = Not(node)
        return node

    def _path(self) -> Node:
        """Parse an operand and the properties and indices behind it; a bare literal has none."""
        node = self._operand()
        if isinstance(node, Literal) and (self._at(".") or self._at("[")) and not self._after_group():
            raise self._unexpected("an operator: a literal has no properties")
        while True:
            if self._accept("."):
                node = Filter(node) if self._accept("*") else Index(node, Literal(self._property()))
            elif self._accept("["):
                node = Filter(node) if self._accept("*") else Index(node, self._nested())
                self._expect("]")
            else:
                return node

    def _after_group(self) -> bool:
        before = self._tokens[self._next - 1]
        return before.kind == "operator" and before.text == ")"

    def _property(self) -> str:
        if self._peek.kind != "name":
            raise self._unexpected("a property name or *")
        return self._take().text

    def _operand(self) -> Node:
        token = self._peek
        if token.kind in ("number", "string"):
            return Literal(self._take().value)
        if token.kind == "name":
            return self._name()
        if self._accept("("):
            node = self._nested()
            self._expect(")")
            return node
        raise self._unexpected("a value")

    def _name(self) -> Node:
        token = self._take()
        if self._at("("):
            return self._call(token)
        if token.text in _KEYWORDS:
            return Literal(_KEYWORDS[token.text])
        if token.text.lower() in FUNCTIONS:
            raise ExpressionError(f"{token.text} is a function and needs parentheses", self._text, token.offset + 1)
        return ContextName(token.text, token.offset + 1)

    def _call(self, name: Token) -> Node:
        function = FUNCTIONS.get(name.text.lower())
        if function is None:
            known = ", ".join(sorted((known.name for known in FUNCTIONS.values()), key=str.lower))
            raise ExpressionError(f"unknown function {name.text} (known: {known})", self._text, name.offset + 1)
        arguments = self._arguments()
        if not function.least <= len(arguments) <= function.most:
            problem = f"{function.name} takes {function.wanted}, not {len(arguments)}"
            raise ExpressionError(problem, self._text, name.offset + 1)
        return Call(name.text.lower(), arguments, name.offset + 1)

    def _arguments(self) -> tuple[Node, ...]:
        self._expect("(")
        if self._accept(")"):
            return ()
        arguments = [self._nested()]
        while self._accept(","):
            arguments.append(self._nested())
        self._expect(")")
        return tuple(arguments)
