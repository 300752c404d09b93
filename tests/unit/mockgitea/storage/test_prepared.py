"""Prepared statements do what the same statements do through SQLAlchemy, inside the same transaction."""

import sqlite3
from collections.abc import Iterator

import pytest
from sqlalchemy import (
    Column,
    Connection,
    Integer,
    MetaData,
    NullPool,
    Table,
    Text,
    bindparam,
    create_engine,
    select,
    update,
)

from mockgitea.storage.prepared import Prepared, driver_of

metadata = MetaData()
thing = Table(
    "thing",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("kind", Integer, nullable=False),
    Column("text", Text, nullable=False),
)
BY_KIND = (
    select(thing.c.id, thing.c.text).where(thing.c.kind == bindparam("of_kind"), thing.c.id > 1).order_by(thing.c.id)
)
RENAME = update(thing).where(thing.c.id == bindparam("of_id")).values(text=bindparam("new_text"))


@pytest.fixture
def conn() -> Iterator[Connection]:
    engine = create_engine(
        "sqlite+pysqlite://", creator=lambda: sqlite3.connect(":memory:", isolation_level=None), poolclass=NullPool
    )
    with engine.connect() as opened:
        metadata.create_all(opened)
        rows = [{"id": number, "kind": number % 2, "text": f"text {number}"} for number in range(1, 8)]
        opened.execute(thing.insert(), rows)
        opened.commit()
        yield opened


def texts(conn: Connection) -> list[str]:
    return list(conn.execute(select(thing.c.text).order_by(thing.c.id)).scalars())


def test_a_query_returns_the_same_rows_with_values_of_the_statement_kept(conn: Connection) -> None:
    prepared = Prepared(BY_KIND)
    driver = driver_of(conn)
    for kind in (0, 1, 2):
        expected = [tuple(row) for row in conn.execute(BY_KIND, {"of_kind": kind})]
        assert prepared.all(driver, of_kind=kind) == expected
        assert prepared.first(driver, of_kind=kind) == (expected[0] if expected else None)


def test_a_change_counts_its_rows(conn: Connection) -> None:
    prepared = Prepared(RENAME)
    assert prepared.run(driver_of(conn), of_id=3, new_text="new; DROP TABLE thing") == 1
    assert prepared.run(driver_of(conn), of_id=99, new_text="nobody") == 0
    assert texts(conn)[2] == "new; DROP TABLE thing"


def test_many_changes_are_made_at_once(conn: Connection) -> None:
    Prepared(RENAME).run_many(driver_of(conn), ({"of_id": number, "new_text": f"{number}"} for number in range(1, 8)))
    assert texts(conn) == ["1", "2", "3", "4", "5", "6", "7"]


def test_a_change_belongs_to_the_open_transaction(conn: Connection) -> None:
    driver = driver_of(conn)
    driver.execute("BEGIN IMMEDIATE")
    Prepared(RENAME).run(driver, of_id=1, new_text="gone")
    driver.rollback()
    assert texts(conn)[0] == "text 1"
