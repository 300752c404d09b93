"""Matchers over recorded calls. A matcher returns differences; a call matches when there are none.

Pure: which calls there are, and who waits for them, is the caller's business.
Source: docs/testing.md, "Matchers".
"""

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from mockgitea.core.call_record import CallRecord
from mockgitea.core.calls import Method, Outcome

Wanted = Any
"""A value; a tuple, set or frozenset of values, any of which will do; a compiled pattern; or a callable that judges."""

_TEXT_SHOWN_MAX: Final = 120


class _Absent:
    """Stands for a message field that is not there."""

    def __repr__(self) -> str:
        return "nothing"


ABSENT: Final = _Absent()


@dataclass(frozen=True, slots=True)
class Difference:
    """One field of a call that is not as wanted."""

    field: str
    got: Any
    wanted: Wanted

    def __str__(self) -> str:
        return f"{self.field}: got {shown(self.got)}, wanted {shown(self.wanted)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallMatcher:
    """What a call must be. Fields left at None or empty do not matter.

    Args:
        method: such as `FetchTask`; `rest` and `page` for what is no RPC.
        runner: name or UUID.
        outcome: such as `ok`, `task`, `empty`, `refused`. Calls still open match only when `open` is asked for.
        status: HTTP status.
        code: Connect code as it travelled.
        task: id of a task that the call reports on or hands out.
        fault: name of a fault that acted; an empty text for calls that none touched.
        verb: HTTP method.
        path: without query.
        header: name to wanted value.
        request: field of the request to wanted value; dots go deeper (`state.result`, `rows.0.content`), and a
            mapping as the wanted value names further fields.
        response: the same for the answer.
        since: only calls with a number above this one.
        after_us: only calls that began at or after this time of the server's clock.
        before_us: only calls that began before this time of the server's clock.

    Raises:
        ValueError: method or outcome is a word that does not exist, so nothing could ever match.
    Source: docs/testing.md, "Matchers".
    """

    method: Wanted = None
    runner: Wanted = None
    outcome: Wanted = None
    status: Wanted = None
    code: Wanted = None
    task: Wanted = None
    fault: Wanted = None
    verb: Wanted = None
    path: Wanted = None
    header: Mapping[str, Wanted] = field(default_factory=dict)
    request: Mapping[str, Wanted] = field(default_factory=dict)
    response: Mapping[str, Wanted] = field(default_factory=dict)
    since: int = 0
    after_us: int | None = None
    before_us: int | None = None

    def __post_init__(self) -> None:
        _check_word("method", self.method, [method.value for method in Method])
        _check_word("outcome", self.outcome, [outcome.value for outcome in Outcome])

    def differences(self, call: CallRecord) -> list[Difference]:
        """Return what keeps ``call`` from matching; empty when it matches."""
        return [difference for difference in self._compared(call) if difference is not None]

    def matches(self, call: CallRecord) -> bool:
        """Tell whether there is no difference."""
        return next((False for difference in self._compared(call) if difference is not None), True)

    def describe(self) -> str:
        """Return what is wanted in one line."""
        parts = []
        for each in fields(self):
            wanted = getattr(self, each.name)
            if isinstance(wanted, Mapping):
                parts += [f"{each.name}.{name}={shown(value)}" for name, value in wanted.items()]
            elif wanted is not None and (each.name, wanted) != ("since", 0):
                parts.append(f"{each.name}={shown(wanted)}")
        return " ".join(parts) or "any call"

    def _compared(self, call: CallRecord) -> Iterator[Difference | None]:
        yield _compare("method", call.method, self.method)
        if call.is_open:
            yield _compare("outcome", call.outcome, "an answer" if self.outcome is None else self.outcome)
        else:
            yield _compare("outcome", call.outcome, self.outcome)
        if self.runner is not None and not (fits(call.runner, self.runner) or fits(call.runner_uuid, self.runner)):
            yield Difference("runner", call.runner or call.runner_uuid or ABSENT, self.runner)
        if self.task is not None and not any(fits(task, self.task) for task in call.tasks):
            yield Difference("task", _one_or_all(call.tasks), self.task)
        if self.fault is not None and not any(fits(fault, self.fault) for fault in call.faults):
            yield Difference("fault", call.fault, self.fault)
        for name in ("status", "code", "verb", "path"):
            yield _compare(name, getattr(call, name), getattr(self, name))
        for name, wanted in self.header.items():
            yield _compare(f"header.{name}", call.headers.get(name.lower(), ABSENT), wanted)
        yield from _compare_message("request", call.request, self.request)
        yield from _compare_message("response", call.response, self.response)
        yield from self._compare_range(call)

    def _compare_range(self, call: CallRecord) -> Iterator[Difference]:
        if call.number <= self.since:
            yield Difference("number", call.number, f"above {self.since}")
        if self.after_us is not None and call.at_us < self.after_us:
            yield Difference("at_us", call.at_us, f"{self.after_us} or later")
        if self.before_us is not None and call.at_us >= self.before_us:
            yield Difference("at_us", call.at_us, f"before {self.before_us}")


