"""The contract every store keeps, run over memory and file, threaded and inline."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from mockgitea.clock import MovableClock
from mockgitea.core.errors import LimitExceeded, NotFound, ServerFault
from mockgitea.storage.engine import SqlStore
from mockgitea.storage.facts import RunnerRemoved
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import meta

Body = Callable[[SqlStore], Awaitable[None]]


@pytest.fixture(params=["memory-threaded", "memory-inline", "file-threaded", "file-inline"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., SqlStore]:
    place, mode = request.param.split("-")

    def make(**options: object) -> SqlStore:
        path = ":memory:" if place == "memory" else str(tmp_path / "store.db")
        return SqlStore(path, clock=MovableClock("manual", start_us=5), inline=mode == "inline", **options)  # type: ignore[arg-type] - test options

    return make


def in_store(make_store: Callable[..., SqlStore], body: Body) -> None:
    async def run() -> None:
        store = make_store()
        await store.start()
        try:
            await body(store)
        finally:
            await store.close()

    asyncio.run(run())


def put(key: str, value: str = "") -> Callable[[Tx], str]:
    def intent(tx: Tx) -> str:
        tx.conn.execute(insert(meta).values(key=key, value=value))
        return key

    return intent


def keys(conn: Connection) -> set[str]:
    return set(conn.execute(select(meta.c.key)).scalars())


def test_write_returns_the_result_and_is_read_back(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        assert await store.write(put("a")) == "a"
        assert "a" in await store.read(keys)

    in_store(make_store, body)


def test_write_that_refuses_raises_at_its_caller_and_keeps_nothing(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        def refuses(tx: Tx) -> None:
            tx.conn.execute(insert(meta).values(key="half", value=""))
            raise NotFound("no such thing")

        with pytest.raises(NotFound, match="no such thing"):
            await store.write(refuses)
        assert "half" not in await store.read(keys)

    in_store(make_store, body)


def test_batch_with_a_failing_intent_keeps_all_others(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        def late_refusal(tx: Tx) -> None:
            put("spoiled")(tx)
            raise NotFound("after a write")

        def early_refusal(tx: Tx) -> None:
            raise NotFound("before any write")

        def crash(tx: Tx) -> None:
            put("crashed")(tx)
            raise ZeroDivisionError

        intents = [put("a"), early_refusal, put("b"), late_refusal, crash, put("a"), put("c")]
        outcomes = await asyncio.gather(*map(store.write, intents), return_exceptions=True)
        found = [outcome if isinstance(outcome, str) else type(outcome) for outcome in outcomes]
        assert found == ["a", NotFound, "b", NotFound, ZeroDivisionError, ServerFault, "c"]
        assert {"a", "b", "c"} <= await store.read(keys)
        assert not {"spoiled", "crashed"} & await store.read(keys)

    in_store(make_store, body)


def test_commit_callbacks_run_before_the_caller_resumes_and_once(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        seen: list[object] = []
        store.subscribe(RunnerRemoved, seen.append)

        def announces(tx: Tx) -> None:
            tx.announce(RunnerRemoved(7))
            tx.on_commit(lambda: seen.append("callback"))

        def crash(tx: Tx) -> None:
            tx.announce(RunnerRemoved(8))
            raise ZeroDivisionError

        outcomes = await asyncio.gather(store.write(announces), store.write(crash), return_exceptions=True)
        assert isinstance(outcomes[1], ZeroDivisionError)
        assert seen == [RunnerRemoved(7), "callback"]

    in_store(make_store, body)


def test_caller_that_vanished_still_gets_its_intent_committed(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        committed = asyncio.Event()

        def intent(tx: Tx) -> None:
            put("orphan")(tx)
            tx.on_commit(committed.set)

        caller = asyncio.ensure_future(store.write(intent))
        await asyncio.sleep(0)
        caller.cancel()
        async with asyncio.timeout(5):
            await committed.wait()
        assert "orphan" in await store.read(keys)
        await asyncio.gather(caller, return_exceptions=True)

    in_store(make_store, body)


def test_read_cannot_write(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        with pytest.raises(ServerFault, match="readonly"):
            await store.read(lambda conn: conn.execute(insert(meta).values(key="sneaky", value="")))
        await store.write(put("allowed"))
        assert "sneaky" not in await store.read(keys)

    in_store(make_store, body)


def test_intents_see_the_clock_of_the_moment_they_were_queued(make_store: Callable[..., SqlStore]) -> None:
    async def body(store: SqlStore) -> None:
        assert await store.write(lambda tx: tx.now_us) == 5

    in_store(make_store, body)


def test_closed_store_refuses_and_close_is_idempotent(make_store: Callable[..., SqlStore]) -> None:
    async def run() -> None:
        store = make_store()
        with pytest.raises(ServerFault, match="not running"):
            await store.write(put("early"))
        await store.start()
        await store.start()
        await store.close()
        await store.close()
        with pytest.raises(ServerFault, match="not running"):
            await store.read(keys)

    asyncio.run(run())


def test_full_mailbox_makes_callers_wait_and_then_refuses() -> None:
    async def run() -> None:
        store = SqlStore(":memory:", clock=MovableClock("manual"), mailbox=1, wait_s=0.05)
        await store.start()
        gate = threading.Event()
        blocker = asyncio.ensure_future(store.write(lambda tx: gate.wait(10)))
        await asyncio.sleep(0)
        with pytest.raises(LimitExceeded, match="waiting for the database"):
            await store.write(put("refused"))
        gate.set()
        await blocker
        assert "refused" not in await store.read(keys)
        await store.close()

    asyncio.run(run())
