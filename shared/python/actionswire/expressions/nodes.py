"""The syntax tree of an expression: immutable, so that parsed expressions can be shared and cached.

Positions are 1-based columns and take no part in comparison.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from actionswire.expressions.values import Value


@dataclass(frozen=True, slots=True)
class Literal:
    """null, a boolean, a number or a text."""

    value: Value


@dataclass(frozen=True, slots=True)
class ContextName:
    """The first name of a path, such as ``github``; ``name`` is as written."""

    name: str
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Index:
    """``target.key`` or ``target[key]``."""

    target: "Node"
    key: "Node"


@dataclass(frozen=True, slots=True)
class Filter:
    """``target.*`` or ``target[*]``."""

    target: "Node"


@dataclass(frozen=True, slots=True)
class Call:
    """A function call; ``function`` is in lower case and known."""

    function: str
    arguments: tuple["Node", ...]
    position: int = field(compare=False)


@dataclass(frozen=True, slots=True)
class Not:
    """``!operand``."""

    operand: "Node"


@dataclass(frozen=True, slots=True)
class Comparison:
    """``left OP right`` with one of the six comparison operators."""

    operator: str
    left: "Node"
    right: "Node"


@dataclass(frozen=True, slots=True)
class Logical:
    """A chain of ``&&`` or of ``||``; flat, so that a long chain is not a deep tree."""

    operator: str
    operands: tuple["Node", ...]


Node: TypeAlias = Literal | ContextName | Index | Filter | Call | Not | Comparison | Logical


@dataclass(frozen=True, slots=True)
class Expression:
    """A parsed expression.

    Attributes:
        text: its source.
        root: its tree.
        contexts: the context names in it, in order of appearance.
        has_status_call: whether a status function is called anywhere in it.
    """

    text: str
    root: Node
    contexts: tuple[ContextName, ...]
    has_status_call: bool


def children(node: Node) -> tuple[Node, ...]:
    """Return the direct parts of ``node``, left to right."""
    match node:
        case Index(target, key):
            return (target, key)
        case Filter(part) | Not(part):
            return (part,)
        case Call(_, parts) | Logical(_, parts):
            return parts
        case Comparison(_, left, right):
            return (left, right)
        case _:
            return ()


def walk(root: Node) -> Iterator[tuple[Node, int]]:
    """Yield every node with its depth (the root has 1), left to right, without recursion."""
    stack = [(root, 1)]
    while stack:
        node, depth = stack.pop()
        yield node, depth
        stack.extend((part, depth + 1) for part in reversed(children(node)))
