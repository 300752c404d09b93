"""UpdateLog through the service: the table of cases, durability, bounds."""

import asyncio

import pytest

from actionswire.result import Result
from asyncwait import until
from mockgitea.core.errors import LimitExceeded, LogSealed, ServerFault
from mockgitea.service import logs as ingestion
from mockgitea.storage.logs import read_rows
from servicebox import Box, in_box

STAMP = b"2023-11-14T22:13:20.5000000Z "


def lines(*contents: str) -> bytes:
    return b"".join(STAMP + content.encode() + b"\n" for content in contents)


@pytest.mark.parametrize("profile", ["gitea-1.27", "gitea-1.25"])
def test_append_repeat_overlap_and_gap(profile: str) -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        assert await box.rows(record, task, 0, "a", "b", "c") == 3
        assert await box.rows(record, task, 0, "a", "b", "c") == 3
        assert await box.rows(record, task, 2, "c", "d") == 4
        assert await box.rows(record, task, 6, "g") == 4
        assert await box.rows(record, task, 6, no_more=True) == 4
        assert await box.rows(record, task, 4) == 4
        assert await box.log(task) == lines("a", "b", "c", "d")
        assert not (await box.task_row(task)).is_log_sealed
        assert await box.rows(record, task, 4, no_more=True) == 4
        sealed = profile == "gitea-1.27"
        assert (await box.task_row(task)).is_log_sealed == sealed
        if not sealed:
            assert await box.rows(record, task, 3, "d", "e", no_more=True) == 5
        assert await box.rows(record, task, 0, "a", no_more=True) == (4 if sealed else 5)
        with pytest.raises(LogSealed, match="log file has been archived"):
            await box.rows(record, task, 4 if sealed else 5, "late")

    in_box(body, profile)


def test_empty_log_is_sealed_by_an_empty_final_call_on_new_servers() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        assert await box.rows(record, task, 0, no_more=True) == 0
        row = await box.task_row(task)
        assert (row.is_log_sealed, row.log_rows) == (True, 0)

    in_box(body)


def test_final_task_still_takes_rows_and_unknown_or_foreign_ones_are_refused() -> None:
    async def body(box: Box) -> None:
        record, stranger = await box.runner(), await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        await box.report(record, task, Result.SUCCESS)
        assert await box.rows(record, task, 0, "after the end") == 1
        with pytest.raises(ServerFault, match=r"^get task: task with id 77: resource does not exist$"):
            await box.rows(record, 77, 0, "x")
        with pytest.raises(ServerFault, match=r"^invalid runner for task$"):
            await box.rows(stranger, task, 1, "x")

    in_box(body)


def test_rows_refresh_updated_only_when_stored_or_sealing() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        await box.rows(record, task, 0, "a")
        stored = box.clock.now_us()
        box.clock.advance(5)
        await box.rows(record, task, 0, "a")
        assert (await box.task_row(task)).updated_us == stored
        await box.rows(record, task, 1, no_more=True)
        assert (await box.task_row(task)).updated_us == box.clock.now_us()

    in_box(body)


def test_any_slice_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockgitea.storage.logs.CHUNK_ROWS_MAX", 3)

    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        await box.rows(record, task, 0, *(f"row {n}" for n in range(8)))
        await box.rows(record, task, 8, "row 8", "row 9")
        whole = lines(*(f"row {n}" for n in range(10))).split(b"\n")[:-1]
        for first in range(12):
            for count in (0, 1, 3, 20):
                got = await box.services.store.read(lambda conn, f=first, c=count: read_rows(conn, task, f, c))
                assert got == whole[first : first + count], (first, count)

    in_box(body)


def test_call_larger_than_a_batch_is_stored_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "BATCH_ROWS_MAX", 10)

    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        contents = [str(n) for n in range(25)]
        assert await box.rows(record, task, 0, *contents[:7]) == 7
        assert await box.rows(record, task, 0, *contents, no_more=True) == 25
        assert await box.log(task) == lines(*contents)
        assert (await box.task_row(task)).is_log_sealed
        assert await box.rows(record, task, 0, *contents, no_more=True) == 25

    in_box(body)


def test_call_with_too_many_rows_is_refused_naming_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingestion, "ROWS_PER_CALL_MAX", 3)

    async def body(box: Box) -> None:
        record = await box.runner()
        with pytest.raises(LimitExceeded, match="rows: at most 3 in one call, got 4") as refused:
            await box.rows(record, 1, 0, *"abcd")
        assert refused.value.field == "rows"

    in_box(body)


@pytest.mark.parametrize("inline", [True, False], ids=["inline", "threaded"])
def test_many_callers_at_once_lose_and_double_nothing(inline: bool) -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        tasks = []
        for _ in range(6):
            await box.enqueue()
            tasks.append((await box.take(record)).task_id)
        contents = [f"row {n}" for n in range(40)]

        async def send(task: int) -> None:
            for index in range(0, 40, 4):
                once = box.rows(record, task, index, *contents[index : index + 4])
                twice = box.rows(record, task, max(0, index - 2), *contents[max(0, index - 2) : index + 4])
                await asyncio.gather(once, twice)

        await asyncio.gather(*map(send, tasks))
        for task in tasks:
            assert await box.log(task) == lines(*contents)

    in_box(body, inline=inline)


def test_full_mailbox_waits_and_then_refuses_and_a_vanished_caller_doubles_nothing() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        opened = asyncio.Event()
        write = box.services.store.write

        async def slow(intent: object) -> object:
            await opened.wait()
            return await write(intent)  # type: ignore[arg-type] - passed through

        object.__setattr__(box.services.store, "write", slow)
        callers = [asyncio.ensure_future(box.rows(record, task, 2 * n, "a", "b")) for n in range(4)]
        await until(lambda: any(caller.done() for caller in callers))
        refused = [caller for caller in callers if caller.done()]
        assert all(isinstance(caller.exception(), LimitExceeded) for caller in refused)
        callers[0].cancel()
        opened.set()
        await asyncio.gather(*callers, return_exceptions=True)
        del box.services.store.write
        held = (await box.task_row(task)).log_rows
        assert held >= 2
        assert await box.rows(record, task, 0, *["a", "b"] * 4) == 8
        assert await box.log(task) == lines(*["a", "b"] * 4)

    in_box(body, log_mailbox_rows=3, log_wait_s=0.05, inline=False)


def test_store_failure_is_internal_and_the_count_does_not_advance() -> None:
    async def body(box: Box) -> None:
        record = await box.runner()
        await box.enqueue()
        task = (await box.take(record)).task_id
        await box.services.store.write(
            lambda tx: tx.conn.exec_driver_sql("ALTER TABLE log_chunk RENAME TO away").rowcount
        )
        with pytest.raises(ServerFault, match="store: no such table: log_chunk"):
            await box.rows(record, task, 0, "a")
        await box.services.store.write(
            lambda tx: tx.conn.exec_driver_sql("ALTER TABLE away RENAME TO log_chunk").rowcount
        )
        assert (await box.task_row(task)).log_rows == 0
        assert await box.rows(record, task, 0, "a") == 1

    in_box(body)
