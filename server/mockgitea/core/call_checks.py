"""Expectations over recorded calls: how many, in which order, how often, without which gap.

Each check returns the calls it is about, or raises `UnexpectedCalls` with a text that shows what came instead.
Source: docs/testing.md, "Expectations".
"""

import itertools
from collections.abc import Sequence

from mockgitea.core.call_match import CallMatcher
from mockgitea.core.call_record import CallRecord
from mockgitea.core.call_report import call_line, explain


class UnexpectedCalls(AssertionError):
    """The calls that came are not those that were expected."""


class CallChecks:
    """The checks over one set of calls.

    Args:
        calls: in the order in which they began.
        evicted: how many older calls the journal no longer has.
    """

    def __init__(self, calls: Sequence[CallRecord], *, evicted: int = 0) -> None:
        self.calls = calls
        self._evicted = evicted

    def matching(self, matcher: CallMatcher) -> list[CallRecord]:
        """Return the calls that match, oldest first."""
        return [call for call in self.calls if matcher.matches(call)]

    def requests(
        self, matcher: CallMatcher, *, count: int | None = None, at_least: int | None = None, at_most: int | None = None
    ) -> list[CallRecord]:
        """Check how many calls match; without any number, at least one must."""
        if count is None and at_least is None and at_most is None:
            at_least = 1
        found = self.matching(matcher)
        wanted = _bounds(count, at_least, at_most)
        is_right = (
            (count is None or len(found) == count)
            and (at_least is None or len(found) >= at_least)
            and (at_most is None or len(found) <= at_most)
        )
        if not is_right:
            headline = f"expected {wanted} of: {matcher.describe()}\nbut there {_were(len(found))}"
            raise UnexpectedCalls(self.explain(headline, matcher))
        return found

    def order(self, *matchers: CallMatcher) -> list[CallRecord]:
        """Check that there are calls which match one matcher after the other; others may stand between them."""
        found: list[CallRecord] = []
        for position, matcher in enumerate(matchers, 1):
            last = found[-1].number if found else 0
            hit = next((call for call in self.calls if call.number > last and matcher.matches(call)), None)
            if hit is None:
                raise UnexpectedCalls(self.explain(self._out_of_order(found, position, matchers), matcher))
            found.append(hit)
        return found

    def rate(self, matcher: CallMatcher, *, at_most: int, per_s: float) -> list[CallRecord]:
        """Check that no span of ``per_s`` real seconds holds more than ``at_most`` matching calls."""
        found = self.matching(matcher)
        start, worst_start, worst_count = 0, 0, 0
        for end, call in enumerate(found):
            while call.opened_s - found[start].opened_s >= per_s:
                start += 1
            if end - start + 1 > worst_count:
                worst_start, worst_count = start, end - start + 1
        if worst_count > at_most:
            worst = found[worst_start : worst_start + worst_count]
            span_s = worst[-1].opened_s - worst[0].opened_s
            headline = (
                f"expected at most {at_most} in any {per_s:g} s of: {matcher.describe()}\n"
                f"but there were {len(worst)} within {span_s:.3f} s, from #{worst[0].number} to #{worst[-1].number}"
            )
            raise UnexpectedCalls(self.explain(headline, matcher))
        return found

    def no_gap(self, matcher: CallMatcher, *, longest_s: float) -> list[CallRecord]:
        """Check that no two matching calls in a row begin more than ``longest_s`` real seconds apart."""
        found = self.requests(matcher, at_least=2)
        for before, after in itertools.pairwise(found):
            gap_s = after.opened_s - before.opened_s
            if gap_s > longest_s:
                headline = (
                    f"expected no gap above {longest_s:g} s in: {matcher.describe()}\n"
                    f"but {gap_s:.3f} s passed between\n  {call_line(before)}\n  {call_line(after)}"
                )
                raise UnexpectedCalls(self.explain(headline, matcher))
        return found

    def explain(self, headline: str, matcher: CallMatcher) -> str:
        """Return the text of a failure about these calls."""
        return explain(headline, matcher, self.calls, evicted=self._evicted)

    def _out_of_order(self, found: list[CallRecord], position: int, matchers: Sequence[CallMatcher]) -> str:
        matcher = matchers[position - 1]
        lines = [f"expected in order, {position} of {len(matchers)}: {matcher.describe()}"]
        if found:
            lines += ["after", *(f"  {call_line(call)}" for call in found), "but nothing that matches came after those"]
        else:
            lines.append("but nothing matches")
        earlier = self.matching(matcher)
        if earlier:
            lines.append(f"it came earlier: {', '.join(f'#{call.number}' for call in earlier)}")
        return "\n".join(lines)


def _bounds(count: int | None, at_least: int | None, at_most: int | None) -> str:
    if count is not None:
        return _calls(count)
    if at_least is not None and at_most is not None:
        return f"{at_least} to {_calls(at_most)}"
    return f"at least {_calls(at_least)}" if at_least is not None else f"at most {_calls(at_most or 0)}"


def _calls(number: int) -> str:
    return f"{number} call" if number == 1 else f"{number} calls"


def _were(number: int) -> str:
    return "was none" if not number else f"was {number}" if number == 1 else f"were {number}"
