"""The functions of the expression language: names, argument counts and what they do with evaluated arguments.

A function that refuses its arguments raises FunctionFailure; the evaluator adds the place. Text that functions make is
counted, because a few nested calls could otherwise fill the memory.

Source: docs/expressions.md, "Functions".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from actionswire.expressions.json_text import JsonTextError, read_json, write_json
from actionswire.expressions.scope import Scope
from actionswire.expressions.values import Value, equals, fold_case, is_array, is_object, to_text

MADE_TEXT_CHARS_MAX = 1024 * 1024
_ARGUMENTS_MAX = 255
_FORMAT_PART = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<index>[0-9]{1,9})\}|(?P<stray>[{}])")


class FunctionFailure(ValueError):
    """A function cannot work with its arguments."""


class Evaluation:
    """The state of one evaluation: its scope, and how much text its functions may still make."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self._chars_left = MADE_TEXT_CHARS_MAX

    def spend(self, chars: int) -> None:
        """Account for ``chars`` characters that a function is about to make.

        Raises:
            FunctionFailure: the evaluation has made more than MADE_TEXT_CHARS_MAX.
        """
        self._chars_left -= chars
        if self._chars_left < 0:
            raise FunctionFailure(f"the expression makes more than {MADE_TEXT_CHARS_MAX} characters of text")


@dataclass(frozen=True, slots=True)
class Function:
    """A function as users write it, and how many arguments it takes."""

    name: str
    least: int
    most: int
    run: Callable[[Evaluation, Sequence[Value]], Value]

    @property
    def wanted(self) -> str:
        """The argument count in words."""
        if self.least == self.most:
            return f"{self.least or 'no'} argument{'' if self.least == 1 else 's'}"
        return f"{self.least} to {self.most} arguments"


def _contains(_: Evaluation, arguments: Sequence[Value]) -> Value:
    search, item = arguments
    if is_array(search):
        return any(equals(element, item) for element in search)
    if is_object(search) or is_array(item) or is_object(item):
        return False
    return fold_case(to_text(item)) in fold_case(to_text(search))


def _starts_with(_: Evaluation, arguments: Sequence[Value]) -> Value:
    if any(is_array(argument) or is_object(argument) for argument in arguments):
        return False
    text, start = (fold_case(to_text(argument)) for argument in arguments)
    return text.startswith(start)


def _ends_with(_: Evaluation, arguments: Sequence[Value]) -> Value:
    if any(is_array(argument) or is_object(argument) for argument in arguments):
        return False
    text, end = (fold_case(to_text(argument)) for argument in arguments)
    return text.endswith(end)


def _format(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
    pattern = to_text(arguments[0])
    parts: list[str] = []
    done = 0
    for match in _FORMAT_PART.finditer(pattern):
        parts += (pattern[done : match.start()], _format_part(match, arguments))
        evaluation.spend(len(parts[-2]) + len(parts[-1]))
        done = match.end()
    evaluation.spend(len(pattern) - done)
    return "".join((*parts, pattern[done:]))


def _format_part(match: re.Match[str], arguments: Sequence[Value]) -> str:
    if match["brace"]:
        return match["brace"][0]
    if match["stray"]:
        place = match.start() + 1
        raise FunctionFailure(
            f"the pattern has a stray {match['stray']} at its character {place} "
            "(write {0} for an argument and {{ or }} for a brace)"
        )
    index = int(match["index"])
    if index + 1 >= len(arguments):
        raise FunctionFailure(f"the pattern wants argument {{{index}}}, but {len(arguments) - 1} follow it")
    return to_text(arguments[index + 1])


def _join(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
    values, separator = arguments[0], to_text(arguments[1]) if len(arguments) > 1 else ","
    if is_array(values):
        texts = [to_text(value) for value in values]
        evaluation.spend(sum(map(len, texts)) + len(separator) * max(0, len(texts) - 1))
        return separator.join(texts)
    return "" if is_object(values) else to_text(values)


def _to_json(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
    try:
        text = write_json(arguments[0], chars_max=MADE_TEXT_CHARS_MAX)
    except JsonTextError as error:
        raise FunctionFailure(str(error)) from error
    evaluation.spend(len(text))
    return text


def _from_json(_: Evaluation, arguments: Sequence[Value]) -> Value:
    try:
        return read_json(to_text(arguments[0]))
    except JsonTextError as error:
        raise FunctionFailure(str(error)) from error


def _hash_files(evaluation: Evaluation, arguments: Sequence[Value]) -> Value:
    if evaluation.scope.hash_files is None:
        raise FunctionFailure("there are no files to hash here; it works in the steps of a job")
    try:
        return evaluation.scope.hash_files([to_text(argument) for argument in arguments])
    except (OSError, ValueError) as error:
        raise FunctionFailure(str(error)) from error


def _status(name: str) -> Callable[[Evaluation, Sequence[Value]], Value]:
    return lambda evaluation, _: evaluation.scope.ask_status(name)


STATUS_FUNCTIONS = frozenset(("success", "failure", "cancelled", "always"))
FUNCTIONS = {
    function.name.lower(): function
    for function in (
        Function("contains", 2, 2, _contains),
        Function("startsWith", 2, 2, _starts_with),
        Function("endsWith", 2, 2, _ends_with),
        Function("format", 1, _ARGUMENTS_MAX, _format),
        Function("join", 1, 2, _join),
        Function("toJSON", 1, 1, _to_json),
        Function("fromJSON", 1, 1, _from_json),
        Function("hashFiles", 1, _ARGUMENTS_MAX, _hash_files),
        *(Function(name, 0, 0, _status(name)) for name in sorted(STATUS_FUNCTIONS)),
    )
}
