"""Whatever rules are in force and whatever calls they hold: one reset, and everything is healthy."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from asyncwait import until
from mockgitea.app import App
from mockgitea.core.downtime import DownKind, Downtime
from mockgitea.core.faults import KINDS, Fault, FaultKind
from mockgitea.settings import Settings

SEED = 20_261_201
PING = (
    b"POST /api/actions/ping.v1.PingService/Ping HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    b"Content-Type: application/proto\r\nContent-Length: 10\r\n\r\n\x0a\x08abcdefgh"
)
FETCH = b"POST /api/actions/runner.v1.RunnerService/FetchTask HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
REST = b"GET /api/v1/version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
NEEDED: dict[FaultKind, dict[str, Any]] = {
    FaultKind.DELAY: {"delay_s": 3000.0},
    FaultKind.WRONG_ACK: {"rows": 1},
    FaultKind.CLOCK_SKEW: {"skew_s": 5.0},
    FaultKind.SLOW_BODY: {"gap_s": 3000.0},
    FaultKind.BANDWIDTH: {"bytes_per_s": 1},
    FaultKind.REORDER: {"wait_s": 3000.0},
    FaultKind.DATABASE_BUSY: {"busy_s": 3000.0},
}


@st.composite
def rules(draw: st.DrawFn) -> Fault:
    kind = draw(st.sampled_from([*FaultKind]))
    extra = dict(NEEDED.get(kind, {}))
    stage = draw(st.sampled_from(KINDS[kind].stages))
    times = draw(st.none() | st.integers(1, 3))
    return Fault(name=str(draw(st.integers())), kind=kind, stage=stage, times=times, **extra)


@st.composite
def windows(draw: st.DrawFn) -> Downtime:
    kind = draw(st.sampled_from([*DownKind]))
    return Downtime(name=str(draw(st.integers())), kind=kind, duration_s=3000.0, cuts=draw(st.booleans()))


def names_differ(found: list[Any]) -> bool:
    return len({one.name for one in found}) == len(found)


async def exchange(port: int, request: bytes) -> bytes:
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        try:
            return await reader.read()
        finally:
            writer.close()
    except ConnectionError:
        return b""


async def heals(app: App, faults: list[Fault], downtimes: list[Downtime], calls: list[bytes]) -> None:
    port = int(app.runner_url.rpartition(":")[2])
    for fault in faults:
        app.faults.add(fault)
    opened = app.journal.opened_total
    waiting = [asyncio.ensure_future(exchange(port, call)) for call in calls]
    # A restart refuses what comes after it, so a call is either in the journal or over.
    await until(lambda: app.journal.opened_total - opened + sum(one.done() for one in waiting) >= len(calls))
    for downtime in downtimes:
        app.faults.add_downtime(downtime)
    await app.faults.settle()
    app.faults.reset()
    await app.faults.settle()
    async with asyncio.timeout(20):
        await asyncio.gather(*waiting)
        # A restart that had begun ends by itself; there is no event outside the server that says so.
        while not (await exchange(port, PING)).endswith(b"Hello, abcdefgh!"):  # noqa: ASYNC110 - see above
            await asyncio.sleep(0)
    await until(lambda: not app.journal.in_progress)
    assert (app.faults.list(), app.faults.list_downtimes(), app.faults.is_active) == ((), (), False)
    assert app.journal.opened_total == app.counters.total, "every call is counted once"


def test_one_reset_heals_everything() -> None:
    print(f"seed {SEED}")

    async def main() -> None:
        app = App.build(Settings(port=0, control_port=0, seed=SEED))
        await app.start()
        loop = asyncio.get_running_loop()

        @settings(max_examples=60, deadline=None)
        @given(
            faults=st.lists(rules(), max_size=4).filter(names_differ),
            downtimes=st.lists(windows(), max_size=2).filter(names_differ),
            calls=st.lists(st.sampled_from([PING, FETCH, REST]), min_size=1, max_size=4),
        )
        def check(faults: list[Fault], downtimes: list[Downtime], calls: list[bytes]) -> None:
            asyncio.run_coroutine_threadsafe(heals(app, faults, downtimes, calls), loop).result(60)

        try:
            await asyncio.to_thread(check)
        finally:
            await app.close()
        assert app.failure is None

    asyncio.run(main())
