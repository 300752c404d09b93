import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from mockgitea.core.call_checks import UnexpectedCalls
from mockgitea.core.call_match import CallMatcher
from mockgitea.core.calls import Method, Outcome
from mockgitea.core.journal import Entry, Journal
from mockgitea.verify.live import LiveJournal
from servicebox import Box

FETCH = CallMatcher(method="FetchTask")


class Served:
    """Services with a journal, as a server has them."""

    def __init__(self, box: Box) -> None:
        self.services = box.services
        self.journal = Journal(entries_max=5, bytes_max=1000)

    def begin(self, method: Method = Method.FETCH_TASK) -> Entry:
        entry = self.journal.open(self.services.clock.now_us(), 0.0)
        entry.method = method
        return entry

    def end(self, entry: Entry, outcome: Outcome = Outcome.EMPTY) -> None:
        entry.outcome = outcome
        self.journal.close(entry, 1.0)


def served(body: Callable[[Served, LiveJournal], Awaitable[None]]) -> None:
    async def main() -> None:
        async with Box() as box:
            server = Served(box)
            await body(server, LiveJournal(server))

    asyncio.run(main())


def test_wait_for_returns_what_is_there_already() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        server.end(server.begin())
        assert [call.number for call in await live.wait_for(FETCH, within_s=0)] == [1]

    served(body)


def test_wait_for_wakes_when_a_call_ends_and_not_when_it_begins() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        entry = server.begin()
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(live.wait_for(FETCH, within_s=20))
            await asyncio.sleep(0)
            assert not waiting.done()
            server.end(entry)
        assert waiting.result()[0].outcome == "empty"

    served(body)


def test_wait_for_an_open_call_sees_it_while_it_is_open() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        server.begin()
        found = await live.wait_for(CallMatcher(method="FetchTask", outcome="open"), within_s=20)
        assert found[0].is_open

    served(body)


def test_wait_for_fails_with_an_explanation_and_leaves_no_watcher() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        server.end(server.begin(Method.PING), Outcome.OK)
        with pytest.raises(
            UnexpectedCalls, match="expected 2 calls within 0 s of: method='FetchTask'\nbut there were 0"
        ):
            await live.wait_for(FETCH, count=2, within_s=0)
        assert server.journal._watchers == ()

    served(body)


@pytest.mark.parametrize(
    ("limits", "text"), [({"within_s": -1}, "within"), ({"within_s": 601}, "within"), ({"count": 0}, "n: ")]
)
def test_wait_for_refuses_limits_out_of_bounds(limits: dict[str, Any], text: str) -> None:
    async def body(_: Served, live: LiveJournal) -> None:
        with pytest.raises(ValueError, match=text):
            await live.wait_for(FETCH, **limits)

    served(body)


def test_records_follow_eviction_and_reset() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        for _ in range(7):
            server.end(server.begin())
        assert [call.number for call in live.records()] == [3, 4, 5, 6, 7]
        assert live.mark() == 7
        server.journal.reset()
        server.end(server.begin(Method.PING), Outcome.OK)
        assert [(call.number, call.method) for call in live.records()] == [(1, "Ping")]

    served(body)


def test_audit_knows_evictions() -> None:
    async def body(server: Served, live: LiveJournal) -> None:
        for _ in range(6):
            server.end(server.begin())
        assert live.audit().notes[0] == "1 calls were evicted from the journal; what they held was not judged"

    served(body)
