"""Opening a database file: mode, lock, version, and what is said when it cannot be used."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import insert, select

from mockgitea.clock import MovableClock
from mockgitea.core.errors import ServerFault
from mockgitea.storage.engine import SqlStore
from mockgitea.storage.interface import Tx
from mockgitea.storage.schema import meta


def store_at(path: Path) -> SqlStore:
    return SqlStore(str(path), clock=MovableClock("manual"))


async def opened_and_closed(path: Path) -> int:
    store = store_at(path)
    await store.start()
    await store.close()
    return store.starts_before


def test_file_is_private_and_restarts_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    assert asyncio.run(opened_and_closed(path)) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    assert asyncio.run(opened_and_closed(path)) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_second_server_on_the_same_file_is_told_so(tmp_path: Path) -> None:
    async def run() -> None:
        first, second = store_at(tmp_path / "a.db"), store_at(tmp_path / "a.db")
        await first.start()
        with pytest.raises(ValueError, match="in use by another mockgitea process"):
            await second.start()
        await first.close()
        await second.start()
        await second.close()

    asyncio.run(run())


def test_other_schema_version_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    asyncio.run(opened_and_closed(path))
    with sqlite3.connect(path) as conn:
        conn.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    conn.close()
    with pytest.raises(ValueError, match=r"schema version 999.*move the file away"):
        asyncio.run(opened_and_closed(path))


def test_foreign_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as conn:
        conn.execute("CREATE TABLE theirs (x)")
    conn.close()
    with pytest.raises(ValueError, match="not a mockgitea database"):
        asyncio.run(opened_and_closed(path))


def test_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"hello, this is a text file, not a database" * 100)
    with pytest.raises(ValueError, match="file is not a database; choose another file"):
        asyncio.run(opened_and_closed(path))
    assert path.read_bytes().startswith(b"hello")


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"cannot open .*missing.*No such file or directory"):
        asyncio.run(opened_and_closed(tmp_path / "missing" / "a.db"))


def test_foreign_write_lock_is_a_clear_refusal_and_the_store_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockgitea.storage.database.BUSY_TIMEOUT_MS", 50)
    path = tmp_path / "a.db"

    async def run() -> None:
        store = store_at(path)
        await store.start()
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ServerFault, match="database is locked"):
            await store.write(lambda tx: tx.conn.execute(insert(meta).values(key="a", value="")))
        other.execute("ROLLBACK")
        other.close()
        await store.write(lambda tx: tx.conn.execute(insert(meta).values(key="a", value="")).rowcount)
        await store.close()

    asyncio.run(run())


def test_full_disk_is_a_clear_refusal_and_keeps_what_was_accepted(tmp_path: Path) -> None:
    async def run() -> None:
        store = store_at(tmp_path / "a.db")
        await store.start()

        def limit(tx: Tx) -> None:
            pages = tx.conn.exec_driver_sql("PRAGMA page_count").scalar_one()
            tx.conn.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")

        await store.write(limit)
        await store.write(lambda tx: tx.conn.execute(insert(meta).values(key="small", value="x")).rowcount)
        with pytest.raises(ServerFault, match="database or disk is full"):
            await store.write(
                lambda tx: tx.conn.execute(insert(meta).values(key="big", value="x" * 10_000_000)).rowcount
            )
        found = await store.read(lambda conn: set(conn.execute(select(meta.c.key)).scalars()))
        assert "small" in found
        assert "big" not in found
        await store.close()

    asyncio.run(run())


_VICTIM = """
import asyncio, sys
from sqlalchemy import insert
from mockgitea.clock import MovableClock
from mockgitea.storage.engine import SqlStore
from mockgitea.storage.schema import meta

async def main():
    store = SqlStore(sys.argv[1], clock=MovableClock())
    await store.start()
    for number in range(1_000_000):
        await store.write(lambda tx: tx.conn.execute(insert(meta).values(key=f"row{number}", value="")).rowcount)
        print(number, flush=True)

asyncio.run(main())
"""


def test_sigkill_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    victim = subprocess.Popen([sys.executable, "-c", _VICTIM, str(path)], stdout=subprocess.PIPE, text=True)
    assert victim.stdout is not None
    acknowledged = -1
    for line in victim.stdout:
        acknowledged = int(line)
        if acknowledged >= 50:
            os.kill(victim.pid, signal.SIGKILL)
            break
    rest = victim.stdout.read().split()
    victim.stdout.close()
    victim.wait()
    acknowledged = int(rest[-1]) if rest else acknowledged

    async def run() -> set[str]:
        store = store_at(path)
        await store.start()
        found = await store.read(lambda conn: set(conn.execute(select(meta.c.key)).scalars()))
        await store.close()
        return found

    found = asyncio.run(run())
    assert {f"row{number}" for number in range(acknowledged + 1)} <= found