def fits(got: Any, wanted: Wanted) -> bool:
    """Tell whether one value is as wanted."""
    if isinstance(wanted, tuple | set | frozenset):
        return any(fits(got, each) for each in wanted)
    if isinstance(wanted, re.Pattern):
        return isinstance(got, str) and wanted.search(got) is not None
    if callable(wanted):
        return got is not ABSENT and bool(wanted(got))
    return bool(got == wanted) and isinstance(got, bool) == isinstance(wanted, bool)


def shown(value: Any) -> str:
    """Return a value as a failure message shows it: short, and predicates by their name."""
    if isinstance(value, re.Pattern):
        return f"/{value.pattern}/"
    if isinstance(value, tuple | set | frozenset):
        return "any of " + ", ".join(map(shown, value))
    if callable(value):
        return f"what {getattr(value, '__name__', 'the predicate')} accepts"
    text = repr(value)
    return text if len(text) <= _TEXT_SHOWN_MAX else f"{text[: _TEXT_SHOWN_MAX - 1]}…"


def _compare(name: str, got: Any, wanted: Wanted) -> Difference | None:
    return None if wanted is None or fits(got, wanted) else Difference(name, got, wanted)


def _compare_message(side: str, message: Any, wanted: Mapping[str, Wanted]) -> Iterator[Difference | None]:
    for path, value in wanted.items():
        got = _look_up(message, path)
        if isinstance(value, Mapping):
            yield from _compare_message(f"{side}.{path}", got, value)
        elif not fits(got, value):
            yield Difference(f"{side}.{path}", got, value)


def _look_up(message: Any, path: str) -> Any:
    """Follow a dotted path; a name with dots in it is tried whole first, as outputs may have such."""
    if isinstance(message, Mapping):
        if path in message:
            return message[path]
        name, dot, rest = path.partition(".")
        return _look_up(message[name], rest) if dot and name in message else ABSENT
    if isinstance(message, Sequence) and not isinstance(message, str):
        name, dot, rest = path.partition(".")
        if not name.isdecimal() or int(name) >= len(message):
            return ABSENT
        return _look_up(message[int(name)], rest) if dot else message[int(name)]
    return ABSENT


def _one_or_all(tasks: tuple[int, ...]) -> Any:
    return ABSENT if not tasks else tasks[0] if len(tasks) == 1 else list(tasks)


def _check_word(name: str, wanted: Wanted, words: list[str]) -> None:
    for word in wanted if isinstance(wanted, tuple | set | frozenset) else (wanted,):
        if isinstance(word, str) and word not in words:
            close = difflib.get_close_matches(word, words, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"one of {', '.join(words)}"
            raise ValueError(f"{name}: unknown {word!r}; {hint}")
