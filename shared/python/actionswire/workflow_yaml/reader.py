"""Build the value of a workflow file from the parser's events, without recursion.

Hostile nesting and aliases cost no more than the limits below: the size of what an alias stands for is known before it
is copied.

Source: docs/expressions.md, "Workflow files".
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import yaml

from actionswire.expressions.values import Value
from actionswire.workflow_yaml.errors import WorkflowYamlError
from actionswire.workflow_yaml.scalars import read_plain

SOURCE_BYTES_MAX = 1024 * 1024
NODES_MAX = 200_000
DEPTH_MAX = 100

# The C parser is ten times faster; a platform without it still works.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_TAG_PREFIX = "tag:yaml.org,2002:"
_PLAIN_TAGS: dict[str, type | tuple[type, ...]] = {
    "int": int,
    "float": (int, float),
    "bool": bool,
    "null": type(None),
}


class _Mark(Protocol):
    line: int
    column: int


def load(text: str | bytes) -> Value:
    """Read the one document of a workflow file.

    Args:
        text: at most SOURCE_BYTES_MAX bytes, as UTF-8 or as UTF-16 with a byte order mark; a mark is skipped.

    Returns:
        Mappings as dict in source order with text keys (a key of another type keeps its source text), sequences as
        list, scalars by the YAML 1.2 core schema; None for an empty file. Aliases are copies: nothing is shared.

    Raises:
        WorkflowYamlError: syntax, a repeated key, a second document, an unknown tag, or a limit.
    Source: docs/expressions.md, "Workflow files".
    """
    source = _decode(text)
    builder = _Builder()
    try:
        for event in yaml.parse(source, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        problem = ", ".join(part for part in (error.context, error.problem) if part)
        raise _error(problem or "this is not YAML", error.problem_mark or error.context_mark) from error
    except yaml.reader.ReaderError as error:
        raise _control_character(source, error) from error
    return builder.result


def _decode(text: str | bytes) -> str:
    size = len(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    if size > SOURCE_BYTES_MAX:
        raise WorkflowYamlError(f"the file has {size} bytes, more than {SOURCE_BYTES_MAX}", 1, 1)
    if isinstance(text, str):
        if half := _HALF_CHARACTER.search(text):
            raise WorkflowYamlError("half of a surrogate pair is no character", *_place(text[: half.start()]))
        return text.removeprefix("\ufeff")
    encoding = "utf-16" if text.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return text.decode(encoding)
    except UnicodeDecodeError as error:
        before = text[: error.start].decode(encoding, "replace")
        raise WorkflowYamlError(f"the bytes are not {encoding.removesuffix('-sig')}", *_place(before)) from error


def _place(before: str) -> tuple[int, int]:
    """Return line and column of the character that follows ``before``."""
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def _error(message: str, mark: _Mark | None) -> WorkflowYamlError:
    return WorkflowYamlError(message, *((mark.line + 1, mark.column + 1) if mark else (1, 1)))


def _control_character(source: str, error: yaml.reader.ReaderError) -> WorkflowYamlError:
    # The two parsers count their position differently, but both name the character.
    found = error.character
    character = found if isinstance(found, str) else chr(found)
    before = source[: max(source.find(character), 0)]
    return WorkflowYamlError(f"the character U+{ord(character):04X} is not allowed in YAML", *_place(before))


@dataclass(slots=True)
class _Node:
    """A finished value; ``text`` is the source of a scalar, ``size`` counts nodes, ``height`` levels of collections."""

    value: Value
    text: str | None
    size: int
    height: int
    is_merge_key: bool = False


@dataclass(slots=True)
class _Collection:
    """A mapping or sequence whose end has not come yet."""

    start: yaml.events.CollectionStartEvent
    nodes_before: int
    height: int = 1
    items: list[Value] = field(default_factory=list)
    pairs: dict[str, Value] = field(default_factory=dict)
    key_lines: dict[str, int] = field(default_factory=dict)
    key: _Node | None = None
    merged: list[dict[str, Value]] = field(default_factory=list)

    def value(self) -> Value:
        if isinstance(self.start, yaml.SequenceStartEvent):
            return self.items
        inherited: dict[str, Value] = {}
        for pairs in self.merged:
            inherited = pairs | inherited
        return inherited | self.pairs


class _Builder:
    """Takes the events of one file in order; ``result`` is the document."""

    def __init__(self) -> None:
        self.result: Value = None
        self._documents = 0
        self._nodes = 0
        self._open: list[_Collection] = []
        self._anchors: dict[str, _Node | None] = {}
        self._handlers: dict[type, Callable[..., None]] = {
            yaml.DocumentStartEvent: self._start_document,
            yaml.ScalarEvent: self._scalar,
            yaml.AliasEvent: self._alias,
            yaml.MappingStartEvent: self._start_collection,
            yaml.SequenceStartEvent: self._start_collection,
            yaml.MappingEndEvent: self._end_collection,
            yaml.SequenceEndEvent: self._end_collection,
        }

    def take(self, event: yaml.Event) -> None:
        if handler := self._handlers.get(type(event)):
            handler(event)

    def _start_document(self, event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            raise _error("a workflow file has one document; this is a second one", event.start_mark)

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._count(1, event.start_mark)
        is_merge_key = event.value == "<<" and event.implicit[0]
        node = _Node(_scalar_value(event), event.value, 1, 0, is_merge_key)
        if event.anchor:
            self._anchors[event.anchor] = node
        self._place(node, event.start_mark)

    def _alias(self, event: yaml.AliasEvent) -> None:
        name = event.anchor or ""
        node = self._anchors.get(name)
        if node is None:
            problem = "stands within what it refers to" if name in self._anchors else "refers to nothing above it"
            raise _error(f"the alias *{name} {problem}", event.start_mark)
        self._count(node.size, event.start_mark)
        self._place(_Node(_copied(node.value), node.text, node.size, node.height), event.start_mark)

    def _start_collection(self, event: yaml.events.CollectionStartEvent) -> None:
        if event.tag not in (None, "!", _TAG_PREFIX + "map", _TAG_PREFIX + "seq"):
            raise _unknown_tag(event)
        collection = _Collection(event, self._nodes)
        self._count(1, event.start_mark)
        self._open.append(collection)
        self._bound_depth(0, event.start_mark)
        if event.anchor:
            self._anchors[event.anchor] = None

    def _end_collection(self, _: yaml.CollectionEndEvent) -> None:
        collection = self._open.pop()
        start = collection.start
        node = _Node(collection.value(), None, self._nodes - collection.nodes_before, collection.height)
        if start.anchor:
            self._anchors[start.anchor] = node
        self._place(node, start.start_mark)

    def _count(self, nodes: int, mark: _Mark | None) -> None:
        self._nodes += nodes
        if self._nodes > NODES_MAX:
            raise _error(f"the file has more than {NODES_MAX} nodes, aliases counted in full", mark)

    def _bound_depth(self, height: int, mark: _Mark | None) -> None:
        if len(self._open) + height > DEPTH_MAX:
            raise _error(f"the file is nested deeper than {DEPTH_MAX} levels", mark)

    def _place(self, node: _Node, mark: _Mark | None) -> None:
        """Put a finished value where it belongs: document, sequence, key or value of a mapping."""
        if not self._open:
            self.result = node.value
            return
        self._bound_depth(node.height, mark)
        parent = self._open[-1]
        parent.height = max(parent.height, node.height + 1)
        if isinstance(parent.start, yaml.SequenceStartEvent):
            parent.items.append(node.value)
        elif parent.key is None:
            _take_key(parent, node, mark)
        else:
            _take_value(parent, parent.key, node, mark)
            parent.key = None


def _take_key(parent: _Collection, key: _Node, mark: _Mark | None) -> None:
    if key.text is None:
        raise _error("a key must be a text, not a list or mapping", mark)
    if key.text in parent.key_lines:
        raise _error(f"the key {key.text!r} stands already in line {parent.key_lines[key.text]}", mark)
    parent.key_lines[key.text] = mark.line + 1 if mark else 0
    parent.key = key


def _take_value(parent: _Collection, key: _Node, node: _Node, mark: _Mark | None) -> None:
    if not key.is_merge_key:
        parent.pairs[key.text or ""] = node.value
        return
    sources = node.value if isinstance(node.value, list) else [node.value]
    for source in sources:
        if not isinstance(source, dict):
            raise _error("the merge key << takes a mapping or a list of mappings", mark)
        parent.merged.append(source)


def _scalar_value(event: yaml.ScalarEvent) -> Value:
    tag = event.tag
    if tag is None:
        return read_plain(event.value) if event.implicit[0] else event.value
    if tag in ("!", _TAG_PREFIX + "str"):
        return event.value
    wanted = _PLAIN_TAGS.get(tag.removeprefix(_TAG_PREFIX))
    if wanted is None:
        raise _unknown_tag(event)
    value = read_plain(event.value)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool):
        raise _error(f"this is not the {tag.removeprefix(_TAG_PREFIX)} that its tag promises", event.start_mark)
    return float(value) if isinstance(value, int) and isinstance(wanted, tuple) else value


def _unknown_tag(event: yaml.ScalarEvent | yaml.events.CollectionStartEvent) -> WorkflowYamlError:
    shown = (event.tag or "").replace(_TAG_PREFIX, "!!")
    return _error(f"the tag {shown} is not supported", event.start_mark)


def _copied(value: Value) -> Value:
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item) for item in value]
    return value
