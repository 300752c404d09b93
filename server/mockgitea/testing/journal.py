"""The journal as a test sees it: read calls, wait for them, expect them, export them.

Source: docs/testing.md, "Expectations".
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Unpack

from mockgitea import __version__
from mockgitea.core.call_checks import CallChecks
from mockgitea.core.call_match import CallMatcher
from mockgitea.core.call_record import CallRecord
from mockgitea.core.call_report import arrived
from mockgitea.testing.thread import ServerThread
from mockgitea.testing.wanted import Details, Match, matcher_of, refuse_inside_a_loop
from mockgitea.verify.har import har
from mockgitea.verify.live import LiveJournal
from mockgitea.verify.session import Session


class JournalView:
    """Every call on the runner's ports, refused ones too.

    All methods take the fields of a matcher as keywords: ``method``, ``runner`` (name, UUID or `Runner`), ``outcome``,
    ``status``, ``code``, ``task``, ``fault``, ``verb``, ``path``, ``header``, ``request``, ``response``, ``since``,
    ``after_us`` and ``before_us``. Source: docs/testing.md, "Matchers".
    """

    def __init__(self, thread: ServerThread) -> None:
        self._thread = thread
        self.live = LiveJournal(thread)

    def mark(self) -> int:
        """Return the number of the newest call, to be given as ``since`` later."""
        return self.live.mark()

    def calls(self, **match: Unpack[Match]) -> list[CallRecord]:
        """Return the calls that match, oldest first; those still open only with ``outcome="open"``."""
        return self._checks().matching(matcher_of(match))

    def wait_for(
        self,
        method: str | None = None,
        runner: object = None,
        n: int = 1,
        within: float = 5.0,
        **match: Unpack[Details],
    ) -> list[CallRecord]:
        """Wait until ``n`` calls match, those that came before included (see ``since``).

        Args:
            method: such as `FetchTask`.
            runner: name, UUID or `Runner`.
            n: how many calls there must be.
            within: longest wait in real seconds.
            match: further fields of the matcher.

        Raises:
            UnexpectedCalls: they did not come; the text shows the nearest misses and what came instead.
        """
        refuse_inside_a_loop("wait_for")
        return self._thread.call(self._waiting(method, runner, n, within, match))

    async def wait_for_async(
        self,
        method: str | None = None,
        runner: object = None,
        n: int = 1,
        within: float = 5.0,
        **match: Unpack[Details],
    ) -> list[CallRecord]:
        """Do what `wait_for` does, without blocking the event loop."""
        return await self._thread.call_async(self._waiting(method, runner, n, within, match))

    def assert_requests(
        self,
        *,
        count: int | None = None,
        at_least: int | None = None,
        at_most: int | None = None,
        **match: Unpack[Match],
    ) -> list[CallRecord]:
        """Check how many calls match; without any number, at least one must.

        Raises:
            UnexpectedCalls: another number matches.
        """
        return self._checks().requests(matcher_of(match), count=count, at_least=at_least, at_most=at_most)

    def assert_order(self, *steps: CallMatcher | Mapping[str, Any] | str) -> list[CallRecord]:
        """Check that calls came in this order, with any others between them.

        Args:
            steps: each a method name, a mapping of matcher fields, or a `CallMatcher`.

        Raises:
            UnexpectedCalls: a step has no call after the one before it.
        """
        return self._checks().order(*(_step(step) for step in steps))

    def assert_rate(self, *, at_most: int, per_s: float, **match: Unpack[Match]) -> list[CallRecord]:
        """Check that no span of ``per_s`` real seconds holds more than ``at_most`` matching calls.

        Raises:
            UnexpectedCalls: one does.
        """
        return self._checks().rate(matcher_of(match), at_most=at_most, per_s=per_s)

    def assert_no_gap(self, *, longest_s: float, **match: Unpack[Match]) -> list[CallRecord]:
        """Check that matching calls begin at most ``longest_s`` real seconds after one another.

        Raises:
            UnexpectedCalls: there is a longer gap, or fewer than two calls.
        """
        return self._checks().no_gap(matcher_of(match), longest_s=longest_s)

    def tail(self) -> str:
        """Return the newest calls as text, for people."""
        checks = self._checks()
        return "\n".join(arrived(checks.calls, evicted=self._thread.journal.evicted_total))

    def session(self) -> Session:
        """Return what is recorded now, in a form that outlives the server."""
        return self._thread.call(self._session())

    def export_jsonl(self, path: str | Path) -> None:
        """Write the recorded session as JSON lines, tokens and secrets masked."""
        with Path(path).open("w", encoding="utf-8") as file:
            file.writelines(self.session().lines())

    def export_har(self, path: str | Path) -> None:
        """Write the recorded session as an HTTP Archive, tokens and secrets masked."""
        archive = har(self.session(), base_url=self._thread.app.runner_url, version=__version__)
        Path(path).write_text(json.dumps(archive, ensure_ascii=False, indent=1), encoding="utf-8")

    def clear(self) -> None:
        """Drop the recorded calls; counters stay."""
        self._thread.call(self._clear())

    def _checks(self) -> CallChecks:
        return self._thread.call(self._current())

    async def _current(self) -> CallChecks:
        return self.live.checks()

    async def _session(self) -> Session:
        return self.live.session()

    async def _clear(self) -> None:
        self._thread.journal.clear()

    def _waiting(self, method: str | None, runner: object, n: int, within: float, match: Details) -> Any:
        matcher = matcher_of({**match, "method": method, "runner": runner})
        return self.live.wait_for(matcher, count=n, within_s=within)


def _step(step: CallMatcher | Mapping[str, Any] | str) -> CallMatcher:
    if isinstance(step, CallMatcher):
        return step
    return matcher_of({"method": step} if isinstance(step, str) else step)
