"""Matcher fields as keywords of the testing API, and the one misuse that would hang a test."""

import asyncio
from collections.abc import Mapping
from typing import Any, TypedDict

from mockgitea.core.call_match import CallMatcher, Wanted
from mockgitea.testing.runner import Runner


class Details(TypedDict, total=False):
    """The fields of a matcher besides method and runner, as keywords."""

    outcome: Wanted
    status: Wanted
    code: Wanted
    task: Wanted
    fault: Wanted
    verb: Wanted
    path: Wanted
    header: Mapping[str, Wanted]
    request: Mapping[str, Wanted]
    response: Mapping[str, Wanted]
    since: int
    after_us: int | None
    before_us: int | None


class Match(Details, total=False):
    """The fields of a matcher, as keywords."""

    method: Wanted
    runner: Wanted


def matcher_of(match: Mapping[str, Any]) -> CallMatcher:
    """Return the matcher; a `Runner` may stand for its UUID.

    Raises:
        ValueError: method or outcome is a word that does not exist.
        TypeError: there is no such field.
    """
    fields = dict(match)
    if isinstance(fields.get("runner"), Runner):
        fields["runner"] = fields["runner"].uuid
    return CallMatcher(**fields)


def refuse_inside_a_loop(name: str) -> None:
    """Raise when the caller's thread runs an event loop, which a wait would stop together with whoever is awaited.

    Raises:
        RuntimeError: with the name of the method to await instead.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError(f"{name} blocks, and this thread runs an event loop; use `await {name}_async(...)`")
